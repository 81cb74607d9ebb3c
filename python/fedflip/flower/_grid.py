"""Any Flower app on a virtual clock, in this process."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from logging import WARNING
from typing import Any

import numpy as np
from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedflip import _fedflip
from fedflip._arguments import choice
from fedflip._errors import InputError
from fedflip._fleet import Fleet, as_fleet
from fedflip._key import TrainKey
from fedflip._plan import Plan
from fedflip.flower import _flwr
from fedflip.flower._client import Outcome, seed_everything
from fedflip.flower._clients import FIRST_NODE, RUN_ID, Clients, Wave, checked_app
from fedflip.flower._config import run_config_of
from fedflip.flower._messages import EVALUATE, TRAIN, category, mbit, mean_metrics, train_loss
from fedflip.flower._model import Arrays, Layout, arrays_of
from fedflip.flower._records import Folder, RunRecords
from fedflip.flower._rounds import EVALUATIONS_FROM, TimedRound, timed_round, waves
from fedflip.flower._settings import clock_keys, native_scenario

__all__ = ["VirtualGrid"]


class _CallableRun(_flwr.Run):  # type: ignore[misc]
    """What a grid says about its run. Flower reads its attributes; people call it with a ServerApp."""

    def __call__(self, server_app: ServerApp | str) -> Context:
        grid: VirtualGrid = self.__dict__["_grid"]
        return grid._run_app(server_app)


class VirtualGrid(Grid):
    """A Flower grid in this process, whose rounds take virtual time: ``grid.run(server_app)`` runs an unmodified app.

    The messages of one ``push_messages`` or ``send_and_receive`` are a round. Its clients share the bandwidth, and the
    clock moves to the end of the round. Device n of the fleet is the node with ``partition-id`` n.

    - A TRAIN message costs the device's compute time and its upload.
    - An EVALUATE message costs nothing, as evaluations of fedflip do, unless ``evaluate_share`` is set: then it costs that
      share of the compute time, and the upload of its reply by size.
    - A QUERY message costs nothing. Clients are lost in rounds that cost time only.
    - ``timeout`` of ``send_and_receive`` counts virtual seconds, as a deadline of the round.
    - A lost client gives an error reply, as a node that Flower cannot reach, and its context stays as it was.
    - An exception of client code is logged with its traceback and becomes an error reply, as in Flower. If all clients
      of a round raise one, the round raises :class:`LearnerError`: no strategy can go on.

    The seed decides jitter, fading, drop-outs, and the global generators of Python, numpy and PyTorch: those of the server
    app at its start, and those of a client before each message. Replies are in the order of the devices.

    Args:
        client_app: A ``ClientApp``, or its import path such as ``"package.client_app:app"``.
        fleet: A ``Fleet``, or anything that ``Fleet`` takes: one device for each client.
        bandwidth_mbps: The bandwidth that the clients of a round share.
        conditions: Some of ``compute_jitter``, ``fading_db`` and ``dropout``.
        workers: The number of processes that run clients; by default they run in this process. Worker processes have one
            thread for BLAS and OpenMP.
        out: A run folder for the records, which ``fedflip report`` and :func:`fedflip.open` read.
        payload: ``"fleet"`` uploads take the fleet's ``comm_secs``; ``"measured"`` ones are by the size of each reply.
        seed: The seed of all random numbers; None leaves the generators of Python, numpy and PyTorch alone.
        run_config: The ``run_config`` of the apps: a dict, or the folder of an app with its ``pyproject.toml``.
        deadline_secs: After this time a round is over for clients that have not reported.
        overhead_secs: The time that every round takes in addition.
        downlink: ``"none"``, ``"broadcast"`` or ``"unicast"``: how clients get the model.
        downlink_bandwidth_mbps: The bandwidth of downloads.
        evaluate_share: The time of an EVALUATE message as a share of the device's compute time.
        weighted_by_key: The metric by which the means of metrics in the records are weighted.

    Examples:
        >>> import fedflip as ff
        >>> from flwr.clientapp import ClientApp
        >>> grid = VirtualGrid(ClientApp(), ff.Fleet.paper(5, seed=1), bandwidth_mbps=10)
        >>> len(list(grid.get_node_ids())), grid.now
        (5, 0.0)
    """

    def __init__(
        self,
        client_app: ClientApp | str,
        fleet: Any,
        *,
        bandwidth_mbps: float,
        conditions: Mapping[str, float] | None = None,
        workers: int | None = None,
        out: str | os.PathLike[str] | None = None,
        payload: str = "fleet",
        seed: int | None = 0,
        run_config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
        deadline_secs: float | None = None,
        overhead_secs: float = 0.0,
        downlink: str = "none",
        downlink_bandwidth_mbps: float | None = None,
        evaluate_share: float = 0.0,
        weighted_by_key: str = "num-examples",
    ) -> None:
        self.fleet: Fleet = as_fleet(fleet)
        optional = {
            "round.deadline_secs": deadline_secs,
            "round.overhead_secs": overhead_secs,
            "round.downlink": downlink,
            "downlink.bandwidth_mbps": downlink_bandwidth_mbps,
        }
        self._keys = clock_keys(bandwidth_mbps, conditions, 0 if seed is None else seed, optional)
        self._clock = _fedflip.VirtualClock(native_scenario(self.fleet, self._keys), self.fleet._native)
        self._is_measured = choice("payload", payload, ("fleet", "measured")) == "measured"
        self._evaluate_share = _checked_share(evaluate_share)
        self._seed, self._out, self._weighted_by = seed, out, weighted_by_key
        self._run_config = run_config_of(run_config)
        self._clients = Clients(client_app, len(self.fleet), workers, seed, self._run_config)
        self._flower_run = _CallableRun.create_empty(RUN_ID)
        self._flower_run.__dict__["_grid"] = self
        self._replies: dict[str, Message] = {}
        self._messages = self._rounds = self._evaluations = 0
        #: The round that a CoinStrategy has announced, which may be empty.
        self._announced: int | None = None
        self._plan: Plan | None = None
        self._records: RunRecords | None = None
        self._layout: Layout | None = None
        self._last_model: Arrays = {}
        #: The last round, for strategies that record it themselves.
        self.last_round: TimedRound | None = None

    @property
    def now(self) -> float:
        """The virtual time in seconds since the run began."""
        return self._clock.now_secs

    @property
    def partitions(self) -> dict[int, int]:
        """The device of each node."""
        return {node: node - FIRST_NODE for node in self._clients.contexts}

    # ---- what Flower asks of a grid

    def set_run(self, run: Any) -> None:
        """Flower's; the run of this grid is its own."""

    @property
    def run(self) -> Any:
        """What Flower knows of the run. Call it to run an app: ``grid.run(server_app)``."""
        return self._flower_run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """Flower's older way to make a message."""
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        """The nodes, in the order of the devices."""
        return list(self._clients.contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Runs the messages as one round, and returns their identifiers. Replies wait for ``pull_messages``."""
        return self._push(list(messages), None)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies to messages, each once."""
        return [self._replies.pop(name) for name in message_ids if name in self._replies]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Runs the messages as one round. ``timeout`` counts virtual seconds."""
        return self.pull_messages(self._push(list(messages), timeout))

    # ---- rounds

    def _push(self, messages: list[Message], timeout: float | None) -> list[str]:
        places: dict[str, Wave] = {}
        for message in messages:
            self._messages += 1
            _flwr.set_message_id(message, f"message-{self._messages}")
            places.setdefault(category(message), []).append((self._device(message), message))
        if TRAIN in places or self._announced is not None:
            for wave in waves(places.pop(TRAIN, [])) or [[]]:
                self._train(wave, timeout)
        for kind, pairs in places.items():
            for wave in waves(pairs):
                self._ask(kind, wave, timeout)
        return [message.metadata.message_id for message in messages]

    def _device(self, message: Message) -> int:
        node = message.metadata.dst_node_id
        if node not in self._clients.contexts:
            raise InputError(
                f"there is no node {node}: the fleet has {len(self.fleet)} devices",
                where="dst_node_id",
                value=node,
                remedy="send messages to nodes of grid.get_node_ids()",
            )
        return node - FIRST_NODE

    def _train(self, wave: Wave, timeout: float | None) -> None:
        self._flush_round()
        self._rounds = self._rounds + 1 if self._announced is None else self._announced
        self._announced = None
        self._see_model(wave)
        cohort = [device for device, _ in wave]
        outcomes: dict[int, Outcome] = {}
        payload_mbit = None
        if self._is_measured:
            outcomes = self._clients.outcomes(wave, self._rounds, TRAIN)
            payload_mbit = [_reply_mbit(outcomes[device]) for device in cohort]
        timed = timed_round(
            self._clock, self._rounds, cohort, payload_mbit=payload_mbit, deadline_secs=timeout
        )
        if not self._is_measured:
            kept = [(device, message) for device, message in wave if device not in timed.lost]
            outcomes = self._clients.outcomes(kept, self._rounds, TRAIN)
        self.last_round = timed
        contents = self._answers(wave, outcomes, timed.lost)
        if self._records is not None:
            failed = [device for device, outcome in outcomes.items() if outcome.reply is None]
            self._records.round(timed.record(train_loss(contents), failed))

    def _ask(self, kind: str, wave: Wave, timeout: float | None) -> None:
        """Runs messages that train nothing."""
        self._evaluations += 1
        outcomes = self._clients.outcomes(wave, self._evaluations, kind)
        lost: dict[int, str] = {}
        if kind == EVALUATE and self._evaluate_share > 0:
            lost = timed_round(
                self._clock,
                EVALUATIONS_FROM + self._evaluations,
                [device for device, _ in wave],
                payload_mbit=[_reply_mbit(outcomes[device]) for device, _ in wave],
                compute_factor=self._evaluate_share,
                deadline_secs=timeout,
            ).lost
        contents = self._answers(wave, outcomes, lost)
        if kind == EVALUATE:
            self._see_model(wave)
            if self._records is not None:
                self._records.evaluated(mean_metrics(contents, self._weighted_by))

    def _answers(
        self, wave: Wave, outcomes: Mapping[int, Outcome], lost: Mapping[int, str]
    ) -> list[RecordDict]:
        """Keeps the replies, and returns the contents of those that have one."""
        replies = self._clients.replies(wave, outcomes, lost)
        self._replies.update((reply.metadata.reply_to_message_id, reply) for reply in replies)
        return [reply.content for reply in replies if reply.has_content()]

    # ---- records

    def _announce(self, round: int, plan: Plan) -> None:
        """A strategy of fedflip says which round its next push is, also if nobody takes part in it."""
        self._announced, self._plan = round, plan

    def _resume(self, round: int, secs: float) -> None:
        """Goes on after a round of an earlier process."""
        self._rounds = round
        self._clock.set_now_secs(secs)

    def _see_model(self, wave: Wave) -> None:
        """Remembers the model that the server sends, for the run folder."""
        if self._out is None or not wave:
            return
        content = wave[0][1].content
        record = next(iter(content.array_records.values()), None)
        arrays = {"model": np.zeros(1, np.float32)} if record is None else arrays_of(record, "the server")
        if self._records is None:
            self._layout = Layout(arrays)
            folder = Folder(self._out, self.fleet, self._keys, self._plan, is_real=False)
            folder.check_free()
            self._records = RunRecords(folder, (self._layout, self._layout.flat(arrays)))
        assert self._layout is not None
        if Layout(arrays).tensors == self._layout.tensors:
            self._last_model = arrays

    def _flush_round(self) -> None:
        if self._records is not None:
            self._records.flush()

    def _run_app(self, server_app: ServerApp | str) -> Context:
        """Runs a ServerApp to its end, and returns its context."""
        app: Any = checked_app(server_app, ServerApp, "server_app")
        if not app._main:
            raise InputError(
                "server_app has no main function, and older apps with server_fn send one message at a time",
                where="server_app",
                value=server_app,
                remedy="write the app with @app.main() and a strategy of flwr.serverapp.strategy",
            )
        context = Context(
            run_id=RUN_ID,
            node_id=_flwr.SUPERLINK_NODE_ID,
            node_config={},
            state=RecordDict(),
            run_config=dict(self._run_config),
        )
        if self._seed is not None:
            seed_everything(TrainKey(self._seed, 0, 0).stream_seed("flower-server"))
        try:
            with _flwr.identity(RUN_ID):
                app(self, context)
            self._end_records()
        finally:
            self.close()
        return context

    def _end_records(self) -> None:
        if self._records is None or self._layout is None:
            if self._out is not None:
                _flwr.flower_log(WARNING, "fedflip: there was no round, so there is no run folder")
            return
        self._records.end(self._rounds, self.now, self._layout.flat(self._last_model))
        self._records = None

    def close(self) -> None:
        """Ends worker processes, and closes the run folder. ``run`` does so by itself."""
        self._clients.close()
        if self._records is not None:
            self._records.close()
            self._records = None


def _reply_mbit(outcome: Outcome) -> float:
    reply = outcome.reply
    return mbit(reply.content) if reply is not None and reply.has_content() else 0.0


def _checked_share(share: Any) -> float:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 100:
        raise InputError(
            f"evaluate_share is {share!r}; it must be a number from 0 to 100",
            where="evaluate_share",
            value=share,
            remedy="use 0 for evaluations that cost nothing",
        )
    return float(share)
