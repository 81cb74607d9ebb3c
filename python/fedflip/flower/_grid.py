"""Any Flower app on a virtual clock, in this process."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flwr.app import Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from fedflip import _fedflip
from fedflip._arguments import choice, listed, number, text
from fedflip._errors import FedflipError, InputError
from fedflip._fleet import Fleet, as_fleet
from fedflip._key import TrainKey
from fedflip.flower import _flwr
from fedflip.flower._client import seed_everything
from fedflip.flower._clients import FIRST_NODE, RUN_ID, Clients, checked_app
from fedflip.flower._config import run_config_of
from fedflip.flower._grid_records import GridRecords
from fedflip.flower._grid_rounds import GridRounds
from fedflip.flower._settings import clock_keys, native_scenario

__all__ = ["VirtualGrid"]

#: An app that asks for nodes so often without a message, each time after a pause, waits for clients that cannot come.
_LOOKS_MAX, _PAUSE_SECS = 30, 0.5


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
      of a round raise one before any client has trained, the round raises :class:`LearnerError`.

    The run folder has the rounds, and the means of what clients report. Its model is the last one that was sent to a
    client; results of ``evaluate_fn`` stay in the server app.

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
        payload: ``"fleet"``: uploads take the fleet's ``comm_secs``. ``"measured"``: they take a time by the size of each reply.
        seed: The seed of all random numbers; None leaves the generators of Python, numpy and PyTorch alone.
        run_config: The ``run_config`` of the apps: a dict, or the folder of an app with its ``pyproject.toml``.
        deadline_secs: After this time a round is over for clients that have not reported.
        overhead_secs: The time that every round takes in addition.
        downlink: ``"none"``, ``"broadcast"`` or ``"unicast"``: how clients get the model.
        downlink_bandwidth_mbps: The bandwidth of downloads.
        evaluate_share: The time of an EVALUATE message as a share of the device's compute time.
        weighted_by_key: The metric by which the means of metrics in the records are weighted.
        metrics: The names of metrics that no client reports before the second round, for the records.

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
        metrics: Sequence[str] = (),
    ) -> None:
        self.fleet: Fleet = as_fleet(fleet)
        optional = {
            "round.deadline_secs": deadline_secs,
            "round.overhead_secs": overhead_secs,
            "round.downlink": downlink,
            "downlink.bandwidth_mbps": downlink_bandwidth_mbps,
        }
        self._keys = clock_keys(bandwidth_mbps, conditions, 0 if seed is None else seed, optional)
        self._seed, self._run_config = seed, run_config_of(run_config)
        self._clients = Clients(client_app, len(self.fleet), workers, seed, self._run_config)
        named = listed("metrics", metrics, "a list of names", each=text)
        self._records = GridRecords(out, self.fleet, self._keys, named)
        self._rounds = GridRounds(
            _fedflip.VirtualClock(native_scenario(self.fleet, self._keys), self.fleet._native),
            self._clients,
            self._records,
            is_measured=choice("payload", payload, ("fleet", "measured")) == "measured",
            evaluate_share=number("evaluate_share", evaluate_share, least=0, most=100),
            weighted_by=text("weighted_by_key", weighted_by_key),
        )
        #: How often the app has asked for nodes since its last message, and when it did so last.
        self._looks, self._looked_at = 0, time.monotonic()
        #: Fleets that were measured on this grid.
        self._measured: list[Fleet] = []
        self._flower_run = _CallableRun.create_empty(RUN_ID)
        self._flower_run.__dict__["_grid"] = self

    @property
    def now(self) -> float:
        """The virtual time in seconds since the run began."""
        return self._rounds.clock.now_secs

    @property
    def _settings(self) -> dict[str, Any]:
        """What decides times and losses, beside the keys of the scenario."""
        payload = "measured" if self._rounds.is_measured else "fleet"
        seed = None if self._seed is None else int(self._seed)
        share = float(self._rounds.evaluate_share)
        return {"clock": "virtual", "seed": seed, "payload": payload, "evaluate_share": share}

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
        now = time.monotonic()
        self._looks += now - self._looked_at > _PAUSE_SECS
        self._looked_at = now
        if self._looks > _LOOKS_MAX:
            raise FedflipError(
                f"the app waits for more clients than the {len(self.fleet)} of the VirtualGrid",
                remedy="let the strategy wait for fewer clients, or make a fleet with more devices",
            )
        return list(self._clients.contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Runs the messages as one round, and returns their identifiers. Replies wait for ``pull_messages``."""
        self._looks = 0
        return self._rounds.push(list(messages), None)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """The replies to messages, each once."""
        return self._rounds.pull(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Runs the messages as one round. ``timeout`` counts virtual seconds."""
        self._looks = 0
        wanted = None if timeout is None else number("timeout", timeout)
        return self._rounds.pull(self._rounds.push(list(messages), wanted))

    # ---- the whole run

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
            self._records.end(self.now)
        finally:
            self.close()
        return context

    def close(self) -> None:
        """Ends worker processes, and closes the run folder. ``run`` does so by itself."""
        self._clients.close()
        self._records.close()
