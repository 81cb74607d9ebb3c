"""The rounds of a CoinStrategy from the first to the last: train, evaluate, record."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from logging import INFO
from typing import TYPE_CHECKING

from flwr.app import ArrayRecord, ConfigRecord, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result

from fedflip.flower._flwr import flower_log
from fedflip.flower._journal import Journal
from fedflip.flower._replies import record_metrics

if TYPE_CHECKING:
    from fedflip.flower._strategy import CoinStrategy

__all__ = ["RunLoop"]


@dataclass
class RunLoop:
    """What a run does again and again.

    Attributes:
        strategy: The strategy.
        grid: The grid.
        timeout: The longest time to wait for the replies of a round.
        train_config: The configuration of clients for training.
        evaluate_config: The configuration of clients for evaluation.
        evaluate_fn: Evaluates a model on the server.
        journal: The run folder, if there is one.
        result: The last model, and the metrics of the rounds so far.
    """

    strategy: CoinStrategy
    grid: Grid
    timeout: float | None
    train_config: ConfigRecord
    evaluate_config: ConfigRecord
    evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None
    journal: Journal | None
    result: Result = field(default_factory=Result)

    def run(self, first: int, last: int) -> None:
        """Runs the rounds from ``first`` to ``last``, and logs the result as Flower's strategies do."""
        began = time.monotonic()
        if first == 1:
            self._evaluate_on_server(0)
        for round in range(first, last + 1):
            flower_log(INFO, "[ROUND %s/%s]", round, last)
            self._train(round)
            self._evaluate_by_clients(round)
            self._evaluate_on_server(round)
            if self.journal is not None:
                self.journal.round_over(round)
        self.result.arrays = self.strategy._model_to_show()
        if self.journal is not None and not self.journal.had_ended and max(last, first - 1) > 0:
            # A process that was killed between its last checkpoint and the end has no round left.
            self.journal.end(max(last, first - 1))
        flower_log(INFO, "Strategy execution finished in %.2fs", time.monotonic() - began)
        for line in str(self.result).splitlines():
            flower_log(INFO, "\t%s", line)

    def _train(self, round: int) -> None:
        strategy = self.strategy
        assert strategy._record is not None
        messages = strategy.configure_train(round, strategy._record, self.train_config, self.grid)
        replies = self.grid.send_and_receive(messages, timeout=self.timeout)
        _, metrics = strategy.aggregate_train(round, replies)
        if metrics is not None:
            self.result.train_metrics_clientapp[round] = metrics

    def _evaluate_by_clients(self, round: int) -> None:
        strategy = self.strategy
        messages = strategy.configure_evaluate(
            round, strategy._model_to_show(), self.evaluate_config, self.grid
        )
        replies = self.grid.send_and_receive(messages, timeout=self.timeout)
        metrics = strategy.aggregate_evaluate(round, replies)
        if metrics is None:
            return
        flower_log(INFO, "\t└──> Aggregated MetricRecord: %s", metrics)
        self.result.evaluate_metrics_clientapp[round] = metrics
        self._note(round, record_metrics(metrics, "" if self.evaluate_fn is None else "client_"))

    def _evaluate_on_server(self, round: int) -> None:
        if self.evaluate_fn is None:
            return
        metrics = self.evaluate_fn(round, self.strategy._model_to_show())
        flower_log(INFO, "\t└──> MetricRecord of the server: %s", metrics)
        if metrics is None:
            return
        self.result.evaluate_metrics_serverapp[round] = metrics
        self._note(round, record_metrics(metrics, ""))

    def _note(self, round: int, metrics: Mapping[str, float]) -> None:
        if self.journal is None:
            return
        note = self.journal.records.initial if round == 0 else self.journal.records.evaluated
        note(metrics)
