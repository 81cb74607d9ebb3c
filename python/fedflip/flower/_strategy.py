"""A Flower strategy in which each client takes part by its own coin."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from logging import INFO, WARNING
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from flwr.app import ArrayRecord, ConfigRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from fedflip._arguments import choice, count, function, instance, listed, number, text
from fedflip._errors import FedflipError, InputError
from fedflip._plan import Plan
from fedflip.flower._clock import Clock
from fedflip.flower._flwr import flower_log
from fedflip.flower._grid import VirtualGrid
from fedflip.flower._journal import Journal, rounds_of_ended
from fedflip.flower._messages import samples_told, train_loss
from fedflip.flower._model import DivergedUpdateError, WeightedSum, arrays_of, record_of
from fedflip.flower._nodes import Nodes, evaluating
from fedflip.flower._replies import Aggregate, Reports, aggregated
from fedflip.flower._round_sum import Refusals, reason_of, summed
from fedflip.flower._run_loop import RunLoop
from fedflip.flower._server import ServerModel
from fedflip.flower._settings import native_scenario, optimiser_keys

__all__ = ["CoinStrategy"]


class CoinStrategy(Strategy):
    """A Flower strategy whose clients flip their own coins, with the probabilities of a plan.

    In round r, the clients ``plan.sample(round=r, seed=seed)`` train. Their changes of the model are added up with the
    weights a/q, in the order of the devices and in double precision, so that the sum is unbiased and its bytes do not depend
    on the order of the replies. An empty round keeps the model; with a server optimiser, its momentum still moves the model.

    A client that was drawn and does not report is lost: its part of the sum is missing, the round is marked in the
    records, and no other client's weight grows for it.

    Arrays may have any number and any numeric type, and keep it. Integers get the sum rounded to the nearest integer;
    booleans stay as the server has them. A server optimiser computes in single precision.

    Args:
        plan: The plan, with one device for each client. Client n is the node with ``partition-id`` n: see
            :func:`partition_query`.
        server_optimiser: What the server does with the sum: ``"momentum"``, ``"adam"``, ``"yogi"``, or a dict such as
            ``{"optimiser": "adam", "step": 0.01, "averaging": 0.9}`` with keys of ``[server]`` of a scenario.
        on_lost: ``"flag"`` continues without lost clients; ``"raise"`` ends the run.
        out: A run folder for records and checkpoints, which ``fedflip report`` and :func:`fedflip.open` read.
        resume: Continue the run in the folder, or begin it if there is none.
        seed: The seed of the coins.
        nodes: The device of each node id, in the place of partition ids.
        fraction_evaluate: The share of the connected clients that evaluate each model, as in ``FedAvg``.
        min_evaluate_nodes: The least number of clients that evaluate.
        min_available_nodes: The number of connected clients with which the run begins; by default all of the plan.
        weighted_by_key: The metric by which means of metrics are weighted.
        arrayrecord_key: The name of the arrays in messages.
        configrecord_key: The name of the configuration in messages.
        train_metrics_aggr_fn: As in ``FedAvg``.
        evaluate_metrics_aggr_fn: As in ``FedAvg``.
        checkpoint_secs: The least time between two checkpoints.
        metrics: The names of metrics that no evaluation before the second round has, for the records.

    Examples:
        >>> import fedflip as ff
        >>> plan = ff.plan(ff.Fleet.paper(10, seed=1), bandwidth_mbps=10, scheme="fixed=0.5")
        >>> strategy = CoinStrategy(plan, seed=1, server_optimiser="momentum")
        >>> strategy.cohort(round=2).tolist()
        [0, 1, 3, 8, 9]
    """

    def __init__(
        self,
        plan: Plan,
        *,
        server_optimiser: str | Mapping[str, Any] | None = None,
        on_lost: str = "flag",
        out: str | os.PathLike[str] | None = None,
        resume: bool = False,
        seed: int = 0,
        nodes: Mapping[int, int] | None = None,
        fraction_evaluate: float = 1.0,
        min_evaluate_nodes: int = 1,
        min_available_nodes: int | None = None,
        weighted_by_key: str = "num-examples",
        arrayrecord_key: str = "arrays",
        configrecord_key: str = "config",
        train_metrics_aggr_fn: Aggregate | None = None,
        evaluate_metrics_aggr_fn: Aggregate | None = None,
        checkpoint_secs: float = 10.0,
        metrics: Sequence[str] = (),
    ) -> None:
        instance("plan", plan, Plan, "a Plan", remedy="make one with fedflip.plan(fleet, bandwidth_mbps=…)")
        if resume and out is None:
            raise InputError("resume needs a folder", where="resume", value=True, remedy="add out=FOLDER")
        self.plan, self._out, self._resume = plan, out, resume
        self.seed = count("seed", seed)
        self._on_lost = choice("on_lost", on_lost, ("flag", "raise"))
        self._keys = {"seed": self.seed, **optimiser_keys(server_optimiser)}
        # Wrong settings and schemes without cohorts are refused here, and not in the first round.
        native_scenario(plan.fleet, self._keys, plan=plan)
        self.cohort(round=1)
        if not plan._native.flips_coins:
            raise InputError(
                f"the scheme {plan.scheme} draws no coins, and its sum has other weights than a/q",
                where="plan",
                value=plan,
                remedy="plan with a scheme of coins, such as auto, exact, weighted or fixed=0.3",
            )
        self._nodes = Nodes(plan.fleet.names, nodes)
        self.fraction_evaluate = number("fraction_evaluate", fraction_evaluate, least=0, most=1)
        self.min_evaluate_nodes = count("min_evaluate_nodes", min_evaluate_nodes)
        wanted = len(plan) if min_available_nodes is None else min_available_nodes
        self._wanted_nodes = count("min_available_nodes", wanted, least=1, most=len(plan))
        self.weighted_by_key = text("weighted_by_key", weighted_by_key)
        self.arrayrecord_key = text("arrayrecord_key", arrayrecord_key)
        self.configrecord_key = text("configrecord_key", configrecord_key)
        self._train_metrics_fn = function("train_metrics_aggr_fn", train_metrics_aggr_fn, optional=True)
        self._evaluate_metrics_fn = function(
            "evaluate_metrics_aggr_fn", evaluate_metrics_aggr_fn, optional=True
        )
        self._checkpoint_secs = number("checkpoint_secs", checkpoint_secs, least=0)
        self._metrics = listed("metrics", metrics, "a list of names", each=text)
        self._server: ServerModel | None = None
        self._record: ArrayRecord | None = None
        self._clock: Clock | None = None
        self._journal: Journal | None = None
        self._refusals = Refusals()
        self._node_of: dict[int, int] = {}
        self._cohort: list[int] = []
        self._sent_at = 0.0
        self._has_warned = False
        #: The clients that were lost in the last round, each with the reason.
        self.lost: dict[int, str] = {}

    def cohort(self, *, round: int) -> npt.NDArray[np.int64]:
        """The devices whose coins say that they take part in a round, counted from 1."""
        return self.plan.sample(round=round, seed=self.seed)

    def summary(self) -> None:
        """Logs the settings of the strategy."""
        flower_log(INFO, "\t├──> Coins of the scheme %s, seed %d", self.plan.scheme, self.seed)
        flower_log(INFO, "\t│\t├── Devices: %d", len(self.plan))
        flower_log(INFO, "\t│\t└── Mean number of clients a round: %.2f", self.plan.expected_participants)
        flower_log(INFO, "\t└──> Lost clients: %s", self._on_lost)

    # ---- training

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Flips the coins of a round, and makes a message for each client that takes part."""
        if self._out is not None and self._journal is None:
            raise FedflipError(
                "the strategy has a run folder, and another strategy calls it: nothing would be written",
                remedy="leave out= away from a strategy that another one wraps, and give it to the VirtualGrid",
            )
        self._take(arrays)
        if self._clock is None:
            self._clock = Clock(grid, self.plan)
        self._node_of = self._nodes.of_round(grid, self._wanted_nodes)
        self._cohort = self.cohort(round=server_round).tolist()
        config["server-round"] = server_round
        content = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        drawn = [device for device in self._cohort if device in self._node_of]
        flower_log(INFO, "configure_train: %d of %d coins say yes", len(self._cohort), len(self.plan))
        self._clock.begin_round(server_round)
        self._sent_at = time.time()
        return [Message(content, self._node_of[device], MessageType.TRAIN) for device in drawn]

    def _take(self, arrays: ArrayRecord) -> ServerModel:
        """Takes over a model that is not the one of the last round, such as the first one."""
        if self._server is None:
            model = arrays_of(arrays, "the first model")
            self._server = ServerModel(self.plan, self._keys, model)
        elif arrays is not self._record:
            self._server.arrays = arrays_of(arrays, "the model")
        self._record = arrays
        return self._server

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Adds up what the clients have sent, with the weights a/q. None in the place of arrays keeps the model."""
        if self._server is None or self._clock is None:
            raise FedflipError("aggregate_train came before configure_train", remedy="call strategy.start")
        reports = Reports(replies, {node: device for device, node in self._node_of.items()}, self._cohort)
        try:
            total, refused = summed(self.plan, self._server.arrays, reports, server_round)
            for device, problem in refused.items():
                reports.refuse(device, reason_of(problem), problem)
            self._refusals.see(total, refused)
        except DivergedUpdateError as error:
            self._diverge(server_round, error)
        self.lost = self._clock.reasons(reports.lost(self._cohort, self._node_of))
        if self._journal is not None:
            took_secs = {device: at - self._sent_at for device, at in reports.created_at.items()}
            loss = train_loss(reports.contents)
            record = self._clock.record(server_round, self._cohort, took_secs, self.lost, loss)
            self._journal.records.round(record)
        self._see_lost(server_round)
        self._warn_of_samples(reports)
        has_moved = self._step(server_round, total)
        metrics = aggregated(self._train_metrics_fn, reports.contents, self.weighted_by_key)
        if not has_moved:
            return None, metrics
        self._record = record_of(self._server.arrays)
        return self._record, metrics

    def _step(self, round: int, total: WeightedSum) -> bool:
        assert self._server is not None
        try:
            return self._server.advance(round, total)
        except DivergedUpdateError as error:
            self._diverge(round, error)

    def _diverge(self, round: int, error: DivergedUpdateError) -> NoReturn:
        if self._journal is not None:
            self._journal.records.drop_round()
            self._journal.end(round - 1, "diverged", str(error))
        raise FedflipError(f"the run diverged: {error}", remedy="use a smaller learning rate") from None

    def _warn_of_samples(self, reports: Reports) -> None:
        """Says once that a client reports another number of samples than the fleet has."""
        if self._has_warned:
            return
        for device, content in reports.by_device:
            told, planned = samples_told(content, self.weighted_by_key), self.plan.fleet.samples[device]
            if told is not None and told != planned:
                self._has_warned = True
                flower_log(
                    WARNING,
                    "The client of device %d reports %s = %g, and the plan's fleet has %g samples: weights follow the plan.",
                    device,
                    self.weighted_by_key,
                    told,
                    planned,
                )
                return

    def _see_lost(self, round: int) -> None:
        if not self.lost:
            return
        named = ", ".join(f"{device} ({reason})" for device, reason in sorted(self.lost.items()))
        problem = f"round {round}: {len(self.lost)} of {len(self._cohort)} clients did not report: {named}"
        if self._on_lost == "raise":
            raise FedflipError(problem, remedy='let rounds continue without lost clients with on_lost="flag"')
        flower_log(WARNING, "%s. The step of this round is biased.", problem)

    # ---- evaluation by clients

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Makes a message for each client that evaluates the model, as ``FedAvg`` does."""
        if self.fraction_evaluate <= 0.0:
            return []
        share, least = self.fraction_evaluate, self.min_evaluate_nodes
        chosen = evaluating(self._node_of, share, least, seed=self.seed, round=server_round)
        config["server-round"] = server_round
        content = RecordDict({self.arrayrecord_key: arrays, self.configrecord_key: config})
        return [Message(content, self._node_of[device], MessageType.EVALUATE) for device in chosen]

    def aggregate_evaluate(self, server_round: int, replies: Iterable[Message]) -> MetricRecord | None:
        """The means of the clients' metrics, weighted by their number of samples."""
        reports = Reports(replies, {node: device for device, node in self._node_of.items()})
        return aggregated(self._evaluate_metrics_fn, reports.contents, self.weighted_by_key)

    # ---- the whole run

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float | None = None,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> Result:
        """Runs the rounds, as every Flower strategy does; with ``resume`` those that are left.

        Args:
            grid: The grid.
            initial_arrays: The first model.
            num_rounds: The last round.
            timeout: The longest time to wait for the replies of a round, in seconds. The default is an hour, and no limit on a
                virtual clock, where it would be a deadline that the plan does not know.
            train_config: The configuration of clients for training.
            evaluate_config: The configuration of clients for evaluation.
            evaluate_fn: Evaluates a model on the server.

        Returns:
            The last model, and the metrics of the rounds of this call.
        """
        if timeout is None and not isinstance(grid, VirtualGrid):
            timeout = 3600.0
        flower_log(INFO, "Starting %s strategy:", type(self).__name__)
        self.summary()
        train_config = ConfigRecord() if train_config is None else train_config
        evaluate_config = ConfigRecord() if evaluate_config is None else evaluate_config
        self._journal = None
        try:
            rounds = self._begin(grid, initial_arrays, count("num_rounds", num_rounds))
            loop = RunLoop(self, grid, timeout, train_config, evaluate_config, evaluate_fn, self._journal)
            loop.run(rounds + 1, num_rounds)
        finally:
            if self._journal is not None:
                self._journal.close()
                self._journal = None
        return loop.result

    def _begin(self, grid: Grid, arrays: ArrayRecord, num_rounds: int) -> int:
        """Prepares the server and the folder, and returns the number of rounds that are done."""
        self._server = self._record = None
        self._refusals = Refusals()
        self._node_of = {}
        self._nodes.begin()
        self._clock = Clock(grid, self.plan)
        server = self._take(arrays)
        if self._out is None:
            return 0
        rounds_max = max(1, num_rounds, rounds_of_ended(self._out) if self._resume else 0)
        keys = {**self._keys, "stop.rounds_max": rounds_max}
        self._journal = Journal(self._out, keys, server, self._clock, self._checkpoint_secs, self._metrics)
        rounds = self._journal.begin(self._resume, self._refusals)
        if rounds:
            flower_log(INFO, "fedflip: resumed after round %d", rounds)
            self._record = record_of(server.arrays)
        return rounds

    def _model_to_show(self) -> ArrayRecord:
        """The model to evaluate and to return."""
        assert self._server is not None and self._record is not None
        result = self._server.result
        return self._record if result is self._server.arrays else record_of(result)
