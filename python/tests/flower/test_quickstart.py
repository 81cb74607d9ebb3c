"""An app in the shape of Flower's quickstart for PyTorch, with no line about fedflip in it.

As there: modules for client, server and task, `FedAvg` with a share of clients that evaluate, the evaluation of each model
on the server, settings from pyproject.toml, and `final_model.pt`. Other than there: data are made here, not downloaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fedflip as ff
import pytest

pytest.importorskip("flwr")
torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.flower, pytest.mark.torch]

from fedflip.flower import CoinStrategy, VirtualGrid
from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp import ServerApp

APP = Path(__file__).parent / "quickstart"


@pytest.fixture(autouse=True)
def in_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The app writes its model where it is run."""
    monkeypatch.syspath_prepend(str(APP))
    monkeypatch.chdir(tmp_path)


def run(workers: int | None, out: Path) -> tuple[dict[str, Any], float]:
    grid = VirtualGrid(
        "torchapp.client_app:app",
        ff.Fleet.paper(5, seed=1),
        bandwidth_mbps=10,
        run_config=APP,
        workers=workers,
        out=out,
    )
    grid.run("torchapp.server_app:app")
    return torch.load("final_model.pt"), grid.now


def test_the_quickstart_runs_unmodified_and_is_reproducible(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        found = [run(workers, tmp_path / f"run-{place}") for place, workers in enumerate((None, None, 1, 2))]
    finally:
        torch.set_num_threads(threads)
    (model, secs), *others = found
    for other, other_secs in others:
        assert other_secs == secs
        assert all(torch.equal(model[name], other[name]) for name in model)
    opened = ff.open(tmp_path / "run-0")
    assert (len(opened), opened.ended) == (3, True)
    assert opened.evaluations["eval_acc"][-1] > 0.15
    accuracies = torch.load("accuracies.pt")
    assert len(accuracies) == 4 and accuracies[-1] > 0.15, (
        "the server has evaluated each model, the first one too"
    )


def test_coins_train_the_same_clients() -> None:
    from torchapp.client_app import app
    from torchapp.task import Net

    fleet = ff.Fleet.paper(5, seed=1)
    strategy = CoinStrategy(
        ff.plan(fleet, bandwidth_mbps=10, scheme="fixed=0.6"), seed=1, fraction_evaluate=0.5
    )
    results: list[Any] = []
    server = ServerApp()
    server.main()(
        lambda grid, context: results.append(
            strategy.start(grid, ArrayRecord(Net().state_dict()), 4, train_config=ConfigRecord({"lr": 0.05}))
        )
    )
    VirtualGrid(app, fleet, bandwidth_mbps=10, run_config=APP).run(server)
    state = results[0].arrays.to_torch_state_dict()
    Net().load_state_dict(state)
    # The counter of batches is an integer, and has counted.
    assert state["features.1.num_batches_tracked"].dtype == torch.int64
    assert state["features.1.num_batches_tracked"] > 0
