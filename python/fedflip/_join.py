"""Devices: taking part in a run with native training, or with a learner of one's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fedflip import _fedflip
from fedflip._errors import InputError

if TYPE_CHECKING:
    from fedflip._learner import Learner

__all__ = ["Farewell", "join"]

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Farewell:
    """How a device's part in a run ended.

    Attributes:
        finished: True if the run is over, False if the device was stopped before.
        slot: The position of the device in the fleet; None if it never attended.
        rounds: The number of rounds in which the device took part in this call.
        failures: The number of rounds in which its training failed.
    """

    finished: bool
    slot: int | None
    rounds: int
    failures: int


@dataclass(frozen=True)
class _Device:
    """The arguments of the native function."""

    server: str
    identity: str | None
    name: str | None
    data: list[str]
    data_dir: str | None
    compute_secs: float
    save_model: str | None
    give_up_secs: float | None
    raises: bool


def join(
    address: str,
    identity: PathLike | None = None,
    learner: Learner | Callable[[dict[str, Any]], Learner] | None = None,
    *,
    insecure: bool = False,
    name: str | None = None,
    data: PathLike | Iterable[PathLike] = (),
    data_dir: PathLike | None = None,
    save_model: PathLike | None = None,
    give_up_secs: float | None = None,
    compute_secs: float = 0.0,
    timeout_secs: float | None = None,
    on_error: Literal["raise", "report"] = "raise",
    stop: threading.Event | None = None,
) -> Farewell:
    """Takes part in a run as one device: flips its coin, trains on its data, uploads its updates.

    The device stays until the run is over, and connects again whenever the connection breaks. It uses the same protocol,
    certificates and coins as ``fedflip join``, so that both kinds of devices can be in one run. Samples never leave the device.

    Without a learner, the device trains the tasks that fedflip has, natively. With one, the learner trains the model whose
    tensors the server offers. The learner's code runs on the calling thread. A learner with data of one device is this
    device; otherwise the device's slot in the fleet chooses the data.

    Messages go to the logger ``fedflip``. After Ctrl-C the device leaves, and ``KeyboardInterrupt`` is raised. In another
    thread, ``stop`` ends the call.

    Args:
        address: The server, as HOST:PORT.
        identity: The folder of this device's identity, or an ``Identity`` of ``fedflip.certs``.
        learner: A ``Learner``, or a function that makes one from the scenario's ``[task.settings]``.
        insecure: Join without certificates, in plain text: only a server on this machine. It needs ``name``.
        name: The name of the device, with ``insecure``.
        data: Files, folders or patterns of this device's own samples, for native training.
        data_dir: The folder of public data sets, for native training.
        save_model: Keep the model at the end of the run in this file, as safetensors.
        give_up_secs: Give up after this many seconds without an answer of the server; by default never.
        compute_secs: Train for at least this many seconds per round, to emulate a slower device.
        timeout_secs: The time limit of one call of the learner; none by default.
        on_error: ``"raise"`` ends the call when the learner fails, after the server has been told. ``"report"`` tells the
            server, logs a warning, and stays for the next round.
        stop: An event that another thread sets to end the call.

    Returns:
        Whether the run is over, and how often the device took part.

    Raises:
        InputError: If an argument cannot be used, or the learner's tensors are not those of the task.
        LearnerError: If the learner fails.
        FedflipError: If the server cannot be reached in time, or refuses the device.

    Examples:
        ``fedflip.serve`` has an example of a server and its device.

        >>> from fedflip import FedflipError, join
        >>> try:
        ...     join("127.0.0.1:9", insecure=True, name="phone-01", give_up_secs=0)
        ... except FedflipError as error:
        ...     print(error.remedy)
        see that the server runs there, and that the port is open
    """
    if on_error not in ("raise", "report"):
        raise InputError(
            f"on_error is {on_error!r}", where="on_error", value=on_error, remedy="write 'raise' or 'report'"
        )
    files = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    if learner is not None and files:
        raise InputError(
            "data names files for native training, and a learner is given too",
            where="data",
            value=files,
            remedy="leave one of the two out: a learner brings its own data",
        )
    _check_identity(identity, insecure, name)
    device = _Device(
        server=_text(address, "address", "name the server as HOST:PORT, such as fl.example.org:7700"),
        identity=None if identity is None else os.fspath(identity),
        name=name,
        data=[os.fspath(file) for file in files],
        data_dir=None if data_dir is None else os.fspath(data_dir),
        compute_secs=_number(compute_secs, "compute_secs"),
        save_model=None if save_model is None else os.fspath(save_model),
        give_up_secs=None if give_up_secs is None else _number(give_up_secs, "give_up_secs"),
        raises=on_error == "raise",
    )
    prepare = None
    if learner is not None:
        from fedflip._deploy import Preparation

        prepare = Preparation(learner, timeout_secs)
    finished, slot, rounds, failures = _fedflip.join(device, prepare, stop)
    return Farewell(finished=finished, slot=slot, rounds=rounds, failures=failures)


def _check_identity(identity: PathLike | None, insecure: bool, name: str | None) -> None:
    """Refuses a device that is neither secure nor insecure, or both."""
    if identity is None and not insecure:
        raise InputError(
            "there is no identity",
            where="identity",
            value=None,
            remedy="name the folder of this device's identity; on the server's own machine, insecure=True and name= will do",
        )
    if identity is not None and (insecure or name is not None):
        where, value = ("insecure", insecure) if insecure else ("name", name)
        raise InputError(
            f"{where} is {value!r}, and an identity is given too",
            where=where,
            value=value,
            remedy=f"leave {where} out: the identity has a certificate with a name",
        )
    if insecure and name is None:
        raise InputError(
            "a device without certificates needs a name",
            where="name",
            value=None,
            remedy="write name='phone-01'",
        )
    if name is not None:
        _text(name, "name", "write name='phone-01'")


def _text(value: Any, where: str, remedy: str) -> str:
    if not isinstance(value, str):
        raise InputError(
            f"{where} is {value!r}, which is not a text", where=where, value=value, remedy=remedy
        )
    return value


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(
            f"{where} is {value!r}, which is not a number",
            where=where,
            value=value,
            remedy="give a number of seconds",
        )
    return float(value)
