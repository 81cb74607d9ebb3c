"""Moves the model toward the number of the client."""

import numpy as np
from fedflip.flower import partition_query
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

app = partition_query(ClientApp())


@app.train()
def train(message: Message, context: Context) -> Message:
    (model,) = message.content["arrays"].to_numpy_ndarrays()
    device = int(context.node_config["partition-id"])
    after = (model + 0.1 * (device - model)).astype(np.float32)
    metrics = MetricRecord({"train_loss": float(np.square(after - device).mean()), "num-examples": 10})
    return Message(RecordDict({"arrays": ArrayRecord([after]), "metrics": metrics}), reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    (model,) = message.content["arrays"].to_numpy_ndarrays()
    loss = float(np.square(model - int(context.node_config["partition-id"])).mean())
    return Message(
        RecordDict({"metrics": MetricRecord({"loss": loss, "num-examples": 10})}), reply_to=message
    )
