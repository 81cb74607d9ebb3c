"""A TorchLearner on Ray: the bytes of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fedflip as ff
import pytest
from run_bytes import assert_same

ray = pytest.importorskip("ray")
torch = pytest.importorskip("torch")


def learner() -> ff.TorchLearner:
    generator = torch.Generator().manual_seed(1)
    data = [
        torch.utils.data.TensorDataset(
            torch.randn(40, 1, 8, 8, generator=generator), torch.randint(0, 4, (40,), generator=generator)
        )
        for _ in range(6)
    ]

    def make() -> Any:
        return torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 4)
        )

    return ff.TorchLearner(
        make, data, torch.nn.functional.cross_entropy, test=data[0], batch=8, steps=5, lr=0.1
    )


@pytest.mark.torch
def test_a_torch_learner_has_the_bytes_of_one_process(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"plan": "full", "rounds_max": 3, "seed": 4, "progress": False}
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        ff.simulate(learner(), out=tmp_path / "one", **settings)
    finally:
        torch.set_num_threads(threads)
    ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        ff.simulate(learner(), crew=ff.RayCrew(2), out=tmp_path / "ray", **settings)
    finally:
        ray.shutdown()
    assert_same(tmp_path / "ray", tmp_path / "one")
