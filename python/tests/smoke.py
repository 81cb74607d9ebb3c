"""What must work with numpy and nothing else: the command line, a plan, a simulated run, and a learner in Python."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import fedflip as ff
import numpy as np


class Line:
    """Four devices fit a line without noise."""

    devices = 4

    def samples(self, device: int) -> int:
        """How many samples the device has."""
        return 10 + device

    def initial(self, seed: int) -> np.ndarray:
        """The first model."""
        return np.zeros(2, dtype=np.float32)

    def train(self, model: np.ndarray, key: ff.TrainKey) -> tuple[np.ndarray, float]:
        """One step of gradient descent."""
        x = np.linspace(-1, 1, self.samples(key.device), dtype=np.float32)
        residual = model[0] * x + model[1] - (2 * x + 1)
        gradient = np.array([(residual * x).mean(), residual.mean()], dtype=np.float32)
        return np.float32(-0.5) * gradient, float((residual**2).mean())

    def evaluate(self, model: np.ndarray) -> dict[str, float]:
        """The distance to the right line."""
        return {"loss": float(((model - [2, 1]) ** 2).sum())}


def main() -> None:
    """Uses the installed package, and fails if something does not work."""
    others = [name for name in ("torch", "pandas", "pyarrow", "matplotlib") if importlib.util.find_spec(name)]
    assert others == [], f"there should be numpy alone, but there are {others}"
    script = Path(sys.executable).with_name("fedflip")
    told = subprocess.run([script, "--version"], capture_output=True, check=True, text=True).stdout
    assert told.split() == ["fedflip", ff.__version__], told

    fleet = ff.Fleet.paper(100, seed=7)
    plan = ff.plan(fleet, bandwidth_mbps=100)
    assert plan.q.shape == (100,) and 0 < plan.q.min() <= plan.q.max() <= 1

    run = ff.simulate(ff.Scenario("synthetic"), rounds_max=20, seed=1, progress=False)
    assert len(run) == 20

    small = ff.Fleet.paper(4, seed=7)
    own = ff.simulate(Line(), fleet=small, bandwidth_mbps=100, rounds_max=200, seed=1, progress=False)
    assert own.evaluations.to_dict()["loss"][-1] < 0.1
    print(
        f"Python {sys.version.split()[0]}, numpy {np.__version__}: fedflip {ff.__version__} plans and simulates"
    )


main()
