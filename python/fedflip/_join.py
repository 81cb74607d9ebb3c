"""Devices: taking part in a run with native training, or with a learner of one's own."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from fedflip import _fedflip
from fedflip._arguments import choice, count, event, flag, listed, number, path_text, text
from fedflip._errors import InputError
from fedflip._learner_checks import checked_timeout

if TYPE_CHECKING:
    from fedflip._deploy import Preparation
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
    device: int | None = None,
    on_error: Literal["raise", "report"] = "raise",
    stop: threading.Event | None = None,
) -> Farewell:
    """Takes part in a run as one device: flips its coin, trains on its data, uploads its updates.

    The device stays until the run is over, and connects again whenever the connection breaks. It uses the same protocol,
    certificates and coins as ``fedflip join``, so that both kinds of devices can be in one run. Samples never leave the device.

    Without a learner, the device trains the tasks that fedflip has, natively. With one, the learner trains the model whose
    tensors the server offers. The learner's code runs on the calling thread. A learner may have the data of several devices:
    ``device`` says which of them this process is.

    Messages go to the logger ``fedflip``. After Ctrl-C the device leaves, and ``KeyboardInterrupt`` is raised. In another
    thread, ``stop`` ends the call.

    Args:
        address: The server, as HOST:PORT.
        identity: The folder of this device's identity, or an ``Identity`` of ``fedflip.certs``.
        learner: A ``Learner``, or a function that makes one from the scenario's ``[task.settings]``.
        insecure: Connect in plain text without certificates, to a server on this machine only. Give a ``name``, too.
        name: The name of the device, with ``insecure``.
        data: Files, folders or patterns of this device's own samples, for native training.
        data_dir: The folder of public data sets, for native training.
        save_model: Keep the model at the end of the run in this file, as safetensors.
        give_up_secs: Give up after this many seconds without an answer of the server; by default never.
        compute_secs: Train for at least this many seconds per round, to emulate a slower device.
        timeout_secs: The time limit of one call of the learner; none by default.
        device: Which device of the learner this process is, counted from 0: its data, its number of samples and the device of
            its training keys, whatever the slot. By default a learner with one device is device 0, and otherwise the slot
            in the fleet chooses. A slot may still move while a device enrols; the server then hears of the right number of
            samples with the first update.
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
        check that the server runs there, and that the port is open
    """
    prepare = _prepared(learner, checked_timeout(timeout_secs), device)
    files = [data] if isinstance(data, (str, os.PathLike)) else data
    files = listed("data", files, "a path or a list of paths", each=path_text)
    if learner is not None and files:
        raise InputError(
            "data names files for native training, and a learner is given too",
            where="data",
            value=files,
            remedy="leave one of the two out: a learner has its own data",
        )
    _check_identity(identity, flag("insecure", insecure), name)
    choice("on_error", on_error, ("raise", "report"), remedy="write 'raise' or 'report'")
    seconds = "give a number of seconds"
    taking_part = _Device(
        server=text("address", address, remedy="name the server as HOST:PORT, such as fl.example.org:7700"),
        identity=path_text("identity", identity, optional=True),
        name=name,
        data=files,
        data_dir=path_text("data_dir", data_dir, optional=True),
        compute_secs=number("compute_secs", compute_secs, remedy=seconds),
        save_model=path_text("save_model", save_model, optional=True),
        give_up_secs=number("give_up_secs", give_up_secs, optional=True, remedy=seconds),
        raises=on_error == "raise",
    )
    finished, slot, rounds, failures = _fedflip.join(taking_part, prepare, event("stop", stop))
    return Farewell(finished=finished, slot=slot, rounds=rounds, failures=failures)


def _prepared(learner: Any, timeout_secs: float | None, device: Any) -> Preparation | None:
    """What prepares a learner for the task of a server; None for native training."""
    place = count("device", device, optional=True)
    if learner is not None:
        from fedflip._deploy import Preparation

        return Preparation(learner, timeout_secs, place)
    if place is not None:
        raise InputError(
            f"device is {place}, but there is no learner",
            where="device",
            value=place,
            remedy="leave device out: the slot chooses the share of a public data set, and data= names files",
        )
    return None


def _check_identity(identity: Any, insecure: bool, name: Any) -> None:
    """Refuses a device that is neither secure nor insecure, or both."""
    path_text("identity", identity, optional=True)
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
    text("name", name, optional=True, remedy="write name='phone-01'")
