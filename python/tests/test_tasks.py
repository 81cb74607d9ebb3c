"""Tasks and data sets: data, networks and batches against independent computations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fedflip as ff
import numpy as np
import pytest


def softmax(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def test_the_table_of_tasks_says_what_there_is() -> None:
    tasks = ff.tasks.available()
    assert ff.tasks.names() == (
        "synthetic",
        "mnist-cnn",
        "fashion-cnn",
        "cifar10-mobilenet",
        "shakespeare-lstm",
        "own",
    )
    assert tasks["mnist-cnn"].dataset == "mnist" and tasks["mnist-cnn"].sharings == (
        "dirichlet",
        "iid",
        "fleet",
    )
    hidden = tasks["synthetic"].parameters[0]
    assert (hidden.name, hidden.default, hidden.wanted) == ("hidden", 0, "a whole number from 0 to 4096")
    assert tasks["shakespeare-lstm"].metrics == ("accuracy", "loss", "perplexity")
    assert "handwritten digits" in repr(tasks) and "<table>" in tasks._repr_html_()


def test_devices_hold_their_samples_whoever_else_there_is() -> None:
    few, many = (ff.tasks.load("synthetic", devices=devices) for devices in (3, 12))
    assert (few.devices, few.classes, few.sample_shape) == (3, 10, (60,))
    for device in range(3):
        features, labels = few.device(device)
        assert features.dtype == np.float32 and labels.dtype == np.int64
        assert features.shape == (few.samples[device], 60) and labels.shape == (few.samples[device],)
        assert labels.min() >= 0 and labels.max() < 10
        np.testing.assert_array_equal(features, many.device(device)[0])
    other = ff.tasks.load("synthetic", devices=3, data_seed=2)
    assert not np.array_equal(other.device(0)[0][:5], few.device(0)[0][:5])
    features, labels = ff.tasks.load("synthetic", devices=3, test_samples_max=77).test()
    assert features.shape == (77, 60) and labels.shape == (77,)


def test_batches_go_through_the_samples_of_a_device_in_passes() -> None:
    task = ff.tasks.load("synthetic", devices=4, batch=8, steps=50)
    samples = int(task.samples[2])
    batches = task.batches(seed=1, round=3, device=2)
    assert len(batches) == 50 and all(batch.shape == (8,) for batch in batches)
    order = np.concatenate(batches)
    for start in range(0, len(order) - samples, samples):
        assert sorted(order[start : start + samples]) == list(range(samples))
    again = task.batches(seed=1, round=3, device=2)
    assert all(np.array_equal(batch, other) for batch, other in zip(batches, again, strict=True))
    assert not np.array_equal(batches[0], task.batches(seed=2, round=3, device=2)[0])
    assert not np.array_equal(batches[0], task.batches(seed=1, round=4, device=2)[0])


def test_a_twin_in_numpy_follows_the_native_kernels() -> None:
    task = ff.tasks.load("synthetic", devices=5, steps=20, learning_rate=0.05)
    model = task.initial_vector(seed=7)
    for device in range(5):
        arrays = task.initial(seed=7)
        weight, bias = (arrays[name].astype(np.float64) for name in ("fc.weight", "fc.bias"))
        features, labels = task.device(device)
        losses = []
        for picks in task.batches(seed=7, round=2, device=device):
            x, y = features[picks].astype(np.float64), labels[picks]
            chances = softmax(x @ weight.T + bias)
            losses.append(-np.mean(np.log(chances[np.arange(len(y)), y])))
            slope = (chances - np.eye(10)[y]) / len(y)
            weight -= 0.05 * slope.T @ x
            bias -= 0.05 * slope.sum(axis=0)
        update, loss = task.train(model, seed=7, round=2, device=device)
        assert loss == pytest.approx(np.mean(losses), rel=1e-5)
        moved = {name: array + arrays[name] for name, array in task.split(update).items()}
        np.testing.assert_allclose(moved["fc.weight"], weight, atol=2e-5)
        np.testing.assert_allclose(moved["fc.bias"], bias, atol=2e-5)


def test_evaluations_agree_with_numpy_and_with_a_run(short_run: Path) -> None:
    task = ff.tasks.load("synthetic", devices=100)
    arrays = task.initial(seed=11)
    features, labels = task.test()
    chances = softmax(features @ arrays["fc.weight"].T + arrays["fc.bias"])
    scores = task.evaluate(task.initial_vector(seed=11))
    assert scores["accuracy"] == np.mean(chances.argmax(axis=1) == labels)
    assert scores["loss"] == pytest.approx(
        -np.mean(np.log(chances[np.arange(len(labels)), labels])), rel=1e-5
    )
    lines = [json.loads(line) for line in (short_run / "records.jsonl").read_text().splitlines()]
    initial = next(line for line in lines if line["type"] == "initial")
    assert initial["metrics"] == scores
    np.testing.assert_array_equal(ff.Fleet(short_run / "fleet.csv").samples, task.samples)


def test_parameters_have_the_names_and_shapes_of_the_network() -> None:
    task = ff.tasks.load("synthetic", devices=2, hidden=32)
    assert task.parameters["fc1.weight"] == (32, 60) and set(task.trained.values()) == {True}
    flat = task.initial_vector(seed=1)
    assert flat.dtype == np.float32 and flat.shape == (61 * 32 + 33 * 10,)
    arrays = task.initial(seed=1)
    np.testing.assert_array_equal(np.concatenate([array.ravel() for array in arrays.values()]), flat)
    assert np.abs(arrays["fc1.weight"]).max() <= 1 / np.sqrt(60)
    assert not np.array_equal(flat, task.initial_vector(seed=2))
    assert repr(task).startswith("TaskData(synthetic: 2 devices with ") and "2282 parameters" in repr(task)


@pytest.mark.parametrize(
    ("arguments", "where", "value", "remedy"),
    [
        ({"name": "sintetic"}, "name", "sintetic", "did you mean synthetic?"),
        ({"name": "own"}, "name", "own", "read the files with numpy"),
        ({"name": 3}, "name", 3, "give text"),
        ({"hiden": 3}, "hiden", 3, "did you mean hidden?"),
        ({"hidden": -3}, "hidden", -3, "it must be a whole number from 0 to 4096"),
        ({"hidden": True}, "hidden", True, "it must be a whole number"),
        ({"hidden": "many"}, "hidden", "many", "it must be a whole number"),
        ({"model_spread": -1.0}, "model_spread", -1.0, "it must be a number from 0"),
        ({"devices": 0}, "devices", 0, "give a whole number from 1"),
        ({"sharing": "idd"}, "sharing", "idd", "did you mean iid?"),
        ({"sharing": "fleet"}, "samples", None, "give samples"),
        ({"learning_rate": -1.0}, "learning_rate", -1.0, ""),
        ({"batch": 100_000}, "batch", 100_000, ""),
        ({"data_seed": 0.5}, "data_seed", 0.5, "give a whole number"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], where: str, value: Any, remedy: str) -> None:
    with pytest.raises(ff.InputError) as refused:
        ff.tasks.load(**{"name": "synthetic", "devices": 3, **arguments})
    assert (refused.value.where, refused.value.value) == (where, value)
    assert refused.value.remedy.startswith(remedy)


def test_bad_devices_and_models_are_refused() -> None:
    task = ff.tasks.load("synthetic", devices=3)
    model = task.initial_vector(seed=1)
    for call in (
        lambda: task.device(3),
        lambda: task.batches(seed=1, round=1, device=3),
        lambda: task.train(model, seed=1, round=1, device=3),
    ):
        with pytest.raises(ff.InputError) as refused:
            call()
        assert (refused.value.where, refused.value.value) == ("device", 3)
    for wrong in (model[:-1], model.astype(np.float64), model.reshape(1, -1), "model"):
        with pytest.raises(ff.InputError) as refused:
            task.evaluate(wrong)  # type: ignore[arg-type]
        assert refused.value.where == "model"
    with pytest.raises(ff.InputError):
        task.split(model[:-1])
    with pytest.raises(ff.FedflipError):
        task.train(np.full_like(model, np.nan), seed=1, round=1, device=0)


def test_data_sets_are_listed_and_missing_ones_are_named(tmp_path: Path) -> None:
    sets = ff.datasets.available(data_dir=tmp_path)
    assert ff.datasets.names() == ("mnist", "fashion-mnist", "cifar10", "shakespeare")
    assert not any(entry.present for entry in sets.values())
    assert sets["cifar10"].folder == str(tmp_path / "cifar10") and "not here" in repr(sets)
    for call in (
        lambda: ff.datasets.load("mnist", data_dir=tmp_path),
        lambda: ff.tasks.load("mnist-cnn", devices=10, data_dir=tmp_path),
    ):
        with pytest.raises(ff.InputError) as refused:
            call()
        assert (refused.value.where, refused.value.value) == ("data_dir", str(tmp_path))
        assert "fedflip data get mnist" in refused.value.remedy
    with pytest.raises(ff.InputError) as refused:
        ff.datasets.load("minst")
    assert refused.value.remedy.startswith("did you mean mnist?")


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mnist"
    folder.mkdir()
    for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1"):
        (folder / f"{part}-ubyte").write_bytes(b"nothing")
    assert ff.datasets.available(data_dir=tmp_path)["mnist"].present
    with pytest.raises(ff.InputError, match="truncated") as refused:
        ff.datasets.load("mnist", data_dir=tmp_path)
    assert refused.value.where.startswith(str(folder))


def test_without_a_home_folder_data_sets_are_in_the_current_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME", "FEDFLIP_DATA"):
        monkeypatch.delenv(name, raising=False)
    # Tasks that need no data set do not ask for one.
    assert ff.tasks.load("synthetic", devices=3).devices == 3
    ff.simulate(ff.Scenario("synthetic"), rounds_max=1, progress=False)
    with pytest.raises(ff.InputError, match="fedflip-data"):
        ff.datasets.load("mnist")
