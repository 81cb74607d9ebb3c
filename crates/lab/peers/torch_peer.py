"""How many client updates per second PyTorch makes: one client per process, each on one thread.

`cargo xtask bench-peers` calls this and `fedflip bench` in turn. The work is the same: ten steps of SGD on
batches of 32, on a batch that stays the same, from a model that is there already. Prints one line of JSON.
"""

import argparse
import json
import multiprocessing
import pathlib
import sys
import time

import torch
from torch.nn import functional

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "crates/learn/tests/golden"))
from torch_models import MODELS  # noqa: E402

BATCH, ITERATIONS = 32, 10
# Long past any start: a client that is not there by then has failed, and the others would wait for it.
PATIENCE_SECS = 300


def client(name, channels_last):
    """A function that makes one update."""
    model = MODELS[name]
    module = model.make()
    if channels_last:
        module = module.to(memory_format=torch.channels_last)
        module.memory_format = torch.channels_last
    optimiser = torch.optim.SGD(module.parameters(), lr=1e-4)
    # Whole numbers below the number of symbols are a text, and an image as good as any.
    inputs = (torch.arange(BATCH * model.features) % 7).float().view(BATCH, model.features)
    labels = torch.arange(BATCH) % 10

    def update():
        for _ in range(ITERATIONS):
            optimiser.zero_grad()
            functional.cross_entropy(module(inputs), labels).backward()
            optimiser.step()

    return update


def measure(name, channels_last, secs, ready, rates):
    torch.set_num_threads(1)
    update = client(name, channels_last)
    update()
    # All clients run at the same time, or none of them has the machine that it would have.
    ready.wait(timeout=PATIENCE_SECS)
    start, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - start < secs:
        update()
        count += 1
    rates.put(count / (time.perf_counter() - start))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--processes", type=int, required=True)
    parser.add_argument("--secs", type=float, required=True)
    parser.add_argument("--channels-last", action="store_true")
    args = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    ready, rates = context.Barrier(args.processes), context.Queue()
    arguments = (args.model, args.channels_last, args.secs, ready, rates)
    clients = [context.Process(target=measure, args=arguments, daemon=True) for _ in range(args.processes)]
    for process in clients:
        process.start()
    for process in clients:
        process.join()
    if any(process.exitcode != 0 for process in clients):
        sys.exit("a client failed")
    total = sum(rates.get() for _ in clients)
    print(json.dumps({"model": args.model, "client_updates_per_sec": total}))


if __name__ == "__main__":
    main()
