"""The clients of a VirtualGrid: their contexts, and what their app makes of messages."""

from __future__ import annotations

from collections.abc import Mapping
from logging import ERROR
from struct import Struct
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp

from fedflip._errors import InputError, LearnerError
from fedflip._key import TrainKey
from fedflip._process_pool import checked_workers
from fedflip.flower import _flwr
from fedflip.flower._client import Outcome, execute, kept_random_state
from fedflip.flower._messages import TRAIN, copied_context, copied_message
from fedflip.flower._workers import Workers

__all__ = ["FIRST_NODE", "RUN_ID", "Clients", "Wave", "checked_app"]

#: Node ids are in the order of the devices, and none is that of a SuperLink.
FIRST_NODE = 1 << 32
RUN_ID = 1

#: A node and the number of bytes of its state.
_HEAD = Struct("<QQ")
#: Devices in ascending order, each with its message.
Wave = list[tuple[int, Message]]


class Clients:
    """All clients of a grid.

    Args:
        client_app: A ClientApp, or its import path.
        devices: The number of clients.
        workers: The number of processes; None runs clients in this process.
        seed: The seed of the generators of Python, numpy and PyTorch; None leaves them alone.
        run_config: The configuration of the run.
    """

    def __init__(
        self,
        client_app: Any,
        devices: int,
        workers: int | None,
        seed: int | None,
        run_config: Mapping[str, Any],
    ) -> None:
        self._app: Any = checked_app(client_app, ClientApp, "client_app")
        self._workers = None if workers is None else Workers(client_app, checked_workers(workers))
        self._seed = seed
        #: Whether a client has trained in this run: an app that never works is a mistake.
        self.has_trained = False
        #: The contexts by node. They persist, as in Flower.
        self.contexts = {
            FIRST_NODE + device: Context(
                run_id=RUN_ID,
                node_id=FIRST_NODE + device,
                node_config={_flwr.PARTITION_ID_KEY: device, _flwr.NUM_PARTITIONS_KEY: devices},
                state=RecordDict(),
                run_config=dict(run_config),
            )
            for device in range(devices)
        }

    def outcomes(self, wave: Wave, number: int, kind: str) -> dict[int, Outcome]:
        """Runs messages, one for each device. What clients raise is logged.

        Args:
            wave: The devices and their messages.
            number: The number of the round: random numbers depend on it.
            kind: What the messages ask for.

        Raises:
            LearnerError: All clients of a round of training failed, and none has trained before.
        """
        jobs: list[tuple[Any, Any, int | None]] = []
        for device, message in wave:
            seed = None
            if self._seed is not None:
                seed = TrainKey(self._seed, number, device).stream_seed(f"flower-{kind}")
            context = self.contexts[FIRST_NODE + device]
            jobs.append((copied_message(message), copied_context(context), seed))
        if self._workers is not None:
            done = self._workers.run(jobs)
        elif self._seed is None:
            done = [execute(self._app, *job) for job in jobs]
        else:
            with kept_random_state():
                done = [execute(self._app, *job) for job in jobs]
        outcomes = {device: outcome for (device, _), outcome in zip(wave, done, strict=True)}
        self._report_failures(outcomes, number, kind)
        return outcomes

    def _report_failures(self, outcomes: Mapping[int, Outcome], number: int, kind: str) -> None:
        failed = {device: outcome for device, outcome in outcomes.items() if outcome.reply is None}
        for device, outcome in failed.items():
            shown = outcome.traceback or outcome.problem
            _flwr.flower_log(
                ERROR, "The client of device %d failed in a message of the type %s:\n%s", device, kind, shown
            )
        if kind != TRAIN:
            return
        self.has_trained |= len(failed) < len(outcomes)
        # An app that never works is a mistake. Once it has worked, the failures of a small cohort are losses as those of a
        # large one.
        if failed and not self.has_trained:
            device, outcome = next(iter(failed.items()))
            who = "the only client" if len(failed) == 1 else f"all {len(failed)} clients"
            raise LearnerError(
                f"{who} of round {number} failed; that of device {device}: {outcome.problem}",
                device=device,
                round=number,
                traceback=outcome.traceback,
            ) from outcome.exception

    def replies(self, wave: Wave, outcomes: Mapping[int, Outcome], lost: Mapping[int, str]) -> list[Message]:
        """The replies to messages. Contexts of clients that are lost or failed stay as they were."""
        replies = []
        for device, message in wave:
            outcome = outcomes.get(device, Outcome())
            if device in lost:
                code, reason = _flwr.ErrorCode.NODE_UNAVAILABLE, _lost_text(device, lost[device])
                reply = Message(Error(code, reason), reply_to=message)
            elif outcome.reply is None:
                codes = _flwr.ErrorCode
                code = _flwr.CLIENT_APP_CRASHED if outcome.crashed else codes.CLIENT_APP_RAISED_EXCEPTION
                reply = Message(
                    Error(code, f"{outcome.problem}\n{outcome.traceback}".rstrip()), reply_to=message
                )
            else:
                reply = outcome.reply
                self.contexts[FIRST_NODE + device].state = outcome.state or RecordDict()
            _flwr.set_message_id(reply, f"reply-to-{message.metadata.message_id}")
            replies.append(reply)
        return replies

    def state_bytes(self) -> bytes:
        """The states of all clients that have one; empty if none has."""
        states = [(node, context.state) for node, context in self.contexts.items() if len(context.state)]
        packed = [(node, _flwr.state_bytes(state)) for node, state in states]
        return b"".join(_HEAD.pack(node, len(state)) + state for node, state in packed)

    def restore(self, packed: bytes) -> None:
        """Takes back the states of :meth:`state_bytes`."""
        first = 0
        while first < len(packed):
            node, size = _HEAD.unpack_from(packed, first)
            first += _HEAD.size
            self.contexts[node].state = _flwr.state_of_bytes(packed[first : first + size])
            first += size

    def close(self) -> None:
        """Ends the worker processes, if there are any."""
        if self._workers is not None:
            self._workers.close()


def _lost_text(device: int, reason: str) -> str:
    said = "missed the deadline of the round" if reason == "deadline" else "vanished during the round"
    return f"fedflip: device {device} {said} ({reason})"


def checked_app(app: Any, kind: type, where: str) -> Any:
    """A ClientApp or a ServerApp, which may be given by its import path."""
    found = _flwr.app_of(app, where) if isinstance(app, str) else app
    if not isinstance(found, kind):
        raise InputError(
            f"{where} is {type(found).__name__}, and should be a {kind.__name__}",
            where=where,
            value=app,
            remedy="give the app itself, or its place as package.module:app",
        )
    return found
