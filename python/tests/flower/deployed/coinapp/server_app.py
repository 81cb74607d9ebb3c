"""Three devices with coins; the folder of the run is part of the configuration."""

import fedflip as ff
import numpy as np
from fedflip.flower import CoinStrategy
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    fleet = ff.Fleet({"compute_secs": [1.0, 1.0, 1.0], "comm_secs": [1.0, 1.0, 1.0], "samples": [10, 10, 10]})
    plan = ff.Plan.from_q(fleet, [0.9, 0.8, 0.9], bandwidth_mbps=10)
    out = str(context.run_config["out"])
    # Clients of the deployment engine start a process for each message: one of the three evaluates each model.
    strategy = CoinStrategy(plan, seed=1, out=out, checkpoint_secs=0.0, fraction_evaluate=0.5)
    rounds = int(context.run_config["num-server-rounds"])
    strategy.start(grid, ArrayRecord([np.zeros(4, np.float32)]), num_rounds=rounds, timeout=60.0)
