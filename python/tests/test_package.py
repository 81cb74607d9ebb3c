"""The package itself: what it asks for, how fast it is imported, what it shows and documents."""

from __future__ import annotations

import importlib.util
import inspect
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import fedflip
import pytest

# Above `import numpy`. Processor time is compared, because other processes take their share of the real time; the
# slack is for slow processors.
IMPORT_MS = 50
SLACK = 1.6
HEAVY = [
    "IPython",
    "flwr",
    "matplotlib",
    "multiprocessing",
    "pandas",
    "polars",
    "pyarrow",
    "ray",
    "rich",
    "torch",
    "tqdm",
]
# Values that another public name makes, whose example shows them.
MADE_BY = {
    "Allocation": "allocate",
    "Bound": "bound",
    "Comparison": "compare",
    "Farewell": "join",
    "LearnerReport": "check_learner",
    "Listening": "serve",
    "Pilot": "pilot",
    "RoundRecord": "simulate",
    "Sweep": "sweep",
}
# Other public names without an example of their own, and why.
REASONS = {
    "Crew": "a protocol for authors of crews; ProcessCrew has an example",
    "DivergedError": "it is raised by runs that diverge",
    "FedflipError": "a base class, which is never raised itself",
    "FlatLearner": "crews call it; users write a Learner",
    "InputError": "its fields are described, and every other example that fails shows it",
    "LearnerError": "it is raised by code of the user",
    "seed_torch": "it needs PyTorch; the docstring of TrainKey shows the use",
}
# Public names whose module needs PyTorch.
WITH_TORCH = ["TorchLearner"]


def python(code: str) -> str:
    """What a new process prints."""
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout


def distribution() -> metadata.Distribution:
    try:
        return metadata.distribution("fedflip")
    except metadata.PackageNotFoundError:
        pytest.skip("the package is not installed")


def public_names() -> list[str]:
    has_torch = importlib.util.find_spec("torch") is not None
    left_out = ["__version__", *([] if has_torch else WITH_TORCH)]
    return [name for name in fedflip.__all__ if name not in left_out]


def test_the_import_takes_little_longer_than_that_of_numpy(capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "from time import process_time as now\n"
        "start = now(); import numpy; numpy_there = now(); import fedflip; end = now()\n"
        "print(numpy_there - start, end - numpy_there)"
    )
    times = [[1e3 * float(word) for word in python(code).split()] for _ in range(7)]
    # The least: other programs on the machine only add to a time.
    numpy_ms, own_ms = (min(column) for column in zip(*times, strict=True))
    with capsys.disabled():
        print(
            f"\nimport numpy: {numpy_ms:.0f} ms; import fedflip: {own_ms:.0f} ms more (at most {IMPORT_MS})"
        )
    assert own_ms < IMPORT_MS * SLACK


def test_the_import_brings_no_heavy_modules() -> None:
    code = (
        "import json, sys, fedflip; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    )
    loaded = json.loads(python(code))
    assert [name for name in HEAVY if name in loaded] == []


def test_the_import_writes_nothing_and_warns_of_nothing() -> None:
    words = [sys.executable, "-W", "error", "-X", "dev", "-c", "import fedflip"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")


@pytest.mark.parametrize("adapter", ["_ray_crew", "_mpi_crew", "_executor_crew"])
def test_the_adapters_of_clusters_stay_below_150_lines(adapter: str) -> None:
    """What they share is in other modules, so that the next engine is as little work."""
    source = Path(fedflip.__file__).with_name(f"{adapter}.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 150


def test_numpy_is_all_that_is_required() -> None:
    required = [line for line in distribution().requires or [] if "extra ==" not in line]
    assert [line.split(">")[0].strip() for line in required] == ["numpy"]


def test_the_extras_are_those_that_are_promised() -> None:
    extras = distribution().metadata.get_all("Provides-Extra") or []
    assert sorted(extras) == ["all", "flower", "plot", "ray", "torch"]


def test_the_versions_of_package_extension_and_distribution_are_one() -> None:
    from fedflip import _fedflip

    assert fedflip.__version__ == _fedflip.__version__ == distribution().version


def test_the_package_says_that_it_is_typed() -> None:
    files = {str(path) for path in distribution().files or []}
    assert {"fedflip/py.typed", "fedflip/_fedflip.pyi"} <= files


def test_all_lists_every_public_name_in_order() -> None:
    assert fedflip.__all__ == sorted(fedflip.__all__)
    assert len(set(fedflip.__all__)) == len(fedflip.__all__)
    missing = [name for name in public_names() if not hasattr(fedflip, name)]
    assert missing == []

    def is_ours(name: str, value: Any) -> bool:
        if name.startswith("_") or name == "annotations":
            return False
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        return home.startswith("fedflip")

    forgotten = [name for name, value in vars(fedflip).items() if is_ours(name, value)]
    assert sorted(set(forgotten) - set(fedflip.__all__)) == []
    assert set(fedflip.__all__) <= set(dir(fedflip))


def has_example(name: str) -> bool:
    """Whether the docstring of the name, or of one of its members, has an example."""
    value = getattr(fedflip, name)
    if isinstance(value, ModuleType):
        members = [getattr(value, inner) for inner in value.__all__]
    elif inspect.isclass(value):
        members = [member for inner, member in vars(value).items() if not inner.startswith("_")]
    else:
        members = []
    return any(">>>" in (inspect.getdoc(one) or "") for one in [value, *members])


@pytest.mark.parametrize("name", public_names())
def test_every_public_name_is_documented_with_an_example(name: str) -> None:
    text = inspect.getdoc(getattr(fedflip, name)) or ""
    assert len(text.split()) >= 4, f"fedflip.{name} needs a docstring that says what it is for"
    shown = has_example(MADE_BY.get(name, name)) or name in REASONS
    assert shown, f"fedflip.{name} needs an example that starts with >>>, or a reason in this file"


@pytest.mark.parametrize("name", [*MADE_BY, *REASONS])
def test_every_excuse_is_needed(name: str) -> None:
    assert name in fedflip.__all__
    assert not has_example(name), f"fedflip.{name} has an example of its own: remove it from this file"


@pytest.mark.parametrize("name", public_names())
def test_every_public_member_is_documented(name: str) -> None:
    value = getattr(fedflip, name)
    if not inspect.isclass(value):
        return
    callables = (property, classmethod, staticmethod)
    members = {
        inner: member
        for inner, member in vars(value).items()
        if not inner.startswith("_") and (callable(member) or isinstance(member, callables))
    }
    silent = [inner for inner, member in members.items() if not inspect.getdoc(member)]
    assert silent == [], f"fedflip.{name} has members without a docstring"
