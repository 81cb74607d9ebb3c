"""What runs write: reports as the command line has them, and models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fedflip as ff
import pytest
from run_folders import (
    make_runs,
)


@pytest.fixture(scope="module")
def desk(command: Callable[..., str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with run folders."""
    return make_runs(command, tmp_path_factory.mktemp("runs"), ["auto"])


@pytest.mark.parametrize("format", ["html", "svg", "pdf", "png", "md", "text", "latex", "csv", "json"])
def test_reports_are_those_of_the_command_line(
    command: Callable[..., str], desk: Path, tmp_path: Path, format: str
) -> None:
    run, ours, theirs = ff.open(desk / "auto"), tmp_path / "ours", tmp_path / "theirs"
    assert run.report(ours, format=format, title="A & B") == ours
    command(
        "report", str(desk / "auto"), "--format", format, "--out", str(theirs), "--title", "A & B", "--quiet"
    )
    if ours.is_file():
        assert ours.read_bytes() == theirs.read_bytes()
    else:
        names = sorted(path.relative_to(theirs) for path in theirs.rglob("*"))
        assert names and sorted(path.relative_to(ours) for path in ours.rglob("*")) == names
        assert all((ours / name).read_bytes() == (theirs / name).read_bytes() for name in names)


def test_a_target_is_that_of_the_command_line(
    command: Callable[..., str], desk: Path, tmp_path: Path
) -> None:
    run = ff.open(desk / "auto")
    ours = run.report(tmp_path / "ours.md", target="loss=2.0").read_text()
    assert ours == command("report", str(desk / "auto"), "--format", "md", "--target", "loss=2.0")
    assert "to loss 2\n" in ours and ours != run.report(tmp_path / "own.md").read_text()
    with pytest.raises(ff.InputError, match="has the metric los\n") as raised:
        run.report(tmp_path / "r.md", target="los=2.0")
    assert (raised.value.where, raised.value.value, raised.value.remedy) == (
        "target",
        "los=2.0",
        "did you mean loss?",
    )


def test_the_ending_chooses_the_format(desk: Path, tmp_path: Path) -> None:
    run = ff.open(desk / "auto")
    assert run.report(tmp_path / "new" / "r.HTML").read_bytes().startswith(b"<!DOCTYPE html>")
    assert json.loads(run.report(tmp_path / "r.json", round=2).read_text())["groups"]
    assert run.report(tmp_path / "r.md").read_text().startswith("#")
    assert run.report(tmp_path / "figures" / "*.svg") == tmp_path / "figures"
    assert (tmp_path / "figures" / "accuracy.svg").is_file()


@pytest.mark.parametrize(
    ("path", "format", "where", "value", "remedy"),
    [
        (
            "r.docx",
            None,
            "path",
            "r.docx",
            "end the name in one of .html, .svg, .pdf, .png, .md, .txt, .tex, .csv, .json",
        ),
        ("figures.svg", None, "path", "figures.svg", "report('figures', format='svg')"),
        ("r", "htlm", "format", "htlm", "did you mean html?"),
        ("r", "zzzz", "format", "zzzz", "choose one of html, svg"),
        (".", "html", "path", ".", "name a file in it"),
        ("file.txt", "pdf", "path", "file.txt", "name a folder"),
        ("run/fleet.csv", "md", "path", "run/fleet.csv", "name a file outside of the run folder"),
    ],
)
def test_bad_reports_are_refused(
    desk: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: str,
    format: Any,
    where: str,
    value: str,
    remedy: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file.txt").write_text("mine")
    shutil.copytree(desk / "auto", "run")
    before = Path("run/fleet.csv").read_bytes()
    with pytest.raises(ff.InputError) as caught:
        ff.open("run").report(path, format=format)
    assert (caught.value.where, caught.value.value) == (where, value)
    assert remedy in caught.value.remedy
    assert Path("file.txt").read_text() == "mine" and Path("run/fleet.csv").read_bytes() == before


def test_models_are_saved_as_the_run_folder_has_them(desk: Path, tmp_path: Path) -> None:
    run = ff.open(desk / "auto")
    saved = run.save(str(tmp_path / "a" / "m.safetensors"))
    assert saved.read_bytes() == (desk / "auto" / "model.safetensors").read_bytes()
    with pytest.raises(ff.InputError) as caught:
        run.save("m.pt")
    assert (caught.value.where, caught.value.value, caught.value.remedy) == (
        "path",
        "m.pt",
        "write m.safetensors",
    )
    with pytest.raises(ff.InputError, match="a file of a run folder"):
        run.save(desk / "auto" / "best.safetensors")
    (tmp_path / "file").write_text("")
    with pytest.raises(ff.FedflipError, match="cannot be written") as refused:
        run.save(tmp_path / "file" / "m.safetensors")
    assert refused.value.remedy == "name a path that you may write to"
