"""The address of a Ray cluster, and whether anybody listens there."""

from __future__ import annotations

import os
import socket

from fedflip._errors import FedflipError

__all__ = ["chosen", "try_connection", "unreachable"]

#: The longest wait for an answer of a cluster: Ray itself waits for minutes at an address where nobody listens.
_ANSWER_SECS = 5.0


def chosen(address: str | None) -> str:
    """The given address, or that of the environment, or ``local``: Ray itself would join any cluster that is left running."""
    return address or os.environ.get("RAY_ADDRESS", "local")


def try_connection(address: str) -> None:
    """Connects to HOST:PORT for a moment. Other addresses, such as ``auto`` and ``ray://HOST:PORT``, are left to Ray."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "://" not in address:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECS).close()


def unreachable(address: str, error: Exception) -> FedflipError:
    """What to tell a user whose cluster does not answer."""
    return FedflipError(
        f"Ray cannot be reached at {address!r}: {error}",
        remedy="name the address that `ray start --head` printed, or auto for the cluster of this machine; "
        "without an address, the crew starts a cluster of its own",
    )
