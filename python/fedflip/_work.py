"""What to train, with everything that belongs to it: scenario, fleet, plan, learner and workers."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fedflip import _fedflip
from fedflip._arguments import instance, shown, text
from fedflip._errors import InputError
from fedflip._fleet import Fleet, as_fleet
from fedflip._learner_checks import checked_learner, checked_timeout
from fedflip._overrides import Override, add_value, naming_values, overrides_of, texts_of
from fedflip._plan import Plan
from fedflip._scenario import Scenario
from fedflip._stop import Stop
from fedflip._work_plans import as_scheme, refuse_beside_plan, refuse_without_device, shared_overrides

if TYPE_CHECKING:
    from fedflip._learner import FlatLearner

__all__ = ["Work"]

_log = logging.getLogger("fedflip")


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
        plans: Sequence[Plan] = (),
        stop: Stop | None = None,
        seed: int | None = None,
        workers: Any = None,
        crew: Any = None,
        threads: int | None = None,
        timeout_secs: float | None = None,
        data_dir: str | None = None,
        keys: Mapping[str, Any],
    ) -> None:
        from fedflip._process_parcel import refuse_in_worker

        refuse_in_worker()
        self._stack = ExitStack()
        self.native: dict[str, Any] = {}
        settings: dict[str, Any] = dict(keys)
        if seed is not None:
            settings["seed"] = seed
        instance("stop", stop, Stop, "a Stop", optional=True, remedy="write stop=ff.Stop('accuracy', at=0.9)")
        timeout_secs = checked_timeout(timeout_secs)
        if isinstance(plan, str):
            if "scheme" in settings:
                raise InputError(
                    f"plan={plan!r} is given beside scheme={settings['scheme']!r}",
                    where="scheme",
                    value=settings["scheme"],
                    remedy="leave out one of the two",
                )
            settings["scheme"], plan = text("plan", plan), None
        self._task, self._path = "external", cast("str | None", None)
        self._overrides = list(overrides_of(settings))
        memory: dict[str, Any] = {}
        plans = self._planned(plan, plans, memory)
        if plans and fleet is None:
            fleet = plans[0].fleet
        if fleet is not None:
            fleet = as_fleet(fleet)
            memory["fleet"] = fleet._native
        try:
            if isinstance(work, Scenario):
                self._of_workers((workers, crew, threads, timeout_secs), data_dir)
                self._of_scenario(work, stop, has_fleet=fleet is not None)
            else:
                trainer = self._trainer(work, fleet, plans, stop, (workers, crew, threads, timeout_secs))
                self.native["trainer"] = memory["trainer"] = trainer
                if fleet is None and not any(each.key == "fleet.devices" for each in self._overrides):
                    self._overrides.insert(0, Override.of("fleet.devices", self.devices, "devices"))
            with naming_values(self._overrides, self._path, self._task):
                texts = texts_of(self._overrides)
                self.scenario = _fedflip.Scenario.resolve(self._task, self._path, texts, **memory)
        except BaseException:
            self._end()
            raise

    def _planned(self, plan: Any, plans: Sequence[Plan], memory: dict[str, Any]) -> Sequence[Plan]:
        """The plan of a run, or all plans of a comparison, whose keys are shared by all its schemes."""
        if isinstance(plan, Plan):
            plans = [plan]
            self.native["plan"] = memory["plan"] = plan._native
        elif plan is not None:
            memory["scheme"] = as_scheme("plan", plan)._native
        for each in plans:
            refuse_beside_plan(self._overrides, each)
            refuse_without_device(each)
        if plan is None:
            self._overrides += shared_overrides(plans)
        return plans

    def _of_scenario(self, work: Scenario, stop: Stop | None, has_fleet: bool) -> None:
        # A fleet takes the place of keys that would make another one.
        replaced = frozenset(_fedflip.fleet_keys() if has_fleet else ())
        own = [each for each in work._overrides if each.key not in replaced]
        self._task, self._path = work._task, work._path
        # The native metrics have directions of their own.
        target = {} if stop is None else {"metric": stop.metric, "at": stop.at, "mode": stop.mode}
        stops = overrides_of({key: value for key, value in target.items() if value is not None})
        self._overrides = [*own, *self._overrides, *stops]

    def __enter__(self) -> Work:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, InputError):
            add_value(error, self._overrides, self._path, self._task)
        self._end()

    def _end(self) -> None:
        """Closes crew and learner. What fails now is logged: it must neither cost a run nor hide the error of one."""
        try:
            self._stack.close()
        except Exception:
            _log.warning("the learner or its crew failed to close after the run", exc_info=True)

    def _of_workers(self, how: tuple[Any, Any, int | None, float | None], data_dir: str | None) -> None:
        """The workers of a native task, if it is not trained by threads of this process."""
        from fedflip._native_learner import opener

        workers, crew, _, timeout_secs = how
        ready = None if workers is None and crew is None else self._crew(*how)
        if timeout_secs is not None:
            _refuse_unless_ended(timeout_secs, ready)
        if ready is None:
            return
        self._stack.callback(ready.close)
        folder = None if data_dir is None else os.path.abspath(data_dir)
        self.native["crews"] = _fedflip.Crews(ready, opener(ready, folder, timeout_secs))

    def _trainer(
        self,
        learner: Any,
        fleet: Fleet | None,
        plans: Sequence[Plan],
        stop: Stop | None,
        how: tuple[Any, Any, int | None, float | None],
    ) -> _fedflip.Trainer:
        from fedflip._learner import FlatLearner

        if isinstance(learner, str):
            raise InputError(
                f"work is the text {learner!r}",
                where="work",
                value=learner,
                remedy=f"write ff.Scenario({learner!r}) for a built-in task",
            )
        flat = FlatLearner(checked_learner(learner, "work"), timeout_secs=how[-1])
        # Crews of other processes close their copies alone.
        self._stack.callback(flat.close)
        self.devices = flat.devices
        if fleet is not None and len(fleet) != flat.devices:
            raise InputError(
                f"the fleet has {len(fleet)} devices, but the learner has data of {flat.devices}",
                where="fleet",
                value=len(fleet),
                remedy="give one dataset for each device of the fleet",
            )
        for plan in plans:
            self._check_samples(flat, plan)
        self._aim(flat, stop)
        ready = self._crew(*how)
        ready.open(flat)
        self._stack.callback(ready.close)
        return _fedflip.Trainer(flat, ready, list(flat.metrics.items()))

    def _aim(self, flat: FlatLearner, stop: Stop | None) -> None:
        """Adds the target of a learner, whether it is a ``Stop`` or keys, with the direction of its metric."""
        given = {each.key: each.value for each in self._overrides}
        shorthands = {"stop.target_accuracy", "stop.target_loss"}
        if stop is None and {"stop.metric", "stop.at"} <= given.keys() and shorthands.isdisjoint(given):
            stop = Stop(given["stop.metric"], given["stop.at"], given.get("stop.mode"))
        if stop is not None:
            target = stop.keys(flat.declared or {})
            flat._assume(stop.metric, target["mode"])
            self._overrides += overrides_of(target)

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
    def _crew(workers: Any, crew: Any, threads: int | None, timeout_secs: float | None) -> Any:
        if workers is not None and crew is not None:
            raise InputError(
                f"workers is {workers!r} beside crew={crew!r}",
                where="workers",
                value=workers,
                remedy="leave out one of the two",
            )
        where, given = ("workers", workers) if crew is None else ("crew", crew)
        if given is None:
            from fedflip._crew import InlineCrew

            return InlineCrew()
        if isinstance(given, str) and given == "process":
            from fedflip._process_crew import ProcessCrew

            return ProcessCrew(threads, timeout_secs=timeout_secs)
        needed = ("open", "train", "next", "evaluate", "close")
        remedy = (
            "write workers='process', leave it out to train in this process, or give a crew such as "
            "fedflip.RayCrew(), fedflip.MpiCrew() or fedflip.ExecutorCrew(…)"
        )
        if isinstance(given, type):
            remedy = f"make an instance: {given.__name__}(…)"
        if isinstance(given, type) or not all(hasattr(given, name) for name in needed):
            raise InputError(
                f"{where}: {shown(given)} is not a crew of workers", where=where, value=given, remedy=remedy
            )
        return given


def _refuse_unless_ended(timeout_secs: float, crew: Any) -> None:
    """Refuses a time limit for native code that nobody can end; ``crew`` is None where threads train."""
    from fedflip._process_crew import ProcessCrew

    if isinstance(crew, ProcessCrew):
        return
    where = "threads of this process" if crew is None else f"the workers of {shown(crew)}"
    raise InputError(
        f"timeout_secs is {timeout_secs!r}, but native tasks train in {where}, which cannot be ended",
        where="timeout_secs",
        value=timeout_secs,
        remedy="leave timeout_secs out, or train in processes, which can be ended: workers='process'",
    )
