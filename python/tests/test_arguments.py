"""Wrong values of every argument of every public function: each is an InputError with place, value and remedy."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import fedflip as ff
import numpy as np
import pytest
from argument_cases import ALSO, CASES, ELSEWHERE

FLAT = [
    pytest.param(name, argument, value, id=f"{name}-{argument}-{place}")
    for name, case in CASES.items()
    for argument, values in case.wrong.items()
    for place, value in enumerate(values)
]


@pytest.mark.parametrize(("name", "argument", "value"), FLAT)
def test_a_wrong_value_is_an_error_with_place_value_and_remedy(
    name: str, argument: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = CASES[name]
    monkeypatch.chdir(tmp_path)
    is_key = argument in ("keys", "arguments", "parameters")
    with pytest.raises(ff.InputError) as caught:
        # Keys are arguments of their own.
        case.call(**{**case.right, **(value if is_key else {argument: value})})
    error = caught.value
    assert error.where and error.remedy and error.problem, repr(error)
    str(error).encode()
    if not is_key:
        begins = ("source", "compute_secs", "comm_secs", "samples") if argument in ("fleet", "source") else ()
        assert error.where.startswith((argument, *ALSO.get((name, argument), ()), *begins)), error.where
    assert is_named(error.value, value), error.value
    assert list(tmp_path.iterdir()) == [], "nothing is written"


def is_named(found: Any, given: Any) -> bool:
    """Whether the value in an error is the one that was given, a part of it, or its shape or length."""
    parts = [*given, *given.values()] if isinstance(given, dict) else given
    if found is given or (type(found) is not np.ndarray and type(given) is not np.ndarray and found == given):
        return True
    if isinstance(given, (list, tuple, dict)) and any(is_named(found, part) for part in parts):
        return True
    sizes = [np.shape(given), len(given)] if isinstance(given, (list, np.ndarray)) else [()]
    if type(found) is np.ndarray:
        return isinstance(given, dict) and any(found is part for part in given.values())
    return found in [*sizes, [given]] or (isinstance(given, dict) and found == list(given))


@pytest.mark.parametrize("name", CASES)
def test_every_argument_is_tried(name: str) -> None:
    case = CASES[name]
    asked = set(inspect.signature(case.call).parameters)
    assert asked - set(case.wrong) - set(case.anything) == set()
    assert set(case.wrong) - asked == set(), "the table names arguments that are not there"


def public_functions() -> list[str]:
    """The names of all functions and methods that take arguments, with the class or module."""
    found = []
    # TorchLearner cannot be imported without PyTorch; test_torch_learner.py tries its arguments.
    for name in sorted({*ff.__all__} - {"TorchLearner", "__version__"}):
        value = getattr(ff, name)
        if isinstance(value, ModuleType):
            functions = {inner: getattr(value, inner) for inner in value.__all__}
            found += [f"{name}.{inner}" for inner, one in functions.items() if inspect.isfunction(one)]
        elif inspect.isclass(value):
            members = {inner: one for inner, one in vars(value).items() if not inner.startswith("_")}
            found += [f"{name}.{inner}" for inner, one in members.items() if inspect.isfunction(one)]
        else:
            found.append(name)
    return found


def test_every_public_function_is_tried() -> None:
    def has_arguments(name: str) -> bool:
        value: Any = ff
        for part in name.split("."):
            value = getattr(value, part)
        return not callable(value) or bool(set(inspect.signature(value).parameters) - {"self"})

    left_out = [name for name in public_functions() if name not in CASES and has_arguments(name)]
    excused = [name for name in left_out if name in ELSEWHERE or name.partition(".")[0] in ELSEWHERE]
    assert sorted(set(left_out) - set(excused)) == []
    unneeded = [name for name in ELSEWHERE if name in CASES or not hasattr(ff, name.partition(".")[0])]
    assert unneeded == []
