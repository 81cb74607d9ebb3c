"""fedflip for Flower: coins as a strategy, and any Flower app on a virtual clock.

- :class:`CoinStrategy` is a Flower strategy in which each client takes part by its own coin.
- :class:`VirtualGrid` runs any Flower app in this process, on fedflip's virtual clock.
- :func:`measure` makes a fleet of one round of timed replies.
- :func:`partition_query` lets a ClientApp tell a strategy which device it is.

Examples:
    >>> import fedflip as ff
    >>> from fedflip.flower import CoinStrategy
    >>> plan = ff.plan(ff.Fleet.paper(10, seed=1), bandwidth_mbps=10, scheme="fixed=0.5")
    >>> CoinStrategy(plan, seed=1).cohort(round=1).tolist()
    [0, 1, 4, 6]
"""

from __future__ import annotations

try:
    import flwr.serverapp  # noqa: F401
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "flwr":
        raise
    raise ImportError(
        "fedflip.flower needs Flower, which is not installed: pip install flwr", name="flwr"
    ) from error

from fedflip.flower._grid import VirtualGrid
from fedflip.flower._measure import measure
from fedflip.flower._nodes import partition_query
from fedflip.flower._strategy import CoinStrategy

__all__ = ["CoinStrategy", "VirtualGrid", "measure", "partition_query"]
