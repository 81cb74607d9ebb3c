"""The programs in python/examples, each in short form as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import fedflip as ff
import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

torch = pytest.mark.torch
deployed = pytest.mark.deployed


def shown_by(name: str, cwd: Path) -> str:
    """What an example prints. It uses the package that the tests use."""
    package = str(Path(ff.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), "--short"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def row_of(scheme: str, text: str) -> list[str]:
    """The cells of a scheme in the table of a comparison."""
    return next(line.split() for line in text.splitlines() if line.startswith(scheme))


def test_every_example_has_a_test() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'"{path.stem}"' in source, path.name


def test_a_data_frame_is_planned(tmp_path: Path) -> None:
    text = shown_by("own_fleet", tmp_path)
    assert text.startswith("Fleet(100 devices:")
    q = {kind: float(row_of(kind, text)[2]) for kind in ("phone", "tablet", "camera", "laptop")}
    assert q["laptop"] > q["phone"] > q["tablet"] > q["camera"], "fast devices take part more often"
    adaptive, equal = map(float, re.findall(r"takes? ([\d.]+) s\.", text.split("Round 1")[1])[:2])
    assert adaptive <= equal
    assert list(tmp_path.iterdir()) == []


def test_a_learner_in_numpy_learns(tmp_path: Path) -> None:
    text = shown_by("own_learner", tmp_path)
    assert "Softmax passed all" in text
    rose = re.search(r"rose from ([\d.]+) to ([\d.]+) in", text)
    assert rose is not None and float(rose[2]) > float(rose[1]) + 0.3


def test_a_scheme_of_ones_own_reaches_the_target(tmp_path: Path) -> None:
    text = shown_by("own_scheme", tmp_path)
    for scheme in ("auto", "custom=systematic", "fedavg="):
        assert row_of(scheme, text)[-1] == "1", text
    sizes = re.search(r"have (\d+) to (\d+) devices", text)
    assert sizes is not None and int(sizes[2]) - int(sizes[1]) <= 1


@torch
@pytest.mark.parametrize("name", ["own_torch_model", "lora_transformer"])
def test_a_model_of_torch_is_planned_and_compared(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    text = shown_by(name, tmp_path)
    assert row_of("auto", text)[-1] == "1", text
    assert row_of("fedavg=", text)[-1] == "1", text


@deployed
def test_a_killed_server_resumes_with_its_devices(tmp_path: Path) -> None:
    text = shown_by("real_devices", tmp_path)
    assert "exit code -9" in text
    killed = max(int(number) for number in re.findall(r"first server:  round (\d+)", text))
    resumed = [int(number) for number in re.findall(r"second server: round (\d+)", text)]
    # A round that was committed and not yet shown is not repeated.
    assert resumed[0] in (killed + 1, killed + 2) and resumed[-1] == 12
    assert all(f"{name} took part in" in text for name in ("phone", "laptop", "camera"))
