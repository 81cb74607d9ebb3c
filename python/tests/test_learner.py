"""Keys, and the adapter that checks what learners return."""

from __future__ import annotations

import hashlib
import pickle
import struct
import threading
import time
import timeit
from typing import Any

import numpy as np
import pytest
from fedflip._errors import InputError, LearnerError
from fedflip._key import TrainKey, seed_torch
from fedflip._learner import DivergedError, FlatLearner, Learner
from fedflip._metrics import checked_directions, direction, known_direction

KEY = TrainKey(seed=7, round=3, device=2)


class Flat:
    """A learner with a flat model; `answer` is what train returns."""

    devices = 4

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer

    def samples(self, device: int) -> int:
        return device + 1

    def initial(self, seed: int) -> Any:
        return np.full(6, seed, np.float32)

    def train(self, model: Any, key: TrainKey) -> Any:
        if callable(self.answer):
            return self.answer(model, key)
        return (model + np.float32(key.device), 0.5) if self.answer is None else self.answer

    def evaluate(self, model: Any) -> Any:
        return {"accuracy": (3, 4), "loss": float(model.sum())}


class Named(Flat):
    """A learner with named tensors, given in another order than that of the names."""

    def initial(self, seed: int) -> Any:
        return {
            "w": np.arange(6, dtype=np.float32).reshape(2, 3),
            "b": np.array(9, np.float32),
            "a": np.zeros(2, np.float32),
        }

    def train(self, model: Any, key: TrainKey) -> Any:
        if self.answer is not None:
            return super().train(model, key)
        return {name: 2 * tensor for name, tensor in model.items()}, 1

    def evaluate(self, model: Any) -> Any:
        return {"b": float(model["b"])}


def flat_update(answer: Any, learner: type[Flat] = Flat) -> tuple[Any, float]:
    flat = FlatLearner(learner(answer))
    return flat.train(flat.initial(1), KEY)


def refusal(answer: Any, learner: type[Flat] = Flat) -> LearnerError:
    with pytest.raises(LearnerError) as caught:
        flat_update(answer, learner)
    assert (caught.value.device, caught.value.round) == (2, 3)
    assert caught.value.remedy
    return caught.value


class TestTrainKey:
    def test_is_a_small_immutable_value(self) -> None:
        assert TrainKey(7, 3, 2, 1.0) == KEY and hash(KEY) == hash(TrainKey(7, 3, 2))
        assert pickle.loads(pickle.dumps(KEY)) == KEY and type(pickle.loads(pickle.dumps(KEY))) is TrainKey
        with pytest.raises(AttributeError):
            KEY.seed = 1  # type: ignore[misc]

    def test_stream_seed_is_the_documented_function(self) -> None:
        packed = struct.pack("<8sQQQ", b"fedflip1", 7, 3, 2) + b"noise"
        expected = int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")
        assert KEY.stream_seed("noise") == expected
        # A changed value here changes every run with a Python learner.
        assert TrainKey(7, 3, 5).stream_seed() == 13542429816291448898

    def test_seed_round_device_and_purpose_matter_and_the_rate_does_not(self) -> None:
        keys = [KEY, KEY._replace(seed=8), KEY._replace(round=4), KEY._replace(device=3)]
        assert len({key.stream_seed() for key in keys} | {KEY.stream_seed("other")}) == 5
        assert KEY._replace(rate_factor=0.5).stream_seed() == KEY.stream_seed()

    @pytest.mark.parametrize("key", [TrainKey(-1, 1, 0), TrainKey(1, 2**64, 0), TrainKey(1, 1, 0.5)])  # type: ignore[arg-type]
    def test_keys_out_of_range_are_refused(self, key: TrainKey) -> None:
        with pytest.raises(InputError) as caught:
            key.stream_seed()
        assert caught.value.where == "key" and caught.value.value == tuple(key) and caught.value.remedy

    def test_wrong_arguments_of_generators_are_refused(self) -> None:
        torch = pytest.importorskip("torch")
        for device in ("gpu", 1.5, torch):
            with pytest.raises(InputError) as caught:
                KEY.torch_generator(device)
            assert (caught.value.where, caught.value.value) == ("device", device) and caught.value.remedy
        for purpose in (5, None, b"train", "\ud800"):
            for call in (KEY.torch_generator, KEY.numpy_generator, lambda purpose: seed_torch(KEY, purpose)):
                with pytest.raises(InputError) as caught:
                    call(purpose=purpose)  # type: ignore[operator]
                assert (caught.value.where, caught.value.value) == ("purpose", purpose)
        for key in (5, (7, 3, 2), None):
            with pytest.raises(InputError) as caught:
                seed_torch(key)  # type: ignore[arg-type]
            assert (caught.value.where, caught.value.value) == ("key", key)

    def test_generators_follow_from_the_stream_seed(self) -> None:
        torch = pytest.importorskip("torch")
        expected = np.random.Generator(np.random.PCG64(KEY.stream_seed())).random(4)
        assert np.array_equal(KEY.numpy_generator().random(4), expected)
        generator = torch.Generator().manual_seed(KEY.stream_seed())
        numbers = torch.rand(4, generator=generator)
        assert torch.equal(torch.rand(4, generator=KEY.torch_generator()), numbers)
        returned = seed_torch(KEY)
        assert torch.equal(torch.rand(4), numbers) and torch.equal(torch.rand(4, generator=returned), numbers)
        state = np.random.RandomState(KEY.stream_seed() % 2**32)
        assert np.array_equal(np.random.rand(4), state.rand(4))


class TestFlatLearner:
    def test_needs_no_base_class(self) -> None:
        assert isinstance(Flat(), Learner) and not isinstance(object(), Learner)

    def test_a_flat_model_is_one_tensor(self) -> None:
        flat = FlatLearner(Flat())
        assert flat.tensors() == [("model", (6,))] and flat.size == 6 and flat.devices == 4
        update, loss = flat.train(flat.initial(1), KEY)
        assert update.tolist() == [3.0] * 6 and loss == 0.5
        assert flat.samples(3) == 4 and flat.relative_cost(3) == 1

    def test_named_tensors_are_stored_by_name_and_lent_as_given(self) -> None:
        seen: list[Any] = []

        def adds_1(model: Any, key: TrainKey) -> Any:
            seen.append(model)
            return {name: tensor + 1 for name, tensor in model.items()}, 0.0

        flat = FlatLearner(Named(adds_1))
        model = flat.initial(0)
        assert flat.tensors() == [("a", (2,)), ("b", ()), ("w", (2, 3))]
        assert model.tolist() == [0, 0, 9, 0, 1, 2, 3, 4, 5]
        update, _ = flat.train(model, KEY)
        assert update.tolist() == [1, 1, 10, 1, 2, 3, 4, 5, 6] and update.flags.c_contiguous
        assert list(seen[0]) == ["w", "b", "a"] and seen[0]["w"].shape == (2, 3) and seen[0]["b"].shape == ()
        assert flat.evaluate(model) == {"b": (9.0, 1.0)}

    def test_flat_models_may_declare_their_tensors(self) -> None:
        def declares(*tensors: Any) -> FlatLearner:
            learner = Flat()
            learner.tensors = lambda: list(tensors)  # type: ignore[attr-defined]
            return FlatLearner(learner)

        assert declares(("b", (2,)), ("w", (2, 2))).tensors() == [("b", (2,)), ("w", (2, 2))]
        with pytest.raises(LearnerError, match="not sorted"):
            declares(("w", (2, 2)), ("b", (2,))).tensors()
        with pytest.raises(LearnerError, match="has 4 parameters, but initial"):
            declares(("w", (2, 2))).tensors()

    def test_every_wrong_update_is_refused_with_a_remedy(self) -> None:
        torch = pytest.importorskip("torch")
        zeros = np.zeros(6, np.float32)
        cases: list[tuple[Any, str, str]] = [
            ((np.zeros(5, np.float32), 0.0), "shape (5,), but the model has (6,)", "shape of the model"),
            ((np.zeros((6, 1), np.float32), 0.0), "shape (6, 1)", "shape of the model"),
            ((np.zeros(6), 0.0), "dtype float64", "astype(numpy.float32)"),
            ((np.zeros(6, np.float16), 0.0), "dtype float16", "astype(numpy.float32)"),
            ((np.zeros(6, ">f4"), 0.0), "dtype >f4", "astype(numpy.float32)"),
            (([0.0] * 6, 0.0), "a list, not a numpy array", "asarray"),
            ((torch.zeros(6), 0.0), "torch.Tensor, not a numpy array", "numpy()"),
            ((None, 0.0), "NoneType", "float32"),
            (zeros, "a float32 array of shape (6,), but it must return a tuple", "update, loss"),
            ((zeros, 0.0, 0), "a tuple of 3", "update, loss"),
            ((zeros, None), "None, not a number", "float"),
            ((zeros, "low"), "'low', not a number", "float"),
        ]
        for answer, problem, remedy in cases:
            error = refusal(answer)
            assert problem in error.problem and error.problem.startswith("device 2, round 3: "), error.problem
            assert remedy in error.remedy, error.remedy

    def test_wrong_names_are_refused_with_the_names(self) -> None:
        def without(*names: str, **more: Any) -> Any:
            return lambda model, key: ({**{n: t for n, t in model.items() if n not in names}, **more}, 0.0)

        assert "lacks 'a', 'w'" in refusal(without("a", "w"), Named).problem
        assert "has 'x', which the model does not have" in refusal(without(x=1), Named).problem
        error = refusal(without("w", w=np.zeros((3, 2), np.float32)), Named)
        assert "['w'] has the shape (3, 2), but the model has (2, 3)" in error.problem
        assert "['a'] has the dtype float64" in refusal(without("a", a=np.zeros(2)), Named).problem
        assert "named tensors" in refusal((np.zeros(9, np.float32), 0.0), Named).problem

    def test_arrays_that_are_not_contiguous_are_copied(self) -> None:
        update, _ = flat_update((np.arange(12, dtype=np.float32)[::2], np.float32(1)))
        assert update.tolist() == [0, 2, 4, 6, 8, 10] and update.flags.c_contiguous

    @pytest.mark.parametrize("loss", [float("nan"), float("inf"), np.float32("nan")])
    def test_a_loss_that_is_not_finite_is_divergence(self, loss: Any) -> None:
        error = refusal((np.zeros(6, np.float32), loss))
        assert isinstance(error, DivergedError) and "the training loss is" in error.problem

    def test_exceptions_keep_their_cause_place_and_traceback(self) -> None:
        def fails(model: Any, key: TrainKey) -> Any:
            raise KeyError("no such sample")

        error = refusal(fails)
        assert error.problem == "training on device 2 in round 3 failed: KeyError: 'no such sample'"
        assert isinstance(error.__cause__, KeyError)
        assert 'raise KeyError("no such sample")' in error.traceback and "/fedflip/" not in error.traceback
        assert "SystemExit" in refusal(lambda model, key: exit(3)).problem
        copied = pickle.loads(pickle.dumps(error))
        assert (copied.problem, copied.device, copied.round, copied.traceback) == (
            error.problem,
            2,
            3,
            error.traceback,
        )

    def test_ctrl_c_is_no_failure_of_the_learner(self) -> None:
        def interrupted(model: Any, key: TrainKey) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            flat_update(interrupted)

    def test_a_learner_cannot_change_the_model(self) -> None:
        def in_place(model: Any, key: TrainKey) -> Any:
            model += 1
            return model, 0.0

        error = refusal(in_place)
        assert "read-only" in error.problem and "copy" in error.remedy

    @pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
    def test_a_change_through_torch_is_found(self) -> None:
        torch = pytest.importorskip("torch")

        def through_torch(model: Any, key: TrainKey) -> Any:
            torch.from_numpy(model).add_(1)
            return np.zeros(6, np.float32), 0.0

        error = refusal(through_torch)
        assert "changed the model it was lent" in error.problem and "torch.tensor(model)" in error.remedy

    def test_a_hanging_learner_is_stopped(self) -> None:
        stopped = threading.Event()

        def hangs(model: Any, key: TrainKey) -> Any:
            try:
                while key.round == 3:
                    time.sleep(0.01)
            finally:
                stopped.set()
            return model, 0.0

        flat = FlatLearner(Flat(hangs), timeout_secs=0.2)
        model = flat.initial(0)
        begun = time.monotonic()
        with pytest.raises(LearnerError, match="took longer than 0.2 seconds") as caught:
            flat.train(model, KEY)
        assert time.monotonic() - begun < 5 and (caught.value.device, caught.value.round) == (2, 3)
        assert stopped.wait(5), "the helper thread must end"
        # Other calls continue, and the same exceptions arrive.
        assert flat.train(model, KEY._replace(round=4))[1] == 0.0
        flat.close()

    @pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), "5"])
    def test_wrong_time_limits_are_refused(self, limit: Any) -> None:
        with pytest.raises(InputError) as caught:
            FlatLearner(Flat(), timeout_secs=limit)
        assert caught.value.where == "timeout_secs"

    def test_a_wrong_model_is_refused(self) -> None:
        flat = FlatLearner(Flat())
        for model in [np.zeros(5, np.float32), np.zeros(6), [0.0] * 6]:
            with pytest.raises(InputError) as caught:
                flat.train(model, KEY)  # type: ignore[arg-type]
            assert caught.value.where == "model" and "6 float32 parameters" in caught.value.problem

    def test_wrong_first_models_are_refused(self) -> None:
        cases: list[tuple[Any, str]] = [
            (np.zeros(3), "dtype float64"),
            (np.zeros((3, 1), np.float32), "one flat array"),
            (np.zeros(0, np.float32), "one flat array"),
            ({}, "no parameters"),
            ({"a": np.zeros(3)}, "initial(5)['a'] has the dtype float64"),
            ({1: np.zeros(3, np.float32)}, "tensor named 1"),
            (None, "NoneType"),
            (np.full(3, np.nan, np.float32), "NaN or infinite"),
        ]
        for first, problem in cases:
            learner = Flat()
            learner.initial = lambda seed, first=first: first  # type: ignore[method-assign, misc]
            with pytest.raises(LearnerError) as caught:
                FlatLearner(learner).initial(5)
            assert problem in caught.value.problem and caught.value.remedy, caught.value.problem

    def test_the_layout_may_not_depend_on_the_seed(self) -> None:
        learner = Flat()
        learner.initial = lambda seed: np.zeros(seed, np.float32)  # type: ignore[method-assign]
        flat = FlatLearner(learner)
        flat.initial(3)
        with pytest.raises(LearnerError, match=r"'model' was \(3,\) and is \(4,\)"):
            flat.initial(4)

    def test_objects_that_are_no_learners_are_refused(self) -> None:
        torch = pytest.importorskip("torch")
        cases: list[tuple[Any, str, str]] = [
            (object(), "lacks devices, samples, initial, train, evaluate", "fedflip.Learner"),
            (Flat, "is a class", "make an instance"),
            (torch.nn.Linear(2, 2), "is not a learner", "TorchLearner"),
        ]
        for wrong, problem, remedy in cases:
            with pytest.raises(InputError) as caught:
                FlatLearner(wrong)
            assert (
                problem in caught.value.problem
                and remedy in caught.value.remedy
                and caught.value.where == "learner"
            )
        for devices in [0, -1, 2.5, None, lambda: 3]:
            learner = Flat()
            learner.devices = devices  # type: ignore[assignment]
            with pytest.raises(InputError) as caught:
                FlatLearner(learner)
            assert caught.value.where == "learner.devices"

    def test_wrong_numbers_of_samples_are_refused(self) -> None:
        for count in [-1, 1.5, None]:
            learner = Flat()
            learner.samples = lambda device, count=count: count  # type: ignore[method-assign, misc]
            with pytest.raises(LearnerError, match="whole number, 0 or more") as caught:
                FlatLearner(learner).samples(1)
            assert caught.value.device == 1

    def test_travels_to_other_processes_with_its_layout(self) -> None:
        flat = FlatLearner(Named(), timeout_secs=3.0)
        flat.tensors()
        copied = pickle.loads(pickle.dumps(flat))
        copied.learner.initial = None
        assert copied.tensors() == flat.tensors() and copied.timeout_secs == 3.0

    def test_threads_wait_for_each_other(self) -> None:
        inside, most = 0, 0

        def counts(model: Any, key: TrainKey) -> Any:
            nonlocal inside, most
            inside += 1
            most = max(most, inside)
            time.sleep(0.002)
            inside -= 1
            return model, 0.0

        flat = FlatLearner(Flat(counts))
        model = flat.initial(0)
        threads = [threading.Thread(target=flat.train, args=(model, KEY)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == 1

    def test_costs_little(self) -> None:
        learner = Flat((np.zeros(21_840, np.float32), 0.0))
        learner.initial = lambda seed: np.zeros(21_840, np.float32)  # type: ignore[method-assign]
        flat = FlatLearner(learner)
        model = flat.initial(0)
        secs = min(timeit.repeat(lambda: flat.train(model, KEY), number=200, repeat=20)) / 200
        assert secs < 20e-6, f"{secs * 1e6:.1f} µs; 2 µs on a quiet machine"


class TestEvaluation:
    def evaluated(self, answer: Any) -> Any:
        learner = Flat()
        learner.evaluate = lambda model: answer  # type: ignore[method-assign]
        flat = FlatLearner(learner)
        return flat.evaluate(flat.initial(0))

    def test_values_have_the_weight_1(self) -> None:
        assert self.evaluated({"a": 2, "b": (np.float32(3), 4)}) == {"a": (2.0, 1.0), "b": (3.0, 4.0)}
        assert self.evaluated({}) == {}

    def test_wrong_metrics_are_refused(self) -> None:
        for answer, problem in [
            (None, "must return a mapping"),
            (0.5, "must return a mapping"),
            ({"a": "high"}, "'high', not a number"),
            ({"a": (1, 2, 3)}, "a tuple of 3"),
            ({"a": (1, 0)}, "must be above 0"),
            ({"": 1.0}, "named ''"),
        ]:
            with pytest.raises(LearnerError) as caught:
                self.evaluated(answer)
            assert problem in caught.value.problem and caught.value.remedy
        with pytest.raises(DivergedError, match="'a' is nan"):
            self.evaluated({"a": (float("nan"), 1)})

    def test_metrics_are_declared_or_follow_from_an_evaluation(self) -> None:
        learner = Flat()
        assert FlatLearner(learner).metrics == {"accuracy": "max", "loss": "min"}
        learner.metrics = {"regret": "max"}  # type: ignore[attr-defined]
        assert FlatLearner(learner).metrics == {"regret": "max"}

    def test_directions(self) -> None:
        larger = [
            "accuracy",
            "f1",
            "top-5",
            "auc",
            "bleu",
            "roc_auc",
            "mAP",
            "something",
            "neg_mean_squared_error",
        ]
        smaller = [
            "loss",
            "val/loss",
            "testLoss",
            "perplexity",
            "rmse",
            "MAE",
            "top-5 error",
            "error_rate",
            "wer",
        ]
        negated = ["neg_log_likelihood", "NegLogLikelihood", "false_negative_rate", "davies_bouldin_score"]
        unknown = [
            name for name in [*larger, *smaller, "r2", "mIoU", *negated] if known_direction(name) is None
        ]
        assert unknown == ["something", *negated]
        assert {name: direction(name) for name in larger} == dict.fromkeys(larger, "max")
        assert {name: direction(name) for name in smaller} == dict.fromkeys(smaller, "min")
        for declared, value in [(["loss"], ["loss"]), ({"loss": "down"}, "down"), ({1: "max"}, 1)]:
            with pytest.raises(InputError) as caught:
                checked_directions(declared)
            assert caught.value.value == value and "learner.metrics" in caught.value.where

    def test_losses_of_devices_are_optional(self) -> None:
        flat = FlatLearner(Flat())
        with pytest.raises(LearnerError, match="has no method loss") as caught:
            flat.loss(flat.initial(0), 1)
        assert caught.value.device == 1 and not flat.has_loss
        learner = Flat()
        learner.loss = lambda model, device: device / 2  # type: ignore[attr-defined]
        flat = FlatLearner(learner)
        assert flat.has_loss and flat.loss(flat.initial(0), 3) == 1.5
        learner.loss = lambda model, device: float("nan")  # type: ignore[attr-defined]
        with pytest.raises(DivergedError):
            flat.loss(flat.initial(0), 3)
