"""Learners made of torch modules: pure, equal to a plain loop, and the same in every kind of worker."""

from __future__ import annotations

import copy
import pickle
import random
import threading
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from fedflip._crew import Crew, InlineCrew  # noqa: E402
from fedflip._errors import InputError, LearnerError  # noqa: E402
from fedflip._key import TrainKey, seed_torch  # noqa: E402
from fedflip._learner import DivergedError, FlatLearner, Learner  # noqa: E402
from fedflip._process_crew import ProcessCrew  # noqa: E402
from fedflip._simulate import simulate  # noqa: E402
from fedflip._torch import TorchLearner  # noqa: E402
from fedflip._torch_batches import batch_indices, batch_indices_epochs  # noqa: E402
from native_batches import _words, drawn_here  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.data import Dataset, IterableDataset, Subset, TensorDataset  # noqa: E402

KEY = TrainKey(seed=3, round=2, device=1)


def norm_net() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))


def plain_net() -> Any:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))


class Lora(nn.Module):
    """A frozen random backbone with a low-rank change, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.backbone = nn.Linear(4, 8).requires_grad_(False)
        self.down, self.up = nn.Linear(4, 2, bias=False), nn.Linear(2, 8, bias=False)
        nn.init.zeros_(self.up.weight)
        self.head = nn.Linear(8, 3)
        self.register_buffer("scale", torch.full((1,), 2.0), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.head(torch.tanh(self.backbone(x) + self.scale * self.up(self.down(x))))


def data(devices: int = 4, samples: int = 30) -> list[Any]:
    generator = torch.Generator().manual_seed(1)
    labels = [torch.randint(3, (samples + device,), generator=generator) for device in range(devices)]
    return [TensorDataset(torch.randn(len(y), 4, generator=generator) + y[:, None], y) for y in labels]


def learner(
    make: Any = norm_net, datasets: Any = None, loss: Any = functional.cross_entropy, **more: Any
) -> TorchLearner:
    length = {} if "epochs" in more else {"steps": 5}
    arguments: dict[str, Any] = {"batch": 8, "lr": 0.1, "device": "cpu", **length, **more}
    return TorchLearner(make, datasets or data(), loss, **arguments)


def trained(of: TorchLearner, key: TrainKey = KEY, seed: int = 1) -> tuple[bytes, float]:
    update, loss = of.train(of.initial(seed), key)
    return update.tobytes(), loss


class TestBatches:
    def test_the_stream_is_that_of_the_native_kernels(self) -> None:
        # The value that crates/fleet/src/stream.rs pins, for the purpose Cohort.
        words = _words(7, 1, 3, 5)
        low, high = next(words), next(words)
        assert high << 32 | low == 17_395_180_385_558_662_255

    def test_passes_see_every_sample_once(self) -> None:
        picks = batch_indices(1, 2, 3, 10, 4, 5)
        assert picks.shape == (5, 4) and picks.dtype == np.int64
        flat = picks.reshape(-1).tolist()
        assert sorted(flat[:10]) == sorted(flat[10:]) == list(range(10)) and flat[:10] != flat[10:]
        one = batch_indices(1, 2, 3, 1, 2, 2)
        assert one.tolist() == [[0, 0], [0, 0]]

    def test_epochs_continue_the_same_passes(self) -> None:
        batches = batch_indices_epochs(1, 2, 3, 10, 4, 2)
        assert [len(batch) for batch in batches] == [4, 4, 4, 4, 4]
        assert np.concatenate(batches).tolist() == batch_indices(1, 2, 3, 10, 4, 5).reshape(-1).tolist()
        assert [len(batch) for batch in batch_indices_epochs(1, 2, 3, 10, 4, 1)] == [4, 4, 2]

    def test_native_draws_equal_those_of_the_definition(self) -> None:
        for case in [
            (7, 3, 5, 4, 3, 2),
            (0, 1, 0, 1, 1, 3),
            (2**64 - 1, 9, 99, 600, 32, 10),
            (5, 5, 5, 3000, 64, 60),
        ]:
            assert np.array_equal(batch_indices(*case), drawn_here(*case))

    def test_draws_are_even(self) -> None:
        first = [drawn_here(9, round, 0, 5, 1, 1)[0, 0] for round in range(500)]
        counts = np.bincount(first, minlength=5)
        assert counts.min() > 60 and counts.max() < 145


class TestTraining:
    def test_is_a_learner(self) -> None:
        assert isinstance(learner(), Learner)
        assert "4 devices, steps=5, batch=8, lr=0.1" in repr(learner())

    @pytest.mark.parametrize("with_optimizer", [False, True])
    def test_equals_a_plain_loop(self, with_optimizer: bool) -> None:
        made = (
            learner(optimizer=lambda params, lr: torch.optim.SGD(params, lr=lr))
            if with_optimizer
            else learner()
        )
        model = made.initial(1)
        update, loss = made.train(model, KEY)
        module = norm_net()
        module.load_state_dict(made.state_dict(model))
        seed_torch(KEY)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
        x, y = data()[1].tensors
        losses = []
        for picks in batch_indices(3, 2, 1, 31, 8, 5):
            optimizer.zero_grad()
            value = functional.cross_entropy(module(x[picks]), y[picks])
            value.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            losses.append(value.item())
        torch.set_num_threads(threads)
        assert np.array_equal(made.model_of(module) - model, update)
        assert loss == pytest.approx(np.mean(losses), rel=1e-12)

    def test_epochs_and_the_rate_factor(self) -> None:
        made = learner(plain_net, epochs=2)
        # 31 samples, 62 in two passes: 8 batches.
        assert len(made._picks(KEY)) == 8 and made.relative_cost(1) == 31 and learner().relative_cost(1) == 1
        one = learner(plain_net, steps=1)
        model = one.initial(1)
        full, half = one.train(model, KEY)[0], one.train(model, KEY._replace(rate_factor=0.5))[0]
        assert np.allclose(full, 2 * half, rtol=1e-3, atol=1e-7) and np.abs(full).max() > 0

    def test_an_optimizer_is_new_in_every_training(self) -> None:
        made = learner(plain_net, optimizer=lambda params, lr: torch.optim.Adam(params, lr))
        assert trained(made) == trained(made)
        assert trained(made) != trained(learner(plain_net))

    def test_batch_norm_statistics_travel_and_counters_stay(self) -> None:
        made = learner()
        names = [name for name, _ in made.tensors()]
        assert names == sorted(names) and "1.running_mean" in names and "1.num_batches_tracked" not in names
        model = made.initial(1)
        update, _ = made.train(model, KEY)
        flat = FlatLearner(made)
        flat.tensors()
        change = dict(
            zip(
                names,
                np.split(update, np.cumsum([int(np.prod(shape)) for _, shape in made.tensors()])[:-1]),
                strict=False,
            )
        )
        assert np.abs(change["1.running_mean"]).min() > 0 and np.abs(change["1.running_var"]).min() > 0
        state = made.state_dict(model + update)
        assert state["1.num_batches_tracked"].dtype == torch.int64 and state["1.num_batches_tracked"] == 0
        norm_net().load_state_dict(state)

    def test_counters_start_anew_where_they_matter(self) -> None:
        # Without momentum, running statistics depend on the counter.
        made = learner(lambda: nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, momentum=None)))
        assert trained(made) == trained(made)

    def test_frozen_parameters_never_travel_and_are_the_same_everywhere(self) -> None:
        made = learner(Lora)
        assert [name for name, _ in made.tensors()] == [
            "down.weight",
            "head.bias",
            "head.weight",
            "up.weight",
        ]
        one, two = made.state_dict(made.initial(1)), made.state_dict(made.initial(2))
        assert torch.equal(one["backbone.weight"], two["backbone.weight"])
        assert not torch.equal(one["head.weight"], two["head.weight"])
        # In other processes, after other seeds, and for another learner, too.
        torch.manual_seed(99)
        other = learner(Lora)
        assert torch.equal(other.state_dict(other.initial(5))["backbone.weight"], one["backbone.weight"])
        changed = learner(Lora, backbone_seed=1)
        assert not torch.equal(changed.state_dict(made.initial(1))["backbone.weight"], one["backbone.weight"])
        update, loss = made.train(made.initial(1), KEY)
        assert np.abs(update).max() > 0 and np.isfinite(loss)
        after = made.state_dict(made.initial(1) + update)
        assert torch.equal(after["backbone.weight"], one["backbone.weight"])
        assert "scale" not in after

    def test_modules_of_other_precisions_layouts_and_ties(self) -> None:
        class Odd(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.first = nn.Linear(4, 4).double()
                self.conv = nn.Conv2d(4, 4, 1).to(memory_format=torch.channels_last)
                self.tied = nn.Linear(4, 4, bias=False)
                self.same = self.tied
                self.other = nn.Linear(4, 4, bias=False)
                self.other.weight = self.tied.weight
                self.register_buffer("mean", torch.zeros(4))

            def forward(self, x: Any) -> Any:
                x = self.first(x.double()).float()
                # Another tensor in the buffer's place.
                self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
                x = self.conv(x[:, :, None, None])[:, :, 0, 0]
                return self.other(self.same(self.tied(x)))[:, :3]

        made = learner(Odd)
        names = [name for name, _ in made.tensors()]
        assert "other.weight" not in names and names.count("tied.weight") == 1 and "mean" in names
        model = made.initial(1)
        update, _ = made.train(model, KEY)
        assert trained(made) == (update.tobytes(), trained(made)[1])
        state = made.state_dict(model + update)
        assert state["first.weight"].dtype == torch.float64 and torch.equal(
            state["other.weight"], state["tied.weight"]
        )
        assert np.array_equal(made.model_of(state), model + update)
        module = Odd()
        module.load_state_dict(state)
        assert np.array_equal(made.model_of(module), model + update)
        assert state["mean"].abs().max() > 0

    def test_divergence_names_device_round_and_step(self) -> None:
        made = learner(plain_net, lr=1e6, steps=20, loss=lambda output, target: (output**4).mean())
        with pytest.raises(DivergedError, match="device 1, round 2: the loss is (nan|inf) in step") as caught:
            made.train(made.initial(1), KEY)
        assert (caught.value.device, caught.value.round) == (1, 2)

    def test_a_loss_that_is_not_one_number_is_refused(self) -> None:
        made = FlatLearner(learner(plain_net, loss=nn.CrossEntropyLoss(reduction="none")))
        with pytest.raises(LearnerError, match=r"loss returned \(8,\)") as caught:
            made.train(made.initial(1), KEY)
        assert "reduction" in caught.value.remedy

    def test_devices_without_samples_are_named(self) -> None:
        empty = TensorDataset(torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64))
        made = learner(datasets=[*data(1), empty])
        with pytest.raises(LearnerError, match="device 1 holds no samples"):
            made.train(made.initial(1), KEY)


class TestPurity:
    def test_training_leaves_the_process_as_it_was(self) -> None:
        made = learner()
        model = made.initial(1)
        torch.manual_seed(5), random.seed(5), np.random.seed(5)
        torch.set_num_threads(2)
        states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
        before = model.copy()
        with torch.no_grad():
            made.train(model, KEY)
        made.evaluate(model), made.loss(model, 0), made.initial(4)
        assert torch.equal(torch.get_rng_state(), states[0]) and random.getstate() == states[1]
        assert np.random.get_state()[1].tolist() == states[2]  # type: ignore[index]
        assert torch.get_num_threads() == 2 and not torch.are_deterministic_algorithms_enabled()
        assert np.array_equal(model, before)

    def test_dropout_is_the_same_in_processes_threads_and_any_order(self) -> None:
        made = FlatLearner(learner())
        model = made.initial(1)
        keys = [TrainKey(3, round, device) for round in (1, 2) for device in range(4)]
        want = {key: made.train(model, key)[0].tobytes() for key in keys}
        assert len(set(want.values())) == len(keys)
        # Another order, from two threads at a time.
        got: dict[TrainKey, bytes] = {}

        def train(part: list[TrainKey]) -> None:
            for key in part:
                got[key] = made.learner.train(model, key)[0].tobytes()

        threads = [threading.Thread(target=train, args=(part,)) for part in (keys[::-2], keys[-2::-2])]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == want
        with ProcessCrew(2) as crew:
            crew.open(made)
            for round in (2, 1):
                crew.train(model, [key for key in keys if key.round == round])
                results = {device: update.tobytes() for device, update, _ in (crew.next() for _ in range(4))}
                assert results == {key.device: want[key] for key in keys if key.round == round}
            assert crew.evaluate(model) == made.evaluate(model)
            assert crew.losses(model, [2, 0]) == [made.loss(model, 2), made.loss(model, 0)]

    def test_bytes_do_not_depend_on_the_number_of_threads(self) -> None:
        def wide() -> Any:
            return nn.Sequential(
                nn.Linear(4, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 3)
            )

        made, results = learner(wide, batch=64), set()
        before = torch.get_num_threads()
        for threads in (1, 2, 4):
            torch.set_num_threads(threads)
            results.add(trained(made))
            assert torch.get_num_threads() == threads
        torch.set_num_threads(before)
        assert len(results) == 1

    def test_travels_by_pickle_without_what_it_keeps(self) -> None:
        made = learner(Lora, evaluate=count_parameters)
        want = trained(made)
        copied = pickle.loads(pickle.dumps(made))
        assert trained(copied) == want and copied._store.kept_bytes == 0
        assert copied.evaluate(made.initial(1)) == {"parameters": 40.0 + 8 + 16 + 27}
        assert len(pickle.dumps(made)) == len(pickle.dumps(learner(Lora, evaluate=count_parameters)))


def count_parameters(module: Any) -> dict[str, float]:
    assert not module.training and not torch.is_grad_enabled()
    return {"parameters": float(sum(parameter.numel() for parameter in module.parameters()))}


class Items(Dataset[Any]):
    """A data set of Python values, which counts how often a sample is fetched."""

    def __init__(self, noise: str = "", samples: int = 30) -> None:
        self.noise, self.samples, self.fetched = noise, samples, 0
        self.x, self.y = data(1, samples)[0].tensors

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, position: int) -> Any:
        self.fetched += 1
        x = self.x[position]
        if self.noise == "torch":
            x = x + torch.randn(4)
        elif self.noise == "numpy":
            x = x + torch.from_numpy(np.random.standard_normal(4)).float()
        elif self.noise == "random":
            x = x * random.choice([1.0, -1.0])
        elif self.noise == "late" and position > 0:
            x = x + torch.randn(4)
        elif self.noise == "dict":
            return {"x": x.numpy(), "y": int(self.y[position])}
        elif self.noise == "lengths":
            return x[: 1 + position % 4], int(self.y[position])
        return x, int(self.y[position])


class TestData:
    def test_all_forms_of_the_same_data_train_the_same(self) -> None:
        tensors = data(1)[0]
        backwards = TensorDataset(*(tensor.flip(0) for tensor in tensors.tensors))
        whole = torch.utils.data.ConcatDataset([tensors])
        forms: list[Any] = [
            tensors,
            Subset(backwards, range(29, -1, -1)),
            Subset(Subset(backwards, list(range(30))), torch.arange(29, -1, -1)),
            whole,
            Items(),
        ]
        key = KEY._replace(device=0)
        results = {trained(learner(datasets=[form]), key) for form in forms}
        results |= {trained(learner(datasets=[Items()], cache_mb=0), key)}
        collate = torch.utils.data.default_collate
        results |= {trained(learner(datasets=[form], collate_fn=collate), key) for form in forms}
        assert len(results) == 1

    def test_samples_are_fetched_once_within_the_bound(self) -> None:
        items = Items()
        made = learner(datasets=[items])
        for _ in range(3):
            trained(made, KEY._replace(device=0))
        assert items.fetched == 32 and made._store.kept_bytes == 30 * (16 + 8)
        items = Items()
        made = learner(datasets=[items], cache_mb=0.0001)
        trained(made, KEY._replace(device=0))
        assert items.fetched == 1 + 40 and made._store.kept_bytes == 0

    def test_a_lazy_sequence_keeps_no_more_than_the_bound(self) -> None:
        class Lazy:
            loads = 0

            def __len__(self) -> int:
                return 4

            def __getitem__(self, device: int) -> Any:
                Lazy.loads += 1
                return data()[device]

        made = learner(datasets=Lazy(), cache_mb=0.0016)
        want = [trained(learner(), KEY._replace(device=device)) for device in range(4)]
        for _ in range(2):
            assert [trained(made, KEY._replace(device=device)) for device in range(4)] == want
        # 30 to 33 samples of 24 bytes: two devices of the four fit.
        assert set(made._store.kept) == {0, 1} and made._store.kept_bytes == 61 * 24

    @pytest.mark.parametrize("noise", ["torch", "numpy", "random", "late", "lengths"])
    def test_a_lazy_set_that_cannot_be_kept_is_tried_once(self, noise: str) -> None:
        class Lazy:
            def __init__(self) -> None:
                self.loads = 0
                self.items = Items(noise)

            def __len__(self) -> int:
                return 1

            def __getitem__(self, device: int) -> Any:
                self.loads += 1
                return self.items

        def padded(module: Any, batch: Any) -> Any:
            return module(functional.pad(batch[0], (0, 4 - batch[0].shape[1]))), batch[1]

        lazy = Lazy()
        made = learner(plain_net, lazy, forward=padded, batch=1)
        key, drawn = KEY._replace(device=0), 5
        first = trained(made, key)
        # Two of the same sample, and all of a set that is not random there.
        assert lazy.items.fetched <= 2 + (30 if noise in ("late", "lengths") else 0) + drawn
        lazy.items.fetched = lazy.loads = 0
        assert trained(made, key) == first and (lazy.items.fetched, lazy.loads) == (drawn, 1)
        assert made.samples(0) == 30 and lazy.loads == 1
        assert made._store.kept_bytes == 0 and not made._store.kept

    def test_the_length_of_a_lazy_set_is_asked_once(self) -> None:
        class Lazy:
            loads = 0

            def __len__(self) -> int:
                return 4

            def __getitem__(self, device: int) -> Any:
                Lazy.loads += 1
                return data()[device]

        made, before = learner(datasets=Lazy(), epochs=1), Lazy.loads
        assert [made.samples(2), made.samples(2), made.relative_cost(2)] == [32, 32, 32]
        assert Lazy.loads == before + 1
        trained(made, KEY._replace(device=1))
        assert made.samples(1) == 31 and Lazy.loads == before + 2

    @pytest.mark.parametrize("noise", ["torch", "numpy", "random"])
    def test_random_augmentation_is_drawn_anew_and_by_the_key(self, noise: str) -> None:
        key = KEY._replace(device=0)
        one, two = learner(plain_net, [Items(noise)]), learner(plain_net, [Items(noise)])
        trained(two, key._replace(round=9))
        first = trained(one, key)
        assert trained(two, key) == first == trained(one, key)
        assert trained(one, key._replace(round=5)) != first and one._store.kept_bytes == 0

    def test_other_batches_need_a_forward_function(self) -> None:
        items = Items("dict")
        made = FlatLearner(learner(datasets=[items]))
        with pytest.raises(LearnerError, match="a batch is a dict") as caught:
            made.train(made.initial(1), KEY._replace(device=0))
        assert "forward" in caught.value.remedy
        right = learner(datasets=[items], forward=lambda module, batch: (module(batch["x"]), batch["y"]))
        assert trained(right, KEY._replace(device=0)) == trained(
            learner(datasets=[Items()]), KEY._replace(device=0)
        )

    def test_samples_of_different_lengths_need_a_collate_function(self) -> None:
        def padded(samples: list[Any]) -> Any:
            rows = nn.utils.rnn.pad_sequence(
                [functional.pad(x, (0, 4 - len(x))) for x, _ in samples], batch_first=True
            )
            return rows, torch.tensor([y for _, y in samples])

        made = learner(datasets=[Items("lengths")], collate_fn=padded)
        assert trained(made, KEY._replace(device=0)) == trained(made, KEY._replace(device=0))
        wrong = FlatLearner(learner(datasets=[Items("lengths")]))
        with pytest.raises(LearnerError, match="stack expects each tensor to be equal size"):
            wrong.train(wrong.initial(1), KEY._replace(device=0))


class TestEvaluation:
    def test_loss_and_accuracy_on_a_test_set(self) -> None:
        test = data(1, 600)[0]
        made = learner(test=test)
        model = made.initial(1)
        module = norm_net().eval()
        module.load_state_dict(made.state_dict(model))
        x, y = test.tensors
        with torch.no_grad():
            output = module(x)
        metrics: Any = made.evaluate(model)
        assert metrics["accuracy"] == (float((output.argmax(1) == y).sum()), 600.0)
        assert metrics["loss"][0] / 600 == pytest.approx(functional.cross_entropy(output, y).item(), rel=1e-5)
        assert list(FlatLearner(made).metrics.items()) == [("accuracy", "max"), ("loss", "min")]
        assert made.loss(model, 1) == pytest.approx(
            functional.cross_entropy(module(data()[1].tensors[0]), data()[1].tensors[1]).item(), rel=1e-5
        )

    def test_a_regression_has_no_accuracy(self) -> None:
        sets = [TensorDataset(torch.randn(20, 4), torch.randn(20, 3)) for _ in range(2)]
        made = learner(plain_net, sets, nn.MSELoss(), test=sets[0])
        assert list(made.evaluate(made.initial(1))) == ["loss"] and made.metrics == {"loss": "min"}

    def test_without_test_data_there_is_nothing_to_evaluate(self) -> None:
        made = learner()
        assert made.evaluate(made.initial(1)) == {} and FlatLearner(made).metrics == {}

    def test_a_function_of_the_user_is_called_in_evaluation_mode(self) -> None:
        made = learner(Lora, evaluate=count_parameters, metrics={"parameters": "min"})
        assert FlatLearner(made).evaluate(made.initial(1)) == {"parameters": (91.0, 1.0)}
        assert FlatLearner(made).metrics == {"parameters": "min"}

    def test_segmentation_counts_every_pixel(self) -> None:
        sets = [TensorDataset(torch.randn(6, 2, 5), torch.randint(3, (6, 5)))]
        made = learner(lambda: nn.Conv1d(2, 3, 1), sets, test=sets[0])
        metrics: Any = made.evaluate(made.initial(1))
        assert metrics["accuracy"][1] == 30.0 and metrics["loss"][1] == 6.0


class TestArguments:
    @pytest.mark.parametrize(
        ("change", "where"),
        [
            ({"make_model": plain_net()}, "make_model"),
            ({"make_model": 3}, "make_model"),
            ({"loss": None}, "loss"),
            ({"datasets": []}, "datasets"),
            ({"datasets": 5}, "datasets"),
            ({"datasets": {"a": 1}}, "datasets"),
            ({"datasets": [iter([])]}, "datasets[0]"),
            ({"steps": None}, "steps"),
            ({"epochs": 1}, "steps"),
            ({"steps": 0}, "steps"),
            ({"steps": -1}, "steps"),
            ({"steps": 1.5}, "steps"),
            ({"batch": 0}, "batch"),
            ({"batch": True}, "batch"),
            ({"lr": 0}, "lr"),
            ({"lr": float("nan")}, "lr"),
            ({"lr": "fast"}, "lr"),
            ({"cache_mb": -1}, "cache_mb"),
            ({"metrics": {"a": "up"}}, "metrics['a']"),
            ({"metrics": 3}, "metrics"),
            ({"optimizer": torch.optim.Adam(plain_net().parameters())}, "optimizer"),
            ({"evaluate": 0.5}, "evaluate"),
            ({"forward": "module"}, "forward"),
            ({"collate_fn": []}, "collate_fn"),
            ({"test": iter([])}, "test"),
            ({"test": 5}, "test"),
            ({"device": "gpu"}, "device"),
            ({"device": 1.5}, "device"),
            ({"backbone_seed": -1}, "backbone_seed"),
        ],
    )
    def test_wrong_arguments_are_refused_by_name(self, change: dict[str, Any], where: str) -> None:
        right: dict[str, Any] = {
            "make_model": plain_net,
            "datasets": data(),
            "loss": nn.MSELoss(),
            "steps": 1,
            "batch": 1,
            "lr": 0.1,
        }
        with pytest.raises(InputError) as caught:
            TorchLearner(**{**right, **change})
        assert caught.value.where == where and caught.value.remedy

    @pytest.mark.parametrize("made", [None, 3, "adam", torch.optim.Adam])
    def test_a_factory_without_an_optimizer_is_refused(self, made: Any) -> None:
        wrong = learner(plain_net, optimizer=lambda params, lr: made)
        with pytest.raises(InputError) as caught:
            wrong.train(wrong.initial(1), KEY)
        assert (caught.value.where, caught.value.value) == ("optimizer", made)
        assert "torch.optim.Adam(params, lr)" in caught.value.remedy
        with pytest.raises(LearnerError, match="optimizer returned"):
            simulate(wrong, plan="full", rounds_max=1, progress=False)

    def test_data_sets_without_positions_are_refused(self) -> None:
        class Stream(IterableDataset[Any]):
            def __iter__(self) -> Any:
                return iter([])

        with pytest.raises(InputError, match="has no positions or no length"):
            learner(datasets=[Stream()])

    @pytest.mark.parametrize(
        ("make", "problem"),
        [
            (lambda: None, "returned a NoneType"),
            (lambda: nn.ReLU(), "no parameters that require a gradient"),
            (lambda: nn.LazyLinear(3), "has no shape yet"),
            (lambda: nn.Linear(4, 3).to(torch.complex64), "cannot travel as float32"),
        ],
    )
    @pytest.mark.filterwarnings("ignore")
    def test_modules_that_cannot_be_trained_are_refused(self, make: Any, problem: str) -> None:
        with pytest.raises(InputError, match=problem) as caught:
            learner(make).initial(1)
        assert caught.value.where == "make_model"

    def test_make_model_must_make_the_same_module(self) -> None:
        widths = iter([3, 4])
        made = learner(lambda: nn.Linear(4, next(widths)))
        with pytest.raises(InputError, match="other parameters than before"):
            made.initial(1)

    def test_models_of_another_module_are_refused(self) -> None:
        made = learner(plain_net)
        with pytest.raises(InputError, match="lacks the tensor '0.bias'"):
            made.state_dict({})
        state = made.state_dict(made.initial(1))
        with pytest.raises(InputError, match=r"'0.bias' has the shape \(9,\)"):
            made.model_of({**state, "0.bias": torch.zeros(9)})

    def test_models_by_name_come_back(self) -> None:
        made = learner()
        model = made.initial(3)
        names = FlatLearner(made).tensors()
        parts = np.split(model, np.cumsum([int(np.prod(shape)) for _, shape in names])[:-1])
        named = {name: part.reshape(shape) for (name, shape), part in zip(names, parts, strict=False)}
        one, two = made.state_dict(named), made.state_dict(model)
        assert all(torch.equal(one[name], two[name]) for name in two)
        assert np.array_equal(made.model_of(two), model)
        assert copy.deepcopy(made).devices == made.devices


def test_two_processes_learn_a_task() -> None:
    """A few rounds of federated averaging by hand reach what the data allow."""
    made = FlatLearner(learner(plain_net, test=data(1, 300)[0], steps=10))
    model = made.initial(1)
    before = made.evaluate(model)["accuracy"][0]
    with ProcessCrew(2) as crew, InlineCrew() as inline:
        crew.open(made)
        inline.open(made)
        ours, theirs = model.copy(), model.copy()
        for round in range(1, 11):
            pairs: list[tuple[Crew, Any]] = [(crew, ours), (inline, theirs)]
            for workers, current in pairs:
                workers.train(current, [TrainKey(1, round, device) for device in range(4)])
                results = sorted((workers.next() for _ in range(4)), key=lambda result: result.device)
                current += sum((result.update for result in results), np.zeros_like(current)) / 4
    assert ours.tobytes() == theirs.tobytes()
    assert made.evaluate(ours)["accuracy"][0] > 1.5 * before
