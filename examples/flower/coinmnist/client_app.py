"""The clients."""

from __future__ import annotations

from fedflip.flower import partition_query
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from coinmnist import task

# The one line for fedflip: CoinStrategy asks a client which device it is.
app = partition_query(ClientApp())


@app.train()
def train(message: Message, context: Context) -> Message:
    device = int(context.node_config["partition-id"])
    round = int(message.content["config"]["server-round"])
    model = message.content["arrays"].to_numpy_ndarrays()
    after, loss, samples = task.train(model, device, round, dict(context.run_config))
    metrics = MetricRecord({"train_loss": loss, "num-examples": samples})
    return Message(RecordDict({"arrays": ArrayRecord(after), "metrics": metrics}), reply_to=message)
