"""Which node is which device, and replies that come late, twice or from somebody else."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import fedflip as ff
import numpy as np
import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.flower

import flower_apps as apps
from fedflip.flower import CoinStrategy, partition_query
from fedflip.flower._flwr import ErrorCode, identity
from flwr.app import ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid

FLEET = ff.Fleet(
    {"compute_secs": [1.0, 2.0, 3.0, 1.5], "comm_secs": [1.0, 2.0, 1.0, 0.5], "samples": [10, 20, 30, 40]}
)
FULL = ff.Plan.from_q(FLEET, [1.0] * 4)


class FakeGrid(Grid):
    """Nodes whose answers a test decides; there is no client behind them."""

    def __init__(self, answers: dict[int, Any]) -> None:
        self.answers = answers

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any: ...

    def create_message(self, *words: Any) -> Any: ...

    def get_node_ids(self) -> Iterable[int]:
        return list(self.answers)

    def push_messages(self, messages: Any) -> Any: ...

    def pull_messages(self, message_ids: Any) -> Any: ...

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> Any:
        for message in messages:
            answer = self.answers[message.metadata.dst_node_id]
            content = answer
            if isinstance(answer, dict):
                content = RecordDict({"fedflip": ConfigRecord(answer)})
            yield Message(content, reply_to=message)


def configured(answers: dict[int, Any], **more: Any) -> list[int]:
    strategy = CoinStrategy(FULL, min_available_nodes=1, **more)
    with identity(1):
        messages = strategy.configure_train(1, apps.first_model(), ConfigRecord(), FakeGrid(answers))
    return [message.metadata.dst_node_id for message in messages]


def test_nodes_are_matched_to_devices() -> None:
    ids = {77: {"partition-id": 2}, 55: {"partition-id": 0}, 66: {"partition-id": 1}}
    assert configured(ids) == [55, 66, 77]
    assert configured({77: {}, 55: {}}, nodes={77: 0, 55: 3}) == [77, 55]
    gone = Error(ErrorCode.NODE_UNAVAILABLE, "the node is gone")
    assert configured({**ids, 88: gone}) == [55, 66, 77]
    wrong = {
        "node 88 has the partition-id 9, and there are 4 devices": {"partition-id": 9},
        "node 88 has no partition-id": {},
        "node 88 has no partition-id.*hint: start": RecordDict({"other": ConfigRecord()}),
        "nodes 77 and 88 both have the partition-id 2": {"partition-id": 2},
        "node 88 does not tell its partition-id": Error(
            ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "no query function"
        ),
    }
    for problem, answer in wrong.items():
        with pytest.raises(ff.InputError, match=f"(?s){problem}"):
            configured({**ids, 88: answer})
    with pytest.raises(ff.InputError, match="node 66 is not in the plan"):
        configured({66: {}}, nodes={77: 0})


def test_an_error_of_the_superlink_is_a_lost_client() -> None:
    strategy = CoinStrategy(FULL, nodes={5: 0, 6: 1, 7: 2}, min_available_nodes=3)
    with identity(1):
        arrays = apps.first_model()
        first, *_ = strategy.configure_train(1, arrays, ConfigRecord(), FakeGrid({5: {}, 6: {}, 7: {}}))
        good = Message(RecordDict({"arrays": arrays}), reply_to=first)
        bad = Message(Error(ErrorCode.MESSAGE_UNAVAILABLE, "gone"), reply_to=first)
        bad.metadata.__dict__["_src_node_id"] = 1
        strategy.aggregate_train(1, [bad, good])
        assert strategy.lost == {1: "unavailable", 2: "unavailable", 3: "offline"}
        strategy.configure_train(2, arrays, ConfigRecord(), FakeGrid({5: {}, 6: {}, 7: {}}))
        strategy.aggregate_train(2, [good])
        assert strategy.lost == {1: "timeout", 2: "timeout", 3: "offline"}
        stranger = Message(RecordDict({"arrays": arrays}), reply_to=first)
        stranger.metadata.__dict__["_src_node_id"] = 99
        with pytest.raises(ff.InputError, match="a reply from node 99, which is not in the plan"):
            strategy.aggregate_train(2, [stranger])


def test_a_query_tells_the_partition() -> None:
    app = partition_query(ClientApp())
    with identity(1):
        message = Message(RecordDict(), 5, "query.fedflip_partition")
        context = Context(1, 5, {"partition-id": 3}, RecordDict(), {})
        assert app(message, context).content["fedflip"]["partition-id"] == 3


class Rounds:
    """A strategy on a grid whose nodes change between rounds."""

    def __init__(self, answers: dict[int, Any], plan: Any = FULL, **more: Any) -> None:
        self.grid, self.round = FakeGrid(answers), 0
        self.strategy = CoinStrategy(plan, **{"min_available_nodes": len(answers), **more})

    def messages(self) -> list[Message]:
        self.round += 1
        arrays = ArrayRecord([np.zeros(2)])
        return list(self.strategy.configure_train(self.round, arrays, ConfigRecord(), self.grid))

    def nodes(self) -> list[int]:
        return [message.metadata.dst_node_id for message in self.messages()]


def test_a_node_that_starts_again_takes_over_from_its_old_id(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A SuperLink lists the old id until it has missed some heartbeats."""
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    with identity(1):
        rounds = Rounds({55: {"partition-id": 0}, 66: {"partition-id": 1}})
        assert rounds.nodes() == [55, 66]
        rounds.grid.answers[44] = {"partition-id": 1}
        assert rounds.nodes() == [55, 44]
        assert "nodes 66 and 44 both have the partition-id 1. Node 66 is left out." in caplog.text
        assert rounds.nodes() == [55, 44]
        assert caplog.text.count("both have") == 1
        del rounds.grid.answers[66]
        assert rounds.nodes() == [55, 44]
        rounds.grid.answers[77] = {"partition-id": 1}
        assert rounds.nodes() == [55, 77]


@pytest.mark.parametrize(
    "stranger",
    [
        {"partition-id": 9},
        {},
        RecordDict(),
        Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "no query function"),
    ],
)
def test_a_stranger_that_connects_in_the_middle_of_a_run_is_left_out(
    stranger: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    with identity(1):
        rounds = Rounds({55: {"partition-id": 0}, 66: {"partition-id": 1}})
        assert rounds.nodes() == [55, 66]
        rounds.grid.answers[88] = stranger
        assert rounds.nodes() == [55, 66] and rounds.nodes() == [55, 66]
    assert caplog.text.count("Node 88 is left out.") == 1


def test_a_stranger_to_a_mapping_is_left_out_later() -> None:
    with identity(1):
        rounds = Rounds({55: {}, 66: {}}, nodes={55: 0, 66: 3})
        assert rounds.nodes() == [55, 66]
        rounds.grid.answers[88] = {}
        assert rounds.nodes() == [55, 66]


def reply(message: Message, value: float, node: int | None = None) -> Message:
    answer = Message(RecordDict({"arrays": ArrayRecord([np.full(2, value)])}), reply_to=message)
    if node is not None:
        answer.metadata.__dict__["_src_node_id"] = node
    return answer


def test_replies_that_are_late_or_come_twice_do_not_count() -> None:
    """Device 3 alone is drawn; device 0 was not, and its weight would be a thousand."""
    plan = ff.Plan.from_q(FLEET, [0.001, 0.001, 0.001, 1.0])
    with identity(1):
        rounds = Rounds({5: {}, 6: {}, 7: {}, 8: {}}, plan, nodes={5: 0, 6: 1, 7: 2, 8: 3})
        (message,) = rounds.messages()
        replies = [reply(message, 1.0, 5), reply(message, 2.0), reply(message, 100.0)]
        arrays, _ = rounds.strategy.aggregate_train(1, replies)
    assert arrays is not None
    assert np.allclose(arrays["0"].numpy(), 2.0 * FLEET.data_shares[3])
    assert rounds.strategy.lost == {}
