"""Models that learners are lent: every write to them is found, and harms nobody else."""

from __future__ import annotations

import ctypes
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from fedflip._crew import InlineCrew

SIZE = 21_840
#: One number that a comparison of a few evenly spread numbers does not see.
PLACE = 12_345
KEYS = [ff.TrainKey(seed=1, round=4, device=device) for device in range(3)]


def write(model: Any) -> None:
    """Changes one number past numpy, as code of torch or of C does."""
    assert not model.flags.writeable
    ctypes.c_float.from_address(model.ctypes.data + 4 * PLACE).value += 1.0


class Writes:
    """Device 1 writes to the model in the method that is named; ``then`` is what it does next."""

    devices = 3

    def __init__(self, method: str, named: bool = False, then: str = "") -> None:
        self.method, self.named, self.then = method, named, then

    def _called(self, method: str, model: Any, device: int) -> Any:
        flat = model["w"].reshape(-1) if self.named else model
        if method == self.method and device == 1:
            write(flat)
            if self.then == "raise":
                raise RuntimeError("out of cheese")
        return flat

    def samples(self, device: int) -> int:
        return 1

    def initial(self, seed: int) -> Any:
        model = np.arange(SIZE, dtype=np.float32)
        return {"w": model.reshape(2, -1)} if self.named else model

    def train(self, model: Any, key: ff.TrainKey) -> Any:
        update = 2 * self._called("train", model, key.device)
        return ({"w": update.reshape(2, -1)} if self.named else update), 0.5

    def loss(self, model: Any, device: int) -> float:
        return float(self._called("loss", model, device)[PLACE])

    def evaluate(self, model: Any) -> dict[str, float]:
        return {"loss": float(self._called("evaluate", model, 1)[PLACE])}


@pytest.mark.parametrize("writable", [False, True], ids=["read-only", "writable"])
@pytest.mark.parametrize("named", [False, True], ids=["flat", "named"])
def test_one_number_is_found_and_other_trainings_are_not_harmed(named: bool, writable: bool) -> None:
    flat = ff.FlatLearner(Writes("train", named))
    model = flat.initial(1)
    model.flags.writeable = writable
    with InlineCrew() as crew:
        crew.open(flat)
        crew.train(model, KEYS)
        want = (2 * np.arange(SIZE, dtype=np.float32)).tobytes()
        assert crew.next().update.tobytes() == want
        with pytest.raises(ff.LearnerError, match="train changed the model it was lent") as caught:
            crew.next()
        assert (caught.value.device, caught.value.round) == (1, 4) and "copy" in caught.value.remedy
        assert crew.next().update.tobytes() == want
    assert model[PLACE] == PLACE and model.flags.writeable is writable


@pytest.mark.parametrize("method", ["loss", "evaluate"])
def test_losses_and_evaluations_are_looked_at_too(method: str) -> None:
    flat = ff.FlatLearner(Writes(method))
    model = flat.initial(1)
    with pytest.raises(ff.LearnerError, match=f"{method} changed the model it was lent"):
        flat.loss(model, 1) if method == "loss" else flat.evaluate(model)
    assert model[PLACE] == PLACE


def test_a_learner_that_writes_and_then_fails_harms_nobody() -> None:
    flat = ff.FlatLearner(Writes("train", then="raise"))
    model = flat.initial(1)
    model.flags.writeable = False
    with pytest.raises(ff.LearnerError, match="out of cheese"):
        flat.train(model, KEYS[1])
    update, _ = flat.train(model, KEYS[2])
    assert update[PLACE] == 2 * PLACE


def test_the_owner_of_a_model_may_change_it_between_trainings() -> None:
    flat = ff.FlatLearner(Writes("nothing"))
    model = flat.initial(1)
    view = model[:]
    view.flags.writeable = False
    for number in (1.0, 2.0):
        model[:] = number
        for lent in (model, view):
            assert flat.train(lent, KEYS[0])[0][0] == 2 * number
    model.flags.writeable = False
    assert flat.train(model, KEYS[0])[0][0] == 4.0
    model.flags.writeable = True
    model[:] = 3.0
    assert flat.train(model, KEYS[0])[0][0] == 6.0
    strided = np.repeat(model, 2)[::2]
    assert flat.train(strided, KEYS[0])[0][0] == 6.0


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
def test_one_number_that_torch_writes_ends_a_run() -> None:
    torch = pytest.importorskip("torch")

    class Torch(Writes):
        def train(self, model: Any, key: ff.TrainKey) -> Any:
            torch.from_numpy(model)[PLACE] = 7
            return np.zeros(SIZE, np.float32), 0.5

    with pytest.raises(ff.LearnerError, match="train changed the model it was lent"):
        ff.simulate(Torch(""), plan="full", rounds_max=2, progress=False)
