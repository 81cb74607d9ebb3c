"""The rounds of a VirtualGrid: the messages of one push, timed, handed to clients and recorded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flwr.app import Message, RecordDict

from fedflip import _fedflip
from fedflip._errors import InputError
from fedflip._plan import Plan
from fedflip.flower import _flwr
from fedflip.flower._client import Outcome
from fedflip.flower._clients import FIRST_NODE, Clients, Wave
from fedflip.flower._grid_records import GridRecords
from fedflip.flower._messages import EVALUATE, TRAIN, category, mbit, mean_metrics, train_loss
from fedflip.flower._rounds import EVALUATIONS_FROM, TimedRound, timed_round, waves

__all__ = ["GridRounds"]

#: More pushes without training than a round has.
_ASKED_MAX = 1 << 20


class GridRounds:
    """The rounds of one grid.

    Args:
        clock: The virtual clock.
        clients: The clients.
        records: The run folder of the grid.
        is_measured: Whether uploads are by the size of each reply.
        evaluate_share: The time of an EVALUATE message as a share of the device's compute time.
        weighted_by: The metric by which the means of metrics are weighted.
    """

    def __init__(
        self,
        clock: _fedflip.VirtualClock,
        clients: Clients,
        records: GridRecords,
        *,
        is_measured: bool,
        evaluate_share: float,
        weighted_by: str,
    ) -> None:
        self.clock, self._clients, self._records = clock, clients, records
        self.is_measured, self.evaluate_share, self._weighted_by = is_measured, evaluate_share, weighted_by
        self._replies: dict[str, Message] = {}
        self._messages = self._round = 0
        #: The pushes since the last round that trained nothing. With the round, it decides their random numbers, so that
        #: a run that is resumed has the same ones.
        self._asked = 0
        #: The round that a CoinStrategy has announced, which may be empty.
        self._announced: int | None = None
        #: The last round, for strategies that record it themselves.
        self.last: TimedRound | None = None

    def announce(self, round: int, plan: Plan) -> None:
        """A strategy of fedflip says which round its next push is, also if nobody takes part in it."""
        self._announced = round
        self._records.plan(plan)

    def resume(self, round: int, secs: float) -> None:
        """Continues after a round of an earlier process."""
        self._round = round
        self.clock.set_now_secs(secs)

    def push(self, messages: list[Message], timeout: float | None) -> list[str]:
        """Runs messages as one round, and returns their identifiers."""
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

    def pull(self, message_ids: Iterable[str]) -> list[Message]:
        """The replies to messages, each once."""
        return [self._replies.pop(name) for name in message_ids if name in self._replies]

    def _device(self, message: Message) -> int:
        node, contexts = message.metadata.dst_node_id, self._clients.contexts
        if node not in contexts:
            raise InputError(
                f"there is no node {node}: the fleet has {len(contexts)} devices",
                where="dst_node_id",
                value=node,
                remedy="send messages to nodes of grid.get_node_ids()",
            )
        return node - FIRST_NODE

    def _train(self, wave: Wave, timeout: float | None) -> None:
        self._records.begin_round()
        self._round = self._round + 1 if self._announced is None else self._announced
        self._announced, self._asked = None, 0
        self._records.see_model(wave)
        cohort = [device for device, _ in wave]
        outcomes: dict[int, Outcome] = {}
        payload_mbit = None
        if self.is_measured:
            outcomes = self._clients.outcomes(wave, self._round, TRAIN)
            payload_mbit = [_reply_mbit(outcomes[device]) for device in cohort]
        timed = timed_round(self.clock, self._round, cohort, payload_mbit=payload_mbit, deadline_secs=timeout)
        if not self.is_measured:
            kept = [(device, message) for device, message in wave if device not in timed.lost]
            outcomes = self._clients.outcomes(kept, self._round, TRAIN)
        self.last = timed
        contents = self._answers(wave, outcomes, timed.lost)
        if self._records.is_kept:
            failed = {device: "failed" for device, outcome in outcomes.items() if outcome.reply is None}
            self._records.round(timed.record(train_loss(contents), failed))

    def _ask(self, kind: str, wave: Wave, timeout: float | None) -> None:
        """Runs messages that train nothing."""
        self._asked += 1
        number = self._round * _ASKED_MAX + min(self._asked, _ASKED_MAX)
        outcomes = self._clients.outcomes(wave, number, kind)
        lost: dict[int, str] = {}
        if kind == EVALUATE and self.evaluate_share > 0:
            lost = timed_round(
                self.clock,
                EVALUATIONS_FROM + number,
                [device for device, _ in wave],
                payload_mbit=[_reply_mbit(outcomes[device]) for device, _ in wave],
                compute_factor=self.evaluate_share,
                deadline_secs=timeout,
            ).lost
        contents = self._answers(wave, outcomes, lost)
        if kind == EVALUATE:
            self._records.see_model(wave)
        if kind == EVALUATE and self._records.is_kept:
            self._records.evaluated(mean_metrics(contents, self._weighted_by))

    def _answers(
        self, wave: Wave, outcomes: Mapping[int, Outcome], lost: Mapping[int, str]
    ) -> list[RecordDict]:
        """Keeps the replies, and returns the contents of those that have one."""
        replies = self._clients.replies(wave, outcomes, lost)
        self._replies.update((reply.metadata.reply_to_message_id, reply) for reply in replies)
        return [reply.content for reply in replies if reply.has_content()]


def _reply_mbit(outcome: Outcome) -> float:
    reply = outcome.reply
    return mbit(reply.content) if reply is not None and reply.has_content() else 0.0
