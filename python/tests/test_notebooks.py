"""The notebooks: what is stored is whole and clean, and each runs again in short form.

The file also runs the notebooks in full and stores them with their pictures: ``python python/tests/test_notebooks.py NAME…``.
"""

from __future__ import annotations

import base64
import os
import re
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")
pytest.importorskip("pandas")

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
TITLES = {
    "1-plan-my-fleet": "# Plan my fleet",
    "2-my-pytorch-model": "# My PyTorch model on a virtual wireless clock",
    "3-reproduce-table-1": "# Reproduce the paper's Table I",
    "4-from-simulation-to-real-devices": "# From simulation to real devices",
}
BYTES_MAX = 500_000
#: What depends on the machine: paths, addresses of objects and, in metadata, times.
MACHINE = re.compile(r"/(?:tmp|home|root|work|var|usr|opt|Users)/|\b0x[0-9a-f]{6,}|site-packages")

marked = [
    pytest.param("1-plan-my-fleet"),
    pytest.param("2-my-pytorch-model", marks=pytest.mark.torch),
    pytest.param("3-reproduce-table-1"),
    pytest.param("4-from-simulation-to-real-devices", marks=pytest.mark.deployed),
]


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def executed(notebook: Any, folder: Path, **variables: str) -> Any:
    """The notebook after all its cells have run in a folder, without the times and settings of this machine.

    The kernel uses the package that this process uses.
    """
    import fedflip as ff

    package = str(Path(ff.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, **variables}
    environment.pop("MPLBACKEND", None)
    client = nbclient.NotebookClient(
        notebook,
        timeout=None,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env=environment)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def pictures(notebook: Any) -> list[bytes]:
    found = [
        output.data["image/png"] for output in outputs(notebook) if "image/png" in output.get("data", {})
    ]
    return [base64.b64decode(text) for text in found]


def texts(notebook: Any) -> str:
    """Everything that a reader sees, except for pictures."""
    seen = [cell.source for cell in notebook.cells]
    for output in outputs(notebook):
        seen.append(output.get("text", ""))
        seen += [str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
    return "\n".join(seen)


def test_there_are_four_notebooks() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(TITLES)


@pytest.mark.parametrize("name", TITLES)
def test_stored_notebooks_are_whole_and_clean(name: str) -> None:
    path = FOLDER / f"{name}.ipynb"
    assert path.stat().st_size < BYTES_MAX
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.cells[0].source.splitlines()[0] == TITLES[name]
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1)), "all cells ran, in order"
    assert not [output for output in outputs(notebook) if output.output_type == "error"]
    assert not [output.text for output in outputs(notebook) if output.get("name") == "stderr"]
    assert not MACHINE.findall(texts(notebook))
    assert all(not cell.metadata for cell in notebook.cells), "no times of execution"
    # A sentence stands above most cells with code.
    assert sum(cell.cell_type == "markdown" for cell in notebook.cells) >= len(code) / 2


@pytest.mark.parametrize("name", TITLES)
def test_stored_pictures_can_be_seen(name: str) -> None:
    found = pictures(read(name))
    assert found
    for picture in found:
        assert picture.startswith(b"\x89PNG\r\n\x1a\n")
        width, height = struct.unpack(">II", picture[16:24])
        assert 200 <= width <= 1200 and 100 <= height <= 1200


def test_table_1_is_stored_with_mnist_and_several_seeds() -> None:
    """Not in short form, and the text beside the tables has the numbers of the tables."""
    seen = texts(read("3-reproduce-table-1"))
    table = seen.split("mnist-cnn to accuracy 0.95, ratio to paper\n")[1].splitlines()
    rows = [line.split() for line in table[1:8]]
    schemes = {"auto", "exact", "paper", "weighted", "uniform", "fixed=0.2", "full"}
    assert {row[0]: row[-1] for row in rows} == dict.fromkeys(schemes, "5"), "all seeds reached 95 %"
    ratio = {row[0]: float(row[-2]) for row in rows}
    assert f"`full` takes {ratio['full']:.1f} times as long" in seen
    assert f"`fixed=0.2` takes {ratio['fixed=0.2']:.1f} times as long" in seen
    lost = [f"{100 * (ratio[name] - 1):.0f} %" for name in ("weighted", "uniform")]
    assert f"lose only {' and '.join(lost)}" in seen


@pytest.mark.parametrize("name", marked)
def test_notebooks_run_in_short_form(name: str, tmp_path: Path) -> None:
    if name == "2-my-pytorch-model":
        pytest.importorskip("torch")
    folder = tmp_path / "notebook"
    folder.mkdir()
    # The kernel leaves nothing behind in the user's folders.
    variables = {"FEDFLIP_SHORT": "1"}
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "TMPDIR"):
        (tmp_path / variable).mkdir()
        variables[variable] = str(tmp_path / variable)
    notebook = executed(read(name), folder, **variables)
    assert len(pictures(notebook)) == len(pictures(read(name)))
    assert {path.name for path in folder.iterdir()} <= {"table-1-runs"}


def store(names: list[str]) -> None:
    """Runs notebooks in full in the present folder, and stores them with their outputs."""
    for name in names or TITLES:
        notebook = executed(read(name), Path.cwd())
        nbformat.write(notebook, FOLDER / f"{name}.ipynb")
        print(f"{name}: {len(pictures(notebook))} pictures")


if __name__ == "__main__":
    store(sys.argv[1:])
