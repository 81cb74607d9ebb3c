"""Servers: a scenario on real devices, with a model of one's own if wanted."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedflip import _fedflip
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback, Watch
from fedflip._run import Run, open
from fedflip._scenario import Scenario, _overrides, _source
from fedflip._stop import Stop

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from fedflip._learner import Learner

__all__ = ["Listening", "serve"]

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Listening:
    """Where a server listens.

    Attributes:
        address: The address for devices, as HOST:PORT, with the real port.
        metrics: The address of ``/metrics`` and ``/healthz``; None if they are not served.
        dashboard: The page of the run for browsers; None if there is none.
    """

    address: str
    metrics: str | None = None
    dashboard: str | None = None


@dataclass(frozen=True)
class _Arguments:
    """The arguments of the native function."""

    task: str
    path: str | None
    overrides: list[str]
    out: str
    address: str | None
    certs: str | None
    metrics: str | None
    metrics_public: bool
    pilots: bool
    devices_min: int | None
    devices_max: int | None
    samples_max: int
    replan_every: int
    window_secs: float
    quorum: float
    dashboard: str | None
    dashboard_public: bool
    threads: int | None
    data_dir: str | None


def serve(
    scenario: Scenario | PathLike,
    *,
    out: PathLike,
    initial: Mapping[str, npt.NDArray[np.float32]] | PathLike | Learner | None = None,
    evaluate: Callable[[dict[str, npt.NDArray[np.float32]]], Mapping[str, float | tuple[float, float]]]
    | None = None,
    stop: Stop | Mapping[str, Any] | None = None,
    address: str | None = None,
    certs: PathLike | None = None,
    insecure: bool = False,
    pilots: bool = False,
    devices_min: int | None = None,
    devices_max: int | None = None,
    samples_max: int = 10_000_000,
    replan_every: int = 20,
    window_secs: float = 5.0,
    quorum: float = 0.5,
    metrics: str | None = None,
    metrics_public: bool = False,
    dashboard: str | int | None = None,
    dashboard_public: bool = False,
    threads: int | None = None,
    data_dir: PathLike | None = None,
    callbacks: Iterable[Callback] = (),
    progress: bool = True,
    ready: Callable[[Listening], object] | None = None,
    until: threading.Event | None = None,
    **keys: Any,
) -> Run:
    """Trains on real devices: waits for them, plans, and runs rounds until the target or a cap.

    Everything that was committed is in ``out``. A server that was stopped, or killed at any moment, resumes when ``serve`` is
    called again with the same arguments. Devices join with ``fedflip.join`` or with the program ``fedflip join``.

    A model of one's own is the task ``"external"``: ``initial`` has its tensors, learners on the devices train it, and
    ``evaluate`` scores it here, so that the run can end at a target. The server needs to know how large an honest update can be:
    ``update_norm_max``.

    Messages go to the logger ``fedflip``. After Ctrl-C the server finishes its round, and ``KeyboardInterrupt`` is raised; the
    run can be resumed.

    Args:
        scenario: A ``Scenario``, the name of a task, or the path of a scenario file.
        out: The folder of the run. A run in it is resumed.
        initial: The first model: float32 arrays by name, the path of a safetensors file, or a learner, whose ``initial(seed)``
            makes it and whose ``evaluate`` scores models if there is no ``evaluate``. A run that resumes keeps its own.
        evaluate: A function from the model, a dict of read-only arrays, to metrics: each a value, or a sum and the weight
            that divides it. It is called on this thread, every ``record.evaluate_every`` rounds.
        stop: The target of a metric; or keys of the section ``[stop]``, such as ``{"rounds_max": 100}``.
        address: Where devices call, as ADDRESS:PORT. Port 0 is any free port. By default port 7700: of all addresses with
            certificates, of this machine alone without.
        certs: The folder of the authority, or an ``Authority`` of ``fedflip.certs``; by default ``certs``.
        insecure: Serve without certificates, in plain text: only devices on this machine.
        pilots: First measure α and β by pilots on the devices; the scheme ``auto`` needs none.
        devices_min: Begin when this number of devices have enrolled; by default all of the scenario.
        devices_max: The most devices at a time; by default those of the scenario.
        samples_max: The most samples that a device may claim to hold.
        replan_every: Rounds after which the plan is reviewed; 0 keeps the first plan.
        window_secs: How long devices have to flip their coins.
        quorum: The share of the fleet that must be there for a round to be opened.
        metrics: Serve ``/metrics`` for Prometheus, ``/healthz`` and ``/readyz`` here, as ADDRESS:PORT.
        metrics_public: Allow an address for metrics that other machines can reach.
        dashboard: Show the run in browsers at HOST:PORT, or at a port of this machine; 0 is any free port.
        dashboard_public: Allow a dashboard that other machines can reach: whoever can reach it may watch.
        threads: Threads that evaluate a built-in task; by default one per processor.
        data_dir: The folder of public data sets.
        callbacks: Functions that get the record of each round. One that returns True stops the server; the run can be resumed.
        progress: Show a progress bar on a terminal or in a notebook, if tqdm is installed.
        ready: Called once the server listens, with the address. Devices are admitted when the function has returned.
        until: An event that another thread sets to stop the server; the run can be resumed.
        **keys: Further keys of the scenario, such as ``rounds_max=100``, ``scheme="full"`` or ``fleet={"devices": 3}``.

    Returns:
        The run.

    Raises:
        InputError: If an argument or a key cannot be used, or the folder holds another run.
        LearnerError: If ``evaluate`` fails. The run can be resumed.
        FedflipError: If the server cannot continue.

    Examples:
        One device of this process trains a built-in task:

        >>> import tempfile, threading
        >>> from fedflip import join, serve
        >>> def begin(listening):
        ...     device = {"insecure": True, "name": "phone", "give_up_secs": 10}
        ...     threading.Thread(target=join, args=(listening.address,), kwargs=device).start()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     run = serve("synthetic", out=folder + "/run", insecure=True, address="127.0.0.1:0", ready=begin,
        ...                 fleet={"devices": 1}, target_accuracy=1.0, rounds_max=3, progress=False)
        ...     len(run)
        3

        A linear model of one's own, for three devices with certificates::

            run = ff.serve(
                "external",
                initial={"w": np.zeros((10, 4), np.float32), "b": np.zeros(4, np.float32)},
                evaluate=lambda model: {"accuracy": accuracy(model["w"], model["b"])},
                stop=ff.Stop("accuracy", at=0.9),
                fleet={"devices": 3},
                update_norm_max=100,
                out="run",
                certs="certs",
            )
    """
    settings: dict[str, Any] = dict(keys)
    if isinstance(stop, Mapping):
        settings["stop"] = stop
    elif stop is not None:
        settings.update(stop.keys({}))
    if insecure and certs is not None:
        raise InputError(
            "insecure is True, and certs names an authority",
            where="certs",
            value=os.fspath(certs),
            remedy="leave one of the two out",
        )
    first, scores = None, None
    if isinstance(initial, (str, os.PathLike)):
        settings["initial"] = os.path.abspath(os.fspath(initial))
    elif initial is not None:
        from fedflip._deploy import FirstModel

        first = FirstModel(initial)
    if evaluate is not None or (first is not None and first.learner is not None):
        from fedflip._deploy import Evaluation

        scores = Evaluation(evaluate if evaluate is not None else _learner_of(first))
    task, path, before = _parts(scenario)
    arguments = _Arguments(
        task=task,
        path=path,
        overrides=[*before, *_overrides(settings)],
        out=os.fspath(out),
        address=address,
        certs=None if insecure else os.fspath("certs" if certs is None else certs),
        metrics=metrics,
        metrics_public=metrics_public,
        pilots=pilots,
        devices_min=_whole(devices_min, "devices_min"),
        devices_max=_whole(devices_max, "devices_max"),
        samples_max=_whole(samples_max, "samples_max") or 0,
        replan_every=_whole(replan_every, "replan_every") or 0,
        window_secs=_number(window_secs, "window_secs"),
        quorum=_number(quorum, "quorum"),
        dashboard=None if dashboard is None else str(dashboard),
        dashboard_public=dashboard_public,
        threads=_whole(threads, "threads"),
        data_dir=None if data_dir is None else os.fspath(data_dir),
    )
    told = None if ready is None else lambda *at: ready(Listening(*at))
    with Watch(callbacks, progress) as watch:
        has_begun = _fedflip.serve(arguments, watch, first, scores, told, until)
    if not has_begun:
        raise FedflipError(
            f"the server was stopped before the first plan of the run in {os.fspath(out)}",
            remedy="call serve again with the same arguments: devices that have enrolled keep their places",
        )
    return open(out)


def _learner_of(first: Any) -> Any:
    return first.learner


def _parts(scenario: Scenario | PathLike) -> tuple[str, str | None, tuple[str, ...]]:
    """The task or the path, and the keys that were set."""
    if isinstance(scenario, Scenario):
        return scenario._task, scenario._path, scenario._overrides
    try:
        task, path = _source(scenario)
    except InputError as error:
        raise InputError(
            f"scenario is {scenario!r}, which is neither a Scenario nor a name or path",
            where="scenario",
            value=scenario,
            remedy=error.remedy,
        ) from None
    return task, path, ()


def _whole(value: Any, where: str) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise InputError(
            f"{where} is {value!r}, which is not a whole number of 0 or more",
            where=where,
            value=value,
            remedy="give a whole number",
        )
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(
            f"{where} is {value!r}, which is not a number", where=where, value=value, remedy="give a number"
        )
    return float(value)
