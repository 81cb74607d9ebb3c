"""Servers: a scenario on real devices, with a model of one's own if wanted."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fedflip import _fedflip
from fedflip._arguments import count, event, flag, function, instance, number, path_text, text
from fedflip._errors import FedflipError, InputError
from fedflip._observe import Callback, Watch, checked_callbacks
from fedflip._options import checked_threads
from fedflip._overrides import Override, naming_values, overrides_of, texts_of
from fedflip._run import Run, open
from fedflip._scenario import Scenario, source_of
from fedflip._stop import Stop

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from fedflip._deploy import Evaluation, FirstModel
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
        address: The address at which devices connect, as ADDRESS:PORT. Port 0 is any free port. The default is port 7700:
            with certificates at all addresses, without them on this machine alone.
        certs: The folder of the authority, or an ``Authority`` of ``fedflip.certs``; by default ``certs``.
        insecure: Serve plain text without certificates, to devices on this machine only.
        pilots: First measure α and β by pilots on the devices; the scheme ``auto`` needs none.
        devices_min: Begin when this number of devices have enrolled; by default all of the scenario.
        devices_max: The most devices at a time; by default those of the scenario.
        samples_max: The most samples that a device may claim to hold.
        replan_every: Rounds after which the plan is reviewed; 0 keeps the first plan.
        window_secs: How long devices have to flip their coins.
        quorum: The share of the fleet that must be connected before a round opens.
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
    task, path, before = _parts(scenario)
    if flag("insecure", insecure) and certs is not None:
        raise InputError(
            "insecure is True, and certs names an authority",
            where="certs",
            value=path_text("certs", certs),
            remedy="leave one of the two out",
        )
    settings = dict(keys)
    if isinstance(initial, (str, os.PathLike)):
        settings["initial"] = os.path.abspath(path_text("initial", initial))
        initial = None
    first, scores = _model_and_scores(initial, evaluate)
    settings.update(_stop_keys(stop, _declared(first, scores)))
    overrides = [*before, *overrides_of(settings)]
    arguments = _Arguments(
        task=task,
        path=path,
        overrides=texts_of(overrides),
        out=os.path.abspath(path_text("out", out)),
        address=text("address", address, optional=True, remedy=_ADDRESS),
        certs=None if insecure else path_text("certs", "certs" if certs is None else certs),
        metrics=text("metrics", metrics, optional=True, remedy=_ADDRESS),
        metrics_public=flag("metrics_public", metrics_public),
        pilots=flag("pilots", pilots),
        devices_min=count("devices_min", devices_min, optional=True),
        devices_max=count("devices_max", devices_max, optional=True),
        samples_max=count("samples_max", samples_max),
        replan_every=count("replan_every", replan_every),
        window_secs=number("window_secs", window_secs, remedy="give a number of seconds"),
        quorum=number("quorum", quorum, remedy="give a number from 0 to 1"),
        dashboard=_dashboard(dashboard),
        dashboard_public=flag("dashboard_public", dashboard_public),
        threads=checked_threads(threads),
        data_dir=path_text("data_dir", data_dir, optional=True),
    )
    functions = checked_callbacks(callbacks)
    tell = function("ready", ready, optional=True)
    told = None if tell is None else lambda *at: tell(Listening(*at))
    event("until", until)
    watching = Watch(functions, flag("progress", progress))
    with watching as watch, naming_values(overrides, path, task):
        has_begun = _fedflip.serve(arguments, watch, first, scores, told, until)
    if not has_begun:
        raise FedflipError(
            f"the server was stopped before the first plan of the run in {arguments.out}",
            remedy="call serve again with the same arguments: devices that have enrolled keep their places",
        )
    return open(arguments.out)


_ADDRESS = "write ADDRESS:PORT, such as 127.0.0.1:7700"


def _stop_keys(stop: Any, declared: Mapping[str, str]) -> dict[str, Any]:
    """The keys of a target, or of the section ``[stop]``; ``declared`` are the metrics that a learner declares."""
    if stop is None or isinstance(stop, Mapping):
        return {} if stop is None else {"stop": stop}
    remedy = "write stop=ff.Stop('accuracy', at=0.9), or stop={'rounds_max': 100}"
    target: Stop = instance("stop", stop, Stop, "a Stop", remedy=remedy)
    return target.keys(declared)


def _declared(first: FirstModel | None, scores: Evaluation | None) -> Mapping[str, str]:
    """The metrics that the learner that evaluates declares, or else the one that makes the first model."""
    declared = {} if scores is None else scores.declared
    learner = None if first is None else first.learner
    return declared or (None if learner is None else learner.declared) or {}


def _model_and_scores(initial: Any, evaluate: Any) -> tuple[FirstModel | None, Evaluation | None]:
    """The first model, and what scores models: a function, or the learner that made the first one."""
    if initial is None and evaluate is None:
        return None, None
    from fedflip._deploy import Evaluation, FirstModel

    first = None if initial is None else FirstModel(initial)
    scores = evaluate if evaluate is not None or first is None else first.learner
    return first, None if scores is None else Evaluation(scores)


def _dashboard(dashboard: Any) -> str | None:
    """Where browsers watch the run: a text, or a port of this machine."""
    if isinstance(dashboard, str) or dashboard is None:
        return text("dashboard", dashboard, optional=True)
    return str(
        count("dashboard", dashboard, most=65_535, remedy="write HOST:PORT, or a port from 0 to 65535")
    )


def _parts(scenario: Any) -> tuple[str, str | None, Sequence[Override]]:
    """The task or the path, and the keys that were set."""
    if isinstance(scenario, Scenario):
        return scenario._task, scenario._path, scenario._overrides
    return *source_of("scenario", scenario), ()
