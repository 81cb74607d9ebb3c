"""Which node is which device: by their partition ids."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from logging import INFO, WARNING
from typing import Any

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid

from fedflip._arguments import wrong
from fedflip._errors import InputError
from fedflip._key import TrainKey
from fedflip.flower._flwr import PARTITION_ID_KEY, ErrorCode, flower_log
from fedflip.flower._grid import VirtualGrid

__all__ = ["Nodes", "evaluating", "partition_query"]

_ACTION = "fedflip_partition"
_RECORD = "fedflip"
_QUERY_SECS = 60.0
#: A round in which nobody is connected waits so long: a SuperLink may have lost its nodes for a moment.
_PATIENCE_SECS = 30.0
_POLL_SECS = 1.0
#: The longest pause before a node that gives no answer is asked again.
_PAUSE_MAX_SECS = 3600.0


def partition_query(app: ClientApp) -> ClientApp:
    """Lets a ClientApp tell a :class:`CoinStrategy` which device it is, by the ``partition-id`` of its node.

    Flower's node ids are different in each run. Flower's simulations set ``partition-id`` themselves; a SuperNode is started
    with ``--node-config "partition-id=0"``. A :class:`VirtualGrid` needs no such query.

    Args:
        app: The app, which gets a handler for one more message.

    Returns:
        The same app.

    Examples:
        >>> from flwr.clientapp import ClientApp
        >>> app = partition_query(ClientApp())
    """

    @app.query(_ACTION)
    def answer(message: Message, context: Context) -> Message:
        known = context.node_config.get(PARTITION_ID_KEY)
        config = ConfigRecord({} if known is None else {PARTITION_ID_KEY: int(known)})
        return Message(RecordDict({_RECORD: config}), reply_to=message)

    return app


def evaluating(connected: Iterable[int], share: float, least: int, *, seed: int, round: int) -> list[int]:
    """The devices that evaluate the model of a round: as many as ``FedAvg`` draws, but by the seed."""
    devices = sorted(connected)
    wanted = max(int(len(devices) * share), least)
    draw = TrainKey(seed, round, 0).numpy_generator("flower-evaluate")
    chosen: list[int] = draw.choice(devices, min(wanted, len(devices)), replace=False).tolist()
    return sorted(chosen)


#: After this time without a new client, whoever waits is told again, and how to help.
_TELL_SECS = 30.0
_STILL_WAITING = (
    "Still waiting for clients: %d of %d are connected. In Flower's simulation, "
    "`flwr federation simulation-config --num-supernodes` sets the number of nodes."
)


class Nodes:
    """The nodes of the devices of a plan.

    While a run waits for its clients, a node that does not fit is an error. Later it is left out with a warning: nobody
    ends a run by connecting to it. A SuperNode that starts again has a new id, and takes over from its old one.

    Args:
        names: The names of the devices.
        given: The device of each node, if the user says so.
    """

    def __init__(self, names: tuple[str, ...], given: Mapping[int, int] | None) -> None:
        if not isinstance(given, Mapping | None):
            raise wrong("nodes", given, "a dict", "give nodes={node_id: device}")
        self._names = names
        self._device_of = {node: self._checked(node, device) for node, device in (given or {}).items()}
        self._is_given = given is not None
        self._has_begun = False
        self._strangers: set[int] = set()
        #: When nodes that gave no answer are asked again, and the pause after that.
        self._silent: dict[int, tuple[float, float]] = {}

    def begin(self) -> None:
        """A run begins: it waits for its clients once."""
        self._has_begun = False

    def of_round(self, grid: Grid, wanted: int) -> dict[int, int]:
        """The node of each device that is connected. The first round of a run waits for the wanted number.

        Clients that are gone later are lost. Where nobody is left, a round waits a little, so that a SuperLink that starts
        again does not cost all rounds of the run.
        """
        if not self._has_begun:
            return self.wait(grid, wanted)
        until = time.monotonic() + _PATIENCE_SECS
        while not (node_of := self.connected(grid)) and time.monotonic() < until:
            flower_log(WARNING, "fedflip: no client is connected.")
            time.sleep(_POLL_SECS)
        return node_of

    def connected(self, grid: Grid) -> dict[int, int]:
        """The node of each device that is connected. Nodes that are new are asked."""
        online = list(grid.partitions if isinstance(grid, VirtualGrid) else grid.get_node_ids())
        if isinstance(grid, VirtualGrid) and self._is_given and self._device_of != grid.partitions:
            raise InputError(
                "nodes names other devices than those of the VirtualGrid, whose node n is device n",
                where="nodes",
                value=self._device_of,
                remedy="leave nodes out: a VirtualGrid knows its devices",
            )
        if isinstance(grid, VirtualGrid) and not self._is_given:
            self._device_of = {node: self._checked(node, device) for node, device in grid.partitions.items()}
        # A node that comes back is asked at once.
        self._silent = {node: times for node, times in self._silent.items() if node in set(online)}
        known = self._device_of.keys() | self._strangers
        unknown = [node for node in online if node not in known]
        if unknown and self._is_given:
            for node in unknown:
                self._leave_out(
                    node,
                    InputError(
                        f"node {node} is not in the plan: nodes has no device for it",
                        where="nodes",
                        value=node,
                        remedy="add the node to nodes={node_id: device}",
                    ),
                )
        else:
            now = time.monotonic()
            self._ask(grid, [node for node in unknown if self._silent.get(node, (0.0, 0.0))[0] <= now])
        return self._one_each(online)

    def _one_each(self, online: list[int]) -> dict[int, int]:
        """The node of each device. Of two with the same partition-id, the one that came later is the device."""
        node_of: dict[int, int] = {}
        connected = set(online)
        for node, device in self._device_of.items():
            if node not in connected:
                continue
            earlier = node_of.get(device)
            if earlier is not None:
                self._leave_out(
                    earlier,
                    InputError(
                        f"nodes {earlier} and {node} both have the partition-id {device}",
                        where=PARTITION_ID_KEY,
                        value=device,
                        remedy="give every node a partition-id of its own",
                    ),
                )
            node_of[device] = node
        for node in self._strangers & self._device_of.keys():
            del self._device_of[node]
        return node_of

    def wait(self, grid: Grid, wanted: int) -> dict[int, int]:
        """Waits until the wanted number of devices is connected, as Flower's strategies do."""
        seen, told_at = -1, time.monotonic()
        self._has_begun = False
        while len(node_of := self.connected(grid)) < wanted:
            if isinstance(grid, VirtualGrid):
                raise InputError(
                    f"{wanted} clients are wanted, and the VirtualGrid has {len(node_of)}: no other will connect",
                    where="grid",
                    value=grid,
                    remedy="ask for as many clients as the fleet of the grid has",
                )
            if len(node_of) != seen:
                seen, told_at = len(node_of), time.monotonic()
                flower_log(INFO, "Waiting for clients: %d of %d are connected.", seen, wanted)
            elif time.monotonic() - told_at > _TELL_SECS:
                told_at = time.monotonic()
                flower_log(WARNING, _STILL_WAITING, seen, wanted)
            time.sleep(_POLL_SECS)
        self._has_begun = True
        return node_of

    def _leave_out(self, node: int, error: InputError) -> None:
        """A node that does not fit is a mistake of the set-up, and in the middle of a run nobody's but its own."""
        if not self._has_begun:
            raise error
        self._strangers.add(node)
        flower_log(WARNING, "fedflip: %s. Node %d is left out.", error.problem, node)

    def _ask(self, grid: Grid, nodes: list[int]) -> None:
        if not nodes:
            return
        began = time.monotonic()
        asked = [Message(RecordDict({_RECORD: ConfigRecord({})}), node, f"query.{_ACTION}") for node in nodes]
        for reply in grid.send_and_receive(asked, timeout=_QUERY_SECS):
            node = reply.metadata.src_node_id
            try:
                if reply.has_error():
                    self._refuse_unless_gone(node, reply.error)
                else:
                    self._device_of[node] = self._checked(node, self._told(node, reply.content))
            except InputError as error:
                self._leave_out(node, error)
        self._pause(nodes, began)

    def _pause(self, nodes: list[int], began: float) -> None:
        """Asks nodes without an answer later, each time after twice the pause: asking may take its whole time limit."""
        now = time.monotonic()
        for node in nodes:
            _, pause = self._silent.pop(node, (0.0, max(_POLL_SECS, now - began)))
            if node not in self._device_of and node not in self._strangers:
                self._silent[node] = now + pause, min(2 * pause, _PAUSE_MAX_SECS)

    @staticmethod
    def _told(node: int, content: RecordDict) -> Any:
        """The partition-id in an answer."""
        record = content.config_records.get(_RECORD)
        device = None if record is None else record.get(PARTITION_ID_KEY)
        if device is None:
            raise InputError(
                f"node {node} has no partition-id",
                where=PARTITION_ID_KEY,
                value=node,
                remedy='start it with --node-config "partition-id=0", or give nodes={node_id: device}',
            )
        return device

    def _refuse_unless_gone(self, node: int, error: Any) -> None:
        """An app that cannot answer is a mistake; a node that has gone is not, and is asked again when it is back."""
        codes = (
            ErrorCode.CLIENT_APP_RAISED_EXCEPTION,
            ErrorCode.LOAD_CLIENT_APP_EXCEPTION,
            ErrorCode.UNKNOWN,
        )
        if error.code in codes:
            raise InputError(
                f"node {node} does not tell its partition-id: {error.reason}",
                where="client_app",
                value=node,
                remedy="add fedflip.flower.partition_query(app) to the ClientApp, or give nodes={node_id: device}",
            )
        flower_log(WARNING, "fedflip: node %d gave no answer: %s", node, error.reason)

    def _checked(self, node: int, device: Any) -> int:
        whole = isinstance(device, int) and not isinstance(device, bool)
        if not whole or not 0 <= device < len(self._names):
            raise InputError(
                f"node {node} has the partition-id {device!r}, and there are {len(self._names)} devices",
                where=PARTITION_ID_KEY,
                value=device,
                remedy=f"use partition ids from 0 to {len(self._names) - 1}, or count all clients as devices",
            )
        return int(device)
