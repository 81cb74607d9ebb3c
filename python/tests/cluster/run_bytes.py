"""The bytes of run folders, which must not depend on the workers."""

from __future__ import annotations

from pathlib import Path


def run_bytes(folder: Path) -> dict[str, bytes]:
    """All files of a run but those that belong to the machine and to sessions."""
    named = {
        path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()
    }
    return {
        name: path.read_bytes()
        for name, path in named.items()
        if path.name not in ("host.json", ".lock") and "checkpoint" not in name
    }


def assert_same(found: Path, expected: Path) -> None:
    left, right = run_bytes(found), run_bytes(expected)
    assert left.keys() == right.keys()
    assert "records.jsonl" in left and "model.safetensors" in left
    for name, content in left.items():
        assert content == right[name], name
