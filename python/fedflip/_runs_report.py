"""Reports on runs as files: pages, figures and tables."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path

from fedflip import _fedflip
from fedflip._arguments import choice, count, path_text, text
from fedflip._errors import FedflipError, InputError

__all__ = ["write_report"]

_logger = logging.getLogger("fedflip.report")

# Files of a run folder, which no other file may replace.
_RUN_FILES = {
    "best.safetensors",
    "fleet.csv",
    "host.json",
    "initial.safetensors",
    "model.safetensors",
    "plan.csv",
    "records.jsonl",
    "run.toml",
    "weights.csv",
}


def write_report(
    folders: Iterable[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    title: str | None = None,
    reference: str | None = None,
    round: int | None = None,
    target: str | None = None,
    above: str = "",
) -> Path:
    """Writes a report on all runs at and below folders, as ``fedflip report`` does; the bytes are the same.

    Args:
        folders: Run folders, or any folders above them.
        path: The file to write. Formats of several files need a folder, or a pattern such as ``figures/*.pdf``.
        format: ``html``, ``md``, ``text`` or ``json`` for one file; ``svg``, ``pdf``, ``png``, ``latex`` or ``csv`` for
            one file per figure or table. By default the ending of the path decides.
        title: The title of the report.
        reference: The scheme with which ratios compare.
        round: The round to show as a timeline.
        target: A metric and the value that times are to, such as ``"loss=0.5"``, instead of the targets of the runs.
        above: A folder above all of them that the report does not name, because it is gone later.

    Returns:
        The file, or the folder of the files.

    Raises:
        InputError: No run can be read, the format is not known, or the path does not fit the format.
    """
    out = Path(path_text("path", path))
    text("title", title, optional=True)
    text("reference", reference, optional=True)
    text("target", target, optional=True)
    shown_round = count("round", round, optional=True, least=1)
    name, one_file = _format(out, format)
    if out.stem == "*":
        out = out.parent
    if one_file and out.is_dir():
        raise _wrong_path(out, f"a folder, and {name} is one file", "name a file in it, such as report.html")
    if not one_file and out.is_file():
        raise _wrong_path(
            out, f"a file, and {name} is several files", "name a folder; it is created if needed"
        )
    files, problems = _fedflip.render_report(
        list(map(Path, folders)), name, title, reference, shown_round, target
    )
    for problem in problems:
        _logger.warning(problem)
    hidden = f"{above}{os.sep}".encode() if above else b""
    places = [
        (out if one_file else out / file, content.replace(hidden, b"") if hidden else content)
        for file, content in files
    ]
    for place, _ in places:
        check_no_run_file(place)
    for place, content in places:
        write_file(place, content)
    return out


def _format(path: Path, asked: str | None) -> tuple[str, bool]:
    """The name of the format, and whether it is one file."""
    formats = _fedflip.report_formats()
    if asked is not None:
        name = choice("format", asked, [name for name, _, _ in formats])
        return name, next(one_file for known, _, one_file in formats if known == name)
    ending = path.suffix.lower().removeprefix(".")
    for name, extension, one_file in formats:
        if ending == extension:
            if not one_file and path.stem != "*":
                problem = f"{path}: a report as {name} is several files"
                remedy = (
                    f"name a folder and the format: report({str(path.with_suffix(''))!r}, format={name!r})"
                )
                raise InputError(problem, where="path", value=str(path), remedy=remedy)
            return name, one_file
    endings = ", ".join(f".{extension}" for _, extension, _ in formats)
    raise InputError(
        f"{path}: the ending names no format of reports",
        where="path",
        value=str(path),
        remedy=f"end the name in one of {endings}, or give the format",
    )


def _wrong_path(path: Path, problem: str, remedy: str) -> InputError:
    return InputError(f"{path} is {problem}", where="path", value=str(path), remedy=remedy)


def check_no_run_file(path: Path) -> None:
    """Refuses to replace a file of a run folder, because the run could not be resumed."""
    if path.name in _RUN_FILES and (path.parent / "records.jsonl").is_file():
        raise _wrong_path(path, "a file of a run folder", "name a file outside of the run folder")


def write_file(path: Path, content: bytes) -> None:
    """Writes a file whole, and makes its folder if needed."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(path.name + ".new")
        new.write_bytes(content)
        os.replace(new, path)
    except OSError as error:
        raise FedflipError(
            f"{path} cannot be written: {error.strerror or error}", remedy="name a path that you may write to"
        ) from error
