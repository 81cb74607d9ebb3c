"""Flower's own quickstart for PyTorch, to the letter, on the virtual clock.

The wheel of flwr 1.24 is the last one that holds the files from which ``flwr new`` made the quickstart, so nothing of it is
copied here. The fixture only fills in names, as ``flwr new`` did. A module with the name of Flower's loader of data stands in
for the data set that the quickstart downloads from a hub.
"""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path
from string import Template
from typing import Any

import fedflip as ff
import pytest

pytest.importorskip("flwr")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.flower, pytest.mark.torch]

from fedflip.flower import CoinStrategy, VirtualGrid

STAND_IN = Path(__file__).parent / "stand_in"
FILES = {
    "pyproject.toml": "app/pyproject.pytorch.toml.tpl",
    "quickstart/__init__.py": "app/code/__init__.py.tpl",
    "quickstart/client_app.py": "app/code/client.pytorch.py.tpl",
    "quickstart/server_app.py": "app/code/server.pytorch.py.tpl",
    "quickstart/task.py": "app/code/task.pytorch.py.tpl",
}
NAMES = {
    "project_name": "quickstart",
    "package_name": "quickstart",
    "import_name": "quickstart",
    "framework_str": "PyTorch",
    "username": "somebody",
}


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the app, as ``flwr new`` of version 1.24 made it."""
    wheel = os.environ.get("FEDFLIP_FLOWER_TEMPLATE")
    if not wheel or not torch_has_vision():
        reason = "needs torchvision, and the wheel of flwr 1.24 in FEDFLIP_FLOWER_TEMPLATE"
        assert "CI" not in os.environ, reason
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("quickstart")
    with zipfile.ZipFile(wheel) as files:
        for path, template in FILES.items():
            text = files.read(f"flwr/cli/new/templates/{template}").decode()
            target = folder / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(Template(text).substitute(NAMES))
    return folder


def torch_has_vision() -> bool:
    try:
        import torchvision  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quickstart: Path) -> None:
    """The app writes its model where it is run, and finds the stand-in for the loader of data."""
    monkeypatch.syspath_prepend(str(quickstart))
    monkeypatch.syspath_prepend(str(STAND_IN))
    monkeypatch.chdir(tmp_path)


def run(quickstart: Path, workers: int | None, out: Path) -> tuple[str, float]:
    grid = VirtualGrid(
        "quickstart.client_app:app",
        ff.Fleet.paper(10, seed=1),
        bandwidth_mbps=10,
        run_config=quickstart,
        workers=workers,
        out=out,
    )
    grid.run("quickstart.server_app:app")
    return digest(torch.load("final_model.pt")), grid.now


def digest(state: dict[str, Any]) -> str:
    parts = hashlib.sha256()
    for name, tensor in state.items():
        parts.update(name.encode())
        parts.update(tensor.numpy().tobytes())
    return parts.hexdigest()


def test_flowers_own_quickstart_runs_unmodified(quickstart: Path, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        alone = run(quickstart, None, tmp_path / "alone")
        beside = run(quickstart, 2, tmp_path / "beside")
    finally:
        torch.set_num_threads(threads)
    assert alone == beside
    opened = ff.open(tmp_path / "alone")
    # The settings of its pyproject.toml: three rounds, half of the ten clients train.
    assert (len(opened), opened.ended) == (3, True)
    assert opened.rounds["participants"].tolist() == [5, 5, 5]
    assert alone[1] > 0
    losses = opened.evaluations["eval_loss"].tolist()
    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.9 * losses[0]


def test_coins_take_the_place_of_its_strategy(quickstart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import quickstart.server_app as server_app

    fleet = ff.Fleet.paper(10, seed=1)
    plan = ff.plan(fleet, bandwidth_mbps=10, scheme="fixed=0.3")
    monkeypatch.setattr(server_app, "FedAvg", lambda **_settings: CoinStrategy(plan, seed=5, out="coins"))
    VirtualGrid("quickstart.client_app:app", fleet, bandwidth_mbps=10, run_config=quickstart).run(
        server_app.app
    )
    took_part = ff.open("coins").participants
    for number in (1, 2, 3):
        cohort = took_part["device"][took_part["round"] == number]
        assert cohort.tolist() == plan.sample(round=number, seed=5).tolist()
