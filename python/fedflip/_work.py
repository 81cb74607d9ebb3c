"""What to train, with everything that belongs to it: scenario, fleet, plan, learner and workers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._fleet import Fleet
from fedflip._plan import Plan
from fedflip._scenario import Scenario, _overrides
from fedflip._scheme import Scheme
from fedflip._stop import Stop

__all__ = ["Work"]


class Work:
    """The arguments that ``simulate``, ``compare``, ``sweep`` and ``pilot`` share, checked and ready.

    Attributes:
        scenario: The scenario for the native code.
        native: The further arguments of the native functions.
    """

    def __init__(
        self,
        work: Any,
        *,
        fleet: Any = None,
        plan: Any = None,
        stop: Stop | None = None,
        seed: int | None = None,
        workers: Any = None,
        crew: Any = None,
        threads: int | None = None,
        timeout_secs: float | None = None,
        data_dir: str | os.PathLike[str] | None = None,
        keys: Mapping[str, Any],
    ) -> None:
        from fedflip._process_parcel import refuse_in_worker

        refuse_in_worker()
        self._stack = ExitStack()
        self.native: dict[str, Any] = {}
        settings: dict[str, Any] = dict(keys)
        if seed is not None:
            settings["seed"] = seed
        _check_types(stop, threads)
        if isinstance(plan, str):
            settings["scheme"], plan = plan, None
        overrides = list(_overrides(settings))
        if isinstance(plan, Plan):
            _refuse_beside_plan(overrides, plan)
        memory: dict[str, Any] = {}
        if isinstance(plan, Plan):
            self.native["plan"] = memory["plan"] = plan._native
            fleet = plan.fleet if fleet is None else fleet
        elif plan is not None:
            scheme = plan if isinstance(plan, Scheme) else Scheme(plan)
            self.native["scheme"] = memory["scheme"] = scheme._native
        if fleet is not None:
            fleet = fleet if isinstance(fleet, Fleet) else Fleet(fleet)
            memory["fleet"] = fleet._native
        try:
            if isinstance(work, Scenario):
                crews = self._crews((workers, crew, threads, timeout_secs), data_dir)
                if crews is not None:
                    self.native["crews"] = crews
                source = (work._task, work._path)
                overrides = [*work._overrides, *overrides]
                # The native metrics have directions of their own.
                target = {} if stop is None else {"metric": stop.metric, "at": stop.at, "mode": stop.mode}
                overrides += _overrides({key: value for key, value in target.items() if value is not None})
            else:
                source = ("external", None)
                trainer = self._trainer(work, fleet, plan, (workers, crew, threads, timeout_secs))
                self.native["trainer"] = memory["trainer"] = trainer
                overrides += _overrides({} if stop is None else stop.keys(self.metrics))
                if fleet is None and not any(text.startswith("fleet.devices=") for text in overrides):
                    overrides.insert(0, f"fleet.devices={self.devices}")
            self.scenario = _fedflip.Scenario.resolve(*source, overrides, **memory)
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Work:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _crews(
        self, how: tuple[Any, Any, int | None, float | None], data_dir: str | os.PathLike[str] | None
    ) -> _fedflip.Crews | None:
        """The workers of a native task; none if threads of this process train it."""
        from fedflip._native_learner import opener

        workers, crew, threads, timeout_secs = how
        asked = _only_one(workers, crew)
        if asked is None:
            if timeout_secs is not None:
                raise InputError(
                    f"timeout_secs is {timeout_secs!r}, but native tasks train in threads of this process",
                    where="timeout_secs",
                    value=timeout_secs,
                    remedy="leave timeout_secs out, or train in processes, which can be ended: workers='process'",
                )
            return None
        ready = self._crew(asked, threads, timeout_secs)
        self._stack.callback(ready.close)
        folder = None if data_dir is None else os.path.abspath(data_dir)
        return _fedflip.Crews(ready, opener(ready, folder))

    def _trainer(
        self, learner: Any, fleet: Fleet | None, plan: Any, how: tuple[Any, Any, int | None, float | None]
    ) -> _fedflip.Trainer:
        from fedflip._learner import FlatLearner

        if isinstance(learner, str):
            raise InputError(
                f"work is the text {learner!r}",
                where="work",
                value=learner,
                remedy=f"write ff.Scenario({learner!r}) for a built-in task",
            )
        workers, crew, threads, timeout_secs = how
        asked = _only_one(workers, crew)
        flat = FlatLearner(learner, timeout_secs=timeout_secs)
        self.devices = flat.devices
        if fleet is not None and len(fleet) != flat.devices:
            raise InputError(
                f"the fleet has {len(fleet)} devices, but the learner has data of {flat.devices}",
                where="fleet",
                value=len(fleet),
                remedy="give one dataset for each device of the fleet",
            )
        if isinstance(plan, Plan):
            self._check_samples(flat, plan)
        ready = self._crew(asked, threads, timeout_secs)
        ready.open(flat)
        self._stack.callback(ready.close)
        self.metrics = flat.metrics
        return _fedflip.Trainer(flat, ready, list(self.metrics.items()))

    @staticmethod
    def _check_samples(flat: Any, plan: Plan) -> None:
        held = np.array([flat.samples(device) for device in range(flat.devices)], dtype=np.float64)
        planned = np.asarray(plan.fleet.samples)
        wrong = np.flatnonzero(held != planned)
        if wrong.size:
            device = int(wrong[0])
            raise InputError(
                f"the plan is for a fleet whose device {device} has {planned[device]:g} samples, but the learner has "
                f"{held[device]:g} there",
                where="plan",
                value=float(planned[device]),
                remedy="plan for a fleet with the learner's numbers of samples: fleet.with_samples([...])",
            )

    @staticmethod
    def _crew(workers: Any, threads: int | None, timeout_secs: float | None) -> Any:
        if workers is None:
            from fedflip._crew import InlineCrew

            return InlineCrew()
        if isinstance(workers, str):
            if workers != "process":
                raise InputError(
                    f"workers is {workers!r}",
                    where="workers",
                    value=workers,
                    remedy="write workers='process', or leave it out to train in this process",
                )
            from fedflip._process_crew import ProcessCrew

            return ProcessCrew(threads, timeout_secs=timeout_secs)
        missing = [
            name for name in ("open", "train", "next", "evaluate", "close") if not hasattr(workers, name)
        ]
        if missing:
            raise InputError(
                f"workers is {workers!r}, which has no method {missing[0]}",
                where="workers",
                value=workers,
                remedy="write workers='process', or give an object with the methods of fedflip.Crew",
            )
        return workers


def _only_one(workers: Any, crew: Any) -> Any:
    """The one of the two arguments that is given."""
    if workers is not None and crew is not None:
        raise InputError(
            f"workers is {workers!r} beside crew={crew!r}",
            where="workers",
            value=workers,
            remedy="leave out one of the two",
        )
    return workers if crew is None else crew


def _check_types(stop: Any, threads: Any) -> None:
    if stop is not None and not isinstance(stop, Stop):
        raise InputError(
            f"stop is {stop!r}, which is not a Stop",
            where="stop",
            value=stop,
            remedy="write stop=ff.Stop('accuracy', at=0.9)",
        )
    whole = isinstance(threads, (int, np.integer)) and not isinstance(threads, bool)
    if threads is not None and not (whole and 1 <= threads <= 4096):
        raise InputError(
            f"threads is {threads!r}; it must be a whole number from 1 to 4096",
            where="threads",
            value=threads,
            remedy="leave threads out to use all processors",
        )


def _refuse_beside_plan(overrides: list[str], plan: Plan) -> None:
    """A plan has a scheme, constants, a bandwidth and costs of its own; a bandwidth that is the same does no harm."""
    same = f"fleet.bandwidth_mbps={plan.bandwidth_mbps}"
    for text in overrides:
        key, _, value = text.partition("=")
        if key in _PLANNED and text not in (same, same.removesuffix(".0")):
            raise InputError(
                f"{key} is given beside a plan, which was made for its own",
                where=key,
                value=value,
                remedy=f"leave {key.rpartition('.')[2]} out, or plan with it",
            )


#: Keys that a plan decides.
_PLANNED = frozenset(
    [
        "plan.scheme",
        "plan.alpha",
        "plan.beta",
        "plan.variance",
        "fleet.bandwidth_mbps",
        "fleet.spectrum_mhz",
        "round.overhead_secs",
    ]
)
