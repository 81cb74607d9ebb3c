"""The clients."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from torchapp import task

app = ClientApp()


def received(msg: Message, context: Context):
    model = task.Net()
    model.load_state_dict(msg.content["arrays"].to_torch_state_dict())
    config = context.node_config
    return model, task.load_data(
        config["partition-id"], config["num-partitions"], context.run_config["batch-size"]
    )


@app.train()
def train(msg: Message, context: Context) -> Message:
    model, (loader, _) = received(msg, context)
    loss = task.train(model, loader, context.run_config["local-epochs"], msg.content["config"]["lr"])
    metrics = MetricRecord({"train_loss": loss, "num-examples": len(loader.dataset)})
    content = RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=msg)


@app.evaluate()
def evaluate(msg: Message, context: Context) -> Message:
    model, (_, loader) = received(msg, context)
    loss, accuracy = task.test(model, loader)
    metrics = MetricRecord({"eval_loss": loss, "eval_acc": accuracy, "num-examples": len(loader.dataset)})
    return Message(content=RecordDict({"metrics": metrics}), reply_to=msg)
