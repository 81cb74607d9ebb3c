"""The parts of flwr that are not public, in one place: a new version of flwr is checked here."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from flwr.common.constant import NUM_PARTITIONS_KEY, PARTITION_ID_KEY, SUPERLINK_NODE_ID, ErrorCode

__all__ = [
    "CLIENT_APP_CRASHED",
    "NUM_PARTITIONS_KEY",
    "PARTITION_ID_KEY",
    "SUPERLINK_NODE_ID",
    "ErrorCode",
    "Run",
    "app_of",
    "flower_log",
    "identity",
    "set_message_id",
    "state_bytes",
    "state_of_bytes",
]


def _first(*places: str) -> Any:
    """The first of several names that this version of flwr has; None if it has none."""
    for place in places:
        module, _, name = place.partition(":")
        with contextlib.suppress(ImportError, AttributeError):
            return getattr(importlib.import_module(module), name)
    return None


#: The error of a client whose process died; older versions have no code for it.
CLIENT_APP_CRASHED: Any = getattr(ErrorCode, "CLIENT_APP_CRASHED", ErrorCode.CLIENT_APP_RAISED_EXCEPTION)
#: What a grid says about its run.
Run: Any = _first("flwr.supercore.run:Run", "flwr.common.typing:Run")
#: Logs as Flower does, so that the messages of a strategy stand among those of Flower.
flower_log: Any = _first("flwr.supercore:log", "flwr.common.logger:log", "flwr.common:log")
_Identity: Any = _first("flwr.supercore.task_identity:TaskIdentity")
_to_proto: Any = _first("flwr.common.serde:recorddict_to_proto", "flwr.supercore.serde:recorddict_to_proto")
_from_proto: Any = _first(
    "flwr.common.serde:recorddict_from_proto", "flwr.supercore.serde:recorddict_from_proto"
)
_RecordDictProto: Any = _first("flwr.proto.recorddict_pb2:RecordDict", "flwr.proto.recordset_pb2:RecordDict")


@contextlib.contextmanager
def identity(run_id: int) -> Iterator[None]:
    """Lets this process make messages of a run, which versions from 1.41 on want to know about."""
    if _Identity is None:
        yield
        return
    names = ("_task_id", "_run_id", "_node_id")
    before = [getattr(_Identity, name, None) for name in names]
    for name, value in zip(names, (1, run_id, SUPERLINK_NODE_ID), strict=True):
        setattr(_Identity, name, value)
    try:
        yield
    finally:
        for name, earlier in zip(names, before, strict=True):
            setattr(_Identity, name, earlier)


def set_message_id(message: Any, message_id: str) -> None:
    """Gives a message the identifier that a SuperLink would give it."""
    message.metadata.__dict__["_message_id"] = message_id


def app_of(place: str, kind: str) -> Any:
    """The ClientApp or ServerApp of an import path such as ``package.module:app``."""
    from fedflip._errors import InputError

    module, colon, name = place.partition(":")
    try:
        if not (module and colon and name):
            raise ValueError("it is not of the form package.module:app")
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"{kind}: {place!r} cannot be loaded: {error}",
            where=kind,
            value=place,
            remedy="give the app itself, or its place as package.module:app",
        ) from error


def state_bytes(state: Any) -> bytes:
    """The state of a client as bytes."""
    packed: bytes = _to_proto(state).SerializeToString(deterministic=True)
    return packed


def state_of_bytes(packed: bytes) -> Any:
    """The state of a client again."""
    return _from_proto(_RecordDictProto.FromString(packed))
