"""The server: a plan for the fleet, and a strategy that flips its coins."""

from __future__ import annotations

import fedflip as ff
from fedflip.flower import CoinStrategy
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp

from coinmnist import task

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    devices = int(config["num-devices"])
    # Compute and upload times of the paper's phones, with the samples that the devices hold.
    fleet = ff.Fleet.paper(devices, seed=7).with_samples(task.data(devices).samples)
    # A smaller sampling variance than the usual one, so that rounds have several clients.
    plan = ff.plan(fleet, bandwidth_mbps=float(config["bandwidth-mbps"]), variance=0.3)
    out = str(config["out"]) or None
    strategy = CoinStrategy(plan, seed=int(config["seed"]), out=out, resume=out is not None, fraction_evaluate=0.0)

    def evaluate(round: int, arrays: ArrayRecord) -> MetricRecord:
        return MetricRecord(task.test(arrays.to_numpy_ndarrays(), devices))

    arrays, rounds = ArrayRecord(task.first_model()), int(config["num-server-rounds"])
    result = strategy.start(grid, arrays, num_rounds=rounds, evaluate_fn=evaluate)
    last = result.evaluate_metrics_serverapp.get(rounds)
    if last is not None:
        print(f"accuracy {last['accuracy']:.3f} after {rounds} rounds")
