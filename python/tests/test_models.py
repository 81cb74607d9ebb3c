"""Models that nobody here wrote: networks of torch's own building blocks, over a fleet of 12 devices.

A small ResNet with batch normalisation, and a transformer with a frozen backbone and LoRA-style adapters. Both are those of
python/examples.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

EXAMPLES = str(Path(__file__).resolve().parents[1] / "examples")


@pytest.fixture(scope="module", params=["own_torch_model", "lora_transformer"])
def example(request: pytest.FixtureRequest) -> Any:
    """The module of an example. Worker processes import it from the same folder."""
    if EXAMPLES not in sys.path:
        sys.path.append(EXAMPLES)
    return pytest.importorskip(request.param)


@pytest.fixture(scope="module")
def work(example: Any) -> tuple[ff.TorchLearner, ff.Fleet]:
    learner = example.learner(20) if example.__name__ == "lora_transformer" else example.learner()
    return learner, example.fleet_of(learner)


def simulated(work: tuple[ff.TorchLearner, ff.Fleet], **arguments: Any) -> ff.Run:
    learner, fleet = work
    given: dict[str, Any] = {
        "rounds_max": 3,
        "seed": 1,
        "bandwidth_mbps": 1,
        "variance": 0.3,
        "preset": "paper",
    }
    return ff.simulate(learner, fleet=fleet, progress=False, **{**given, **arguments})


def test_training_improves_the_model(work: tuple[ff.TorchLearner, ff.Fleet]) -> None:
    run = simulated(work, rounds_max=15)
    accuracy, loss = run.evaluations["accuracy"], run.evaluations["loss"]
    assert accuracy[-1] > accuracy[0] + 0.2
    assert loss[-1] < loss[0]
    assert run.devices == 12 and run.scheme == "auto"


def test_the_model_goes_back_into_the_module(example: Any, work: tuple[ff.TorchLearner, ff.Fleet]) -> None:
    learner, _ = work
    run = simulated(work)
    network = example.ResNet() if example.__name__ == "own_torch_model" else learner._make_model()
    network.load_state_dict(learner.state_dict(run.model))
    assert {name for name, _ in learner.tensors()} == set(run.model)
    state = network.state_dict()
    for name, array in run.model.items():
        np.testing.assert_array_equal(state[name].numpy(), array, err_msg=name)
    correct, count = learner.evaluate(learner.model_of(network))["accuracy"]  # type: ignore[misc]
    assert correct / count == pytest.approx(run.evaluations["accuracy"][-1])


def test_only_what_is_trained_travels(example: Any, work: tuple[ff.TorchLearner, ff.Fleet]) -> None:
    learner, fleet = work
    run = simulated(work)
    module = learner._make_model()
    trained = {name for name, parameter in module.named_parameters() if parameter.requires_grad}
    moving = {name for name, buffer in module.named_buffers() if buffer.is_floating_point()}
    assert set(run.model) == trained | moving
    # 32 bit for each number that travels, and for no other.
    assert fleet.comm_secs[0] == pytest.approx(sum(array.size for array in run.model.values()) * 32 / 1e6)
    if example.__name__ == "own_torch_model":
        assert any(name.endswith("running_var") for name in run.model)
        assert not any(name.endswith("num_batches_tracked") for name in run.model)
        return
    frozen = {name for name, parameter in module.named_parameters() if not parameter.requires_grad}
    assert any(name.endswith("original") for name in frozen) and not frozen & set(run.model)
    assert {"tokens.weight", "places"} <= frozen
    assert sum(array.size for array in run.model.values()) < 0.2 * sum(p.numel() for p in module.parameters())
    # The frozen tensors are those of the backbone, before and after training.
    state, backbone = learner.state_dict(run.model), learner._make_model.backbone  # type: ignore[attr-defined]
    for name in frozen:
        plain = name.replace("parametrizations.", "").replace(".original", "")
        assert torch.equal(state[name], backbone[plain]), name


def test_processes_give_the_same_bytes(work: tuple[ff.TorchLearner, ff.Fleet], tmp_path: Path) -> None:
    inline = simulated(work, out=tmp_path / "inline")
    processes = simulated(work, out=tmp_path / "processes", workers="process", threads=2)
    assert [array.tobytes() for array in inline.model.values()] == [
        array.tobytes() for array in processes.model.values()
    ]
    # Every file is the same, except for the one that describes the machine.
    names = {path.name for path in (tmp_path / "inline").iterdir() if path.is_file()} - {"host.json"}
    assert {"records.jsonl", "run.toml"} <= names
    for name in names:
        assert (tmp_path / "inline" / name).read_bytes() == (tmp_path / "processes" / name).read_bytes(), name


def test_a_plan_is_compared_with_k_of_n(work: tuple[ff.TorchLearner, ff.Fleet]) -> None:
    learner, fleet = work
    found = ff.compare(
        learner,
        schemes=["auto", "fedavg=6"],
        reference="fedavg=6",
        fleet=fleet,
        bandwidth_mbps=1,
        variance=0.3,
        preset="paper",
        stop=ff.Stop("accuracy", at=0.45),
        rounds_max=40,
        seeds=2,
        progress=False,
    )
    rows = {row["scheme"]: row for row in found.rows}
    assert [rows[scheme]["reached"] for scheme in ("auto", "fedavg=6")] == [2, 2]
    assert rows["fedavg=6"]["participants"] == 6
    assert len(found.runs) == 4
    # Cohorts of the plan avoid slow devices, so that its mean round is shorter.
    secs = {run.scheme: run.rounds["round_secs"][1:].mean() for run in found.runs}
    assert secs["auto"] < secs["fedavg=6"]
