"""Every argument of every public function, with values that are wrong for it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import fedflip as ff
import numpy as np
from learners import Quadratic

HALF = "\ud800"
HUGE = 10**5000
# Values that are wrong for each kind of argument.
TEXT: list[Any] = [5, b"phone", ["a"], HALF]
PATH: list[Any] = [5, b"folder", 1.5, object(), HALF, "a\0b", True]
NUMBER: list[Any] = ["2", True, 1j, [1.0], 10**400, np.ones(2)]
COUNT: list[Any] = ["2", 1.5, -1, True, 2**64, HUGE, [3]]
FLAG: list[Any] = [1, "yes", 0.0, np.ones(2)]
FUNCTION: list[Any] = [5, "print", []]
EVENT: list[Any] = [5, True, "stop"]
FLEET: list[Any] = [
    5,
    HALF,
    object(),
    {"compute_secs": [1.0]},
    {"compute_secs": [1.0], "comm_secs": [1.0], "samples": ["x"]},
]
COSTS = {
    "bandwidth_mbps": [*NUMBER, -1],
    "overhead_secs": [*NUMBER, None, -1],
    "spectrum_mhz": [*NUMBER, 0],
    "downlink": [*TEXT, None, "brodcast"],
    "downlink_bandwidth_mbps": NUMBER,
    "downlink_ratio": [*NUMBER, None],
}
GOAL = {
    "alpha": NUMBER,
    "beta": NUMBER,
    "pilots": [5, "13:full", [5], [HALF], ["13"], [(1, 2, 3)], [("2", "full")], [f"13:{HALF}"]],
    "seed": [*COUNT, None],
    "draws": [*COUNT, 1],
}
# The arguments that simulate, compare and pilot share.
SHARED = {
    "fleet": FLEET,
    "stop": [5, "accuracy", {"accuracy": 0.5}],
    "seed": [-1, 1.5, "2", True, 2**63, HUGE, HALF, [1]],
    "threads": [*COUNT, 0, 5000],
    "workers": [5, "threads", True, HALF],
    "crew": [5, "threads"],
    "out": PATH,
    "resume": [*FLAG, None],
    "callbacks": [5, "f", [5], [print, "f"], None],
    "progress": [*FLAG, None],
    "data_dir": PATH,
    "timeout_secs": [*NUMBER, 0, -1, float("nan"), float("inf")],
    "keys": [{"rounds_max": 0}, {"rounds_max": "many"}, {"rounds_max": HUGE}, {"scheme": HALF}, {"train": 5}],
}


class Case(NamedTuple):
    """A public function with right arguments, wrong values of each argument, and arguments that take anything."""

    call: Callable[..., Any]
    right: dict[str, Any]
    wrong: dict[str, list[Any]]
    #: Arguments for which no value is wrong, and why.
    anything: dict[str, str] = {}


def draw(round: int, seed: int, fleet: ff.Fleet) -> Any:
    return [0], [1.0]


FOLDER = tempfile.TemporaryDirectory(prefix="fedflip-tests-")
AUTHORITY = ff.certs.create(f"{FOLDER.name}/certs")
AUTHORITY.issue("phone")
FLEET3 = ff.Fleet.paper(3, seed=1)
PLAN3 = ff.plan(FLEET3, bandwidth_mbps=10)
TASK = ff.tasks.load("synthetic", devices=3)
MODEL = TASK.initial_vector(seed=1)
RUN = ff.simulate(ff.Scenario("synthetic"), plan="full", rounds_max=2, seed=1, progress=False)
#: What comparisons and sweeps share.
STUDIED: dict[str, list[Any]] = {
    **SHARED,
    "schemes": [5, "full", [], [5], [HALF], ["exat"], ["full", "full"], ["full", None]],
    "seeds": [*COUNT, 0, None],
    "reference": [5, "exat", HALF, "auto", draw],
    "pilots": [*FLAG, None],
    "give_up": [*NUMBER, 0, -1],
    "shard": [5, "01", (1,), (0, 1, 2), (3, 3), (-1, 3), (0, 0), (0, 1.5), ("0", "3"), (True, 2), (0, HUGE)],
}
#: What the crews of clusters share.
CLUSTER: dict[str, list[Any]] = {
    "mixed": [*FLAG, None],
    "join_secs": [*NUMBER, None, 0, -1, float("nan"), float("inf")],
}
COMPARED = {
    "work": Quadratic(),
    "schemes": ["full"],
    "seeds": 1,
    "stop": ff.Stop("loss", at=6.5),
    "progress": False,
}
COMPARISON = ff.compare(**COMPARED, rounds_max=2)
KEY = {"seed": 1, "round": 1, "device": 0}
JOINED = {
    "address": "127.0.0.1:9",
    "insecure": True,
    "name": "phone",
    "give_up_secs": 0.0,
    "learner": Quadratic(),
}
SERVED = {
    "scenario": "external",
    "out": "served",
    "initial": Quadratic(),
    "insecure": True,
    "progress": False,
    "update_norm_max": 1.0,
}
MATRIX: list[Any] = ["model", 5, None, MODEL[:-1], MODEL.astype(np.float64), MODEL.reshape(1, -1)]

CASES: dict[str, Case] = {
    "Fleet": Case(ff.Fleet, {}, {"source": FLEET}),
    "Fleet.paper": Case(
        ff.Fleet.paper,
        {"devices": 3},
        {
            "devices": [*COUNT, 0, None],
            "seed": [*COUNT, None],
            "profile": [*TEXT, "papr"],
            "payload_mbit": [*NUMBER, -1],
            "compute_gflop": NUMBER,
            "samples_total": COUNT,
            "concentration": [*NUMBER, -1],
        },
    ),
    "Fleet.with_samples": Case(
        FLEET3.with_samples, {}, {"samples": [5, "x", [1, 2], ["a", "b", "c"], [1, None, 2]]}
    ),
    "Fleet.to_csv": Case(FLEET3.to_csv, {}, {"path": PATH}),
    "plan": Case(
        ff.plan,
        {"fleet": FLEET3, "bandwidth_mbps": 10},
        {
            "fleet": FLEET,
            **COSTS,
            **GOAL,
            "scheme": [*TEXT, "exat"],
            "variance": [*NUMBER, 0.0],
            "step_secs": [*NUMBER, 1.0],
        },
    ),
    "Plan.from_q": Case(
        ff.Plan.from_q,
        {"fleet": FLEET3, "q": [0.5] * 3, "bandwidth_mbps": 10},
        {
            "fleet": FLEET,
            "q": [5, "x", ["a"] * 3, [0.5], [2.0] * 3, [[1.0], [1.0, 2.0]], [1j] * 3, None],
            **COSTS,
            **GOAL,
        },
    ),
    "Plan.sample": Case(PLAN3.sample, {"round": 1, "seed": 1}, {"round": [*COUNT, 0], "seed": COUNT}),
    "Plan.explain": Case(PLAN3.explain, {}, {"devices": FLAG}),
    "Plan.to_csv": Case(PLAN3.to_csv, {}, {"path": PATH}),
    "allocate": Case(
        ff.allocate,
        {"fleet": FLEET3, "cohort": [0], "bandwidth_mbps": 10},
        {
            "fleet": FLEET,
            "cohort": [5, "0", [3], [-1], [1.5], [True], [HALF], ["nobody"], [0, 0], [HUGE]],
            "bandwidth_mbps": [*NUMBER, 0, None],
            "spectrum_mhz": [*NUMBER, 5],
            "equal": FLAG,
        },
    ),
    "bound": Case(
        ff.bound,
        {
            "fleet": FLEET3,
            "learning_rate": 0.001,
            "smoothness": 1,
            "divergence": 0.5,
            "gradient_variance": 0.5,
            "initial_gap": 2.3,
            "rounds": 200,
        },
        {
            "fleet": FLEET,
            **{name: [*NUMBER, -1, None] for name in ("learning_rate", "smoothness", "initial_gap")},
            **{name: [*NUMBER, -1, None] for name in ("divergence", "gradient_variance")},
            "rounds": [*NUMBER, -1],
            "threshold": [*NUMBER, -1],
            "p": [*NUMBER, -1],
            "scheme": [*TEXT, "ful"],
            "bandwidth_mbps": NUMBER,
            "variance": NUMBER,
        },
    ),
    "Scenario": Case(
        lambda task_or_path="synthetic", **keys: ff.Scenario(task_or_path, **keys),
        {},
        {
            "task_or_path": [5, None, b"synthetic", HALF, "a\0b", "sinthetic", "nowhere.toml"],
            "keys": [
                *SHARED["keys"],
                *({"seed": value} for value in SHARED["seed"]),
                {"batsh": 3},
                {"train": {"batsh": 3}},
                {"train": {5: 3}},
                {"train": {HALF: 3}},
                {HALF: 3},
                {"momentum": 0.5},
                {"rounds_max": None},
                {"rounds_max": object()},
                {"types": [HALF]},
                {"types": {"a": 1}},
                {"epochs": 1, "iterations": 3},
                {"concentration": 0.5},
                {"target_accuracy": 3},
                {"settings": {HALF: 1}},
            ],
        },
    ),
    "Scenario.with_keys": Case(ff.Scenario("synthetic").with_keys, {}, {"keys": SHARED["keys"]}),
    "Scenario.fleet": Case(ff.Scenario("synthetic").fleet, {}, {"data_dir": PATH}),
    "Scenario.__getitem__": Case(
        lambda key: ff.Scenario("synthetic")[key], {}, {"key": [5, HALF, None, "train.batsh"]}
    ),
    "Scheme": Case(
        ff.Scheme,
        {"draw": draw},
        {
            "draw": [5, None, "full"],
            "name": [*TEXT, "a b"],
            "q": [5, "x", ["a"], [0.0], [[0.5]], [1j]],
            "unbiased": FLAG,
        },
    ),
    "Stop": Case(
        ff.Stop,
        {"metric": "loss", "at": 1.0},
        {"metric": [*TEXT, "", None], "at": [*NUMBER, None, float("nan")], "mode": [5, "up", HALF]},
    ),
    "Table": Case(
        ff.Table,
        {},
        {
            "columns": [
                5,
                [1],
                {"a": 5},
                {"a": [HALF]},
                {HALF: [1]},
                {"a": [object()]},
                {"a": [[1], [1, 2]]},
                {"a": [2**64]},
                {"a": np.array([2**63], np.uint64)},
            ]
        },
    ),
    "simulate": Case(
        ff.simulate,
        {"work": Quadratic(), "progress": False},
        {"work": [5, None, "synthetic", Quadratic], **SHARED, "plan": [5, "exat", HALF, [], FLEET3]},
    ),
    "simulate a scenario": Case(
        ff.simulate,
        {"work": ff.Scenario("synthetic"), "progress": False},
        {
            **SHARED,
            "plan": [5, "exat", HALF],
            # Nobody can end a thread.
            "timeout_secs": [*SHARED["timeout_secs"], 3.0],
        },
        {"work": "it is above"},
    ),
    "compare": Case(
        ff.compare,
        COMPARED,
        {
            "work": [5, None, "synthetic"],
            **STUDIED,
        },
    ),
    "sweep": Case(
        ff.sweep,
        {**COMPARED, "over": {"bandwidth_mbps": [10]}},
        {
            "work": [5, None],
            "over": [5, {}, [], {"seed": []}, {"seed": "12"}, {"seed": 5}, {HALF: [1]}, {5: [1]}],
            **STUDIED,
            "keys": [*SHARED["keys"], {"bandwidth_mbps": 5}, {"rounds_mx": 3}],
        },
    ),
    "pilot": Case(
        ff.pilot,
        {"work": Quadratic(), "pilot": {"loss": 7.0}, "progress": False},
        {"work": [5, None], **{name: values for name, values in SHARED.items() if name != "stop"}},
    ),
    "serve": Case(
        ff.serve,
        SERVED,
        {
            "scenario": [5, None, HALF, "a\0b", "sinthetic"],
            "out": [*PATH, None],
            "initial": [5, HALF, "a\0b", {"w": 5}, {"w": np.zeros(2)}, {5: np.zeros(2, np.float32)}],
            "evaluate": FUNCTION,
            "stop": [5, "loss", {"rounds_max": 0}, {HALF: 1}],
            "address": [*TEXT, "nowhere"],
            "certs": [5, HALF, "there"],
            "insecure": [*FLAG, None],
            "pilots": FLAG,
            "devices_min": COUNT,
            "devices_max": COUNT,
            "samples_max": [*COUNT, None],
            "replan_every": [*COUNT, None],
            "window_secs": [*NUMBER, None],
            "quorum": [*NUMBER, None],
            "metrics": [*TEXT, "nowhere"],
            "metrics_public": FLAG,
            "dashboard": [-1, 1.5, True, 70_000, b"0", HALF, "nowhere"],
            "dashboard_public": FLAG,
            "threads": [*COUNT, 0],
            "data_dir": PATH,
            "callbacks": SHARED["callbacks"],
            "progress": FLAG,
            "ready": FUNCTION,
            "until": EVENT,
            "keys": [
                {"rounds_max": 0},
                {"seed": -1},
                {"batsh": 1},
                {"update_norm_max": None},
                {"scheme": "exat"},
            ],
        },
    ),
    "join": Case(
        ff.join,
        JOINED,
        {
            "address": [*TEXT, None, "nowhere"],
            "identity": [5, HALF, b"x"],
            "learner": [5, "learner", Quadratic],
            "insecure": [*FLAG, None],
            "name": [*TEXT, "a b"],
            "data": [5, [5], HALF, [HALF], "x.npz", None],
            "data_dir": PATH,
            "save_model": PATH,
            "give_up_secs": [*NUMBER, -1],
            "compute_secs": [*NUMBER, -1, None],
            "timeout_secs": [*NUMBER, 0],
            "device": [*COUNT, 20],
            "on_error": [5, "ignore", None, HALF],
            "stop": EVENT,
        },
    ),
    "open": Case(ff.open, {}, {"folder": [*PATH, None, "nowhere"]}),
    "Run.times": Case(RUN.times, {}, {"rounds": [0, 3, "1", True, 1.5, [0], ["a"], -1, HUGE]}),
    "Run.save": Case(RUN.save, {}, {"path": [*PATH, None, "model.pt"]}),
    "Run.report": Case(
        RUN.report,
        {"path": "report.html"},
        {
            "path": [*PATH, None, "report.docx"],
            "format": [5, "htm", HALF],
            "title": TEXT,
            "round": [*COUNT, 0, 9],
            "target": [*TEXT, "loss", "los=0.5"],
        },
    ),
    "Run.plot": Case(RUN.plot, {}, {"metric": [5, "acuracy", HALF], "ax": [5, "ax"]}),
    "Comparison.plot": Case(COMPARISON.plot, {}, {"metric": [5, "los", HALF], "ax": [5, "ax"]}),
    "Comparison.report": Case(
        COMPARISON.report,
        {"path": "report.html"},
        {
            "path": [*PATH, None, "report.docx"],
            "format": [5, "htm", HALF],
            "title": TEXT,
            "reference": [*TEXT, "auto-"],
            "round": [*COUNT, 0],
            "target": [*TEXT, "loss", "los=0.5"],
        },
    ),
    "TrainKey.stream_seed": Case(ff.TrainKey(1, 1, 0).stream_seed, {}, {"purpose": [*TEXT, None]}),
    "TrainKey.numpy_generator": Case(ff.TrainKey(1, 1, 0).numpy_generator, {}, {"purpose": [*TEXT, None]}),
    "check_learner": Case(
        ff.check_learner,
        {"learner": Quadratic(), "processes": False},
        {"key": [5, (1, 1, 0)], "processes": FLAG},
        {"learner": "the report says what is wrong with it"},
    ),
    "FlatLearner": Case(
        ff.FlatLearner,
        {"learner": Quadratic()},
        {"learner": [5, None, "x", Quadratic], "timeout_secs": SHARED["timeout_secs"]},
    ),
    "ProcessCrew": Case(
        ff.ProcessCrew,
        {},
        {
            "workers": [*COUNT, 0, 2000],
            "timeout_secs": SHARED["timeout_secs"],
            "start_method": [5, "fork", HALF],
        },
    ),
    "ProcessCrew.open": Case(
        ff.ProcessCrew(1).open,
        {"work": ff.FlatLearner(Quadratic())},
        {"work": [5, None, Quadratic()], "environment": [5, ["A"], {"A": 5}, {5: "A"}, {"A": HALF}]},
    ),
    "RayCrew": Case(
        ff.RayCrew,
        {},
        {
            "num_workers": [*COUNT, 0],
            "num_cpus": [*NUMBER, None, -1],
            "num_gpus": [*NUMBER, None, -1],
            "address": TEXT,
            "resources": [5, ["disk"], {"disk": "1"}, {"disk": -1}, {5: 1}],
            **CLUSTER,
        },
    ),
    "MpiCrew": Case(ff.MpiCrew, {}, CLUSTER),
    "ExecutorCrew": Case(
        ff.ExecutorCrew,
        {"executor": draw, "workers": 1},
        {"executor": [5, None, "dask"], "workers": [*COUNT, 0, None], **CLUSTER},
    ),
    "certs.create": Case(
        ff.certs.create,
        {"folder": "certs"},
        {
            "folder": [*PATH, None],
            "hosts": [5, [5], [HALF], "a b", None],
            "days": [*COUNT, 0, 3651, None],
        },
    ),
    "certs.open": Case(ff.certs.open, {}, {"folder": [*PATH, None, "nowhere"]}),
    "certs.Authority": Case(ff.certs.Authority, {}, {"folder": [*PATH, None, "nowhere"]}),
    "certs.Authority.issue": Case(
        lambda names, days=365: AUTHORITY.issue(names, days=days),
        {"names": "laptop"},
        {"names": [*TEXT, None, "phone", "a b"], "days": [*COUNT, 0, 3651, None]},
    ),
    "certs.Authority.renew": Case(
        lambda names, days=365: AUTHORITY.renew(names, days=days),
        {"names": "phone"},
        {"names": [*TEXT, None, "phon"], "days": [*COUNT, 0, 3651, None]},
    ),
    "certs.Authority.renew_server": Case(
        AUTHORITY.renew_server, {}, {"hosts": [5, [5], [HALF], "a b"], "days": [*COUNT, 0, 3651, None]}
    ),
    "certs.Authority.revoke": Case(AUTHORITY.revoke, {}, {"name": [*TEXT, None, "phon"]}),
    "datasets.available": Case(ff.datasets.available, {}, {"data_dir": PATH}),
    "datasets.load": Case(
        ff.datasets.load, {"name": "mnist"}, {"name": [*TEXT, None, "minst"], "data_dir": [*PATH, "nowhere"]}
    ),
    "tasks.load": Case(
        ff.tasks.load,
        {"name": "synthetic", "devices": 3},
        {
            "name": [*TEXT, None, "sintetic"],
            "devices": [*COUNT, 0],
            "sharing": [*TEXT, "idd"],
            "concentration": NUMBER,
            "samples_min": COUNT,
            "samples": [5, "x", [1.5], ["a"], [-1], [HUGE]],
            "data_seed": COUNT,
            "test_samples_max": [*COUNT, 0],
            "batch": [*COUNT, 0],
            "steps": [*COUNT, 0],
            "learning_rate": [*NUMBER, -1.0],
            "data_dir": PATH,
            "parameters": [{"hiden": 3}, {"hidden": -3}, {"hidden": HALF}, {HALF: 3}],
        },
    ),
    "TaskData.device": Case(TASK.device, {}, {"device": [*COUNT, 3]}),
    "TaskData.initial": Case(TASK.initial, {}, {"seed": COUNT}),
    "TaskData.initial_vector": Case(TASK.initial_vector, {}, {"seed": COUNT}),
    "TaskData.split": Case(TASK.split, {}, {"model": MATRIX}),
    "TaskData.batches": Case(TASK.batches, KEY, {"seed": COUNT, "round": COUNT, "device": [*COUNT, 3]}),
    "TaskData.train": Case(
        TASK.train,
        {"model": MODEL, **KEY},
        {"model": MATRIX, "seed": COUNT, "round": COUNT, "device": [*COUNT, 3]},
    ),
    "TaskData.evaluate": Case(TASK.evaluate, {}, {"model": MATRIX}),
    "plots.accuracy": Case(
        ff.plots.accuracy,
        {"runs": RUN},
        {
            "runs": [5, "run", [], [5], {"a": 5}, {}],
            "metric": [5, "acuracy", HALF],
            "center": [5, "men", None],
            "band": [5, "rang", None],
            "target": [*FLAG, None],
            "ax": [5, "ax"],
        },
    ),
    "plots.participation": Case(
        ff.plots.participation,
        {"run": RUN},
        {"run": [5, None], "confidence": [*NUMBER, 0, 1, 2, None], "ax": [5]},
    ),
    "plots.timeline": Case(
        ff.plots.timeline,
        {"run": RUN},
        {"run": [5, None], "rounds": [0, 3, "1", True, 1.5, [0], ["a"], []], "ax": [5]},
    ),
    "plots.plan": Case(ff.plots.plan, {"plan": PLAN3}, {"plan": [5, None, FLEET3], "ax": [5]}),
    "plots.fleet": Case(ff.plots.fleet, {"fleet": FLEET3}, {"fleet": [5, None, PLAN3], "ax": [5]}),
}

if find_spec("torch") is not None:
    import torch

    NET = ff.TorchLearner(
        lambda: torch.nn.Linear(2, 1),
        [torch.utils.data.TensorDataset(torch.ones(3, 2), torch.ones(3, 1))],
        torch.nn.MSELoss(),
        steps=1,
        batch=1,
        lr=0.1,
        device="cpu",
    )
    FLAT = NET.initial(seed=1)
    NAMED = {"bias": np.ones(1, np.float32), "weight": np.ones((1, 2), np.float32)}
    # A model of one number would fit every place, if numpy were asked.
    TORCH_MODEL: list[Any] = [
        "model", 5, None, FLAT[:-1], np.array([7.0]), np.float32(7.0), np.ones(1, np.float32), FLAT.astype(np.float64),
        FLAT.astype(np.int64), FLAT.reshape(1, -1), FLAT.tolist(), {}, {**NAMED, "bias": np.ones(2, np.float32)},
        {**NAMED, "bias": np.ones(1, np.int64)}, {**NAMED, "bias": np.ones(1, np.complex64)}, {**NAMED, "bias": "one"},
        {**NAMED, "bias": None},
    ]  # fmt: skip
    CASES |= {
        "TorchLearner.state_dict": Case(NET.state_dict, {}, {"model": TORCH_MODEL}),
        "TorchLearner.model_of": Case(NET.model_of, {}, {"module": TORCH_MODEL}),
        "TorchLearner.train": Case(
            NET.train,
            {"model": FLAT, "key": ff.TrainKey(1, 1, 0)},
            {"model": [NAMED, *TORCH_MODEL]},
            {"key": "test_learner.py tries keys"},
        ),
    }
# Public names that are not called, or whose arguments other tests try, and why.
ELSEWHERE = {
    "Allocation": "allocate makes it",
    "Bound": "bound makes it",
    "Crew": "a protocol",
    "DivergedError": "learners raise it",
    "Farewell": "join makes it",
    "FedflipError": "an exception",
    "InputError": "an exception",
    "Learner": "a protocol",
    "LearnerError": "an exception",
    "LearnerReport": "check_learner makes it",
    "Listening": "serve makes it",
    "Pilot": "pilot makes it",
    "RoundRecord": "runs make it",
    "Sweep": "sweep makes it",
    "FlatLearner.evaluate": "crews call it",
    "FlatLearner.initial": "crews call it",
    "FlatLearner.loss": "crews call it",
    "FlatLearner.relative_cost": "crews call it",
    "FlatLearner.samples": "crews call it",
    "FlatLearner.train": "crews call it",
    "ProcessCrew.evaluate": "test_process_crew.py tries it",
    "ProcessCrew.losses": "test_process_crew.py tries it",
    "ProcessCrew.train": "test_process_crew.py tries it",
    "Scheme.draw": "the native code calls it",
    "Scheme.observe": "the native code calls it",
    "Scheme.q": "the native code calls it",
    "Stop.keys": "runs call it",
    "TrainKey.torch_generator": "test_learner.py tries it",
    "schemes": "it has no arguments",
    "seed_torch": "test_learner.py tries it",
}
# Where an error is about another argument, or about a key that an argument sets.
ALSO: dict[tuple[str, str], tuple[str, ...]] = {
    ("Scenario", "task_or_path"): ("task.name", "nowhere.toml"),
    ("serve", "scenario"): ("task.name",),
    ("certs.Authority.revoke", "name"): ("names",),
    ("Scenario.__getitem__", "key"): ("train.batsh",),
}
