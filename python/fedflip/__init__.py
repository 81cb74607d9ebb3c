"""Federated learning in which every device flips its own coin: plan, simulate and deploy.

A session in six lines:

    >>> import fedflip as ff
    >>> fleet = ff.Fleet.paper(100, seed=7)
    >>> plan = ff.plan(fleet, bandwidth_mbps=100)
    >>> run = ff.simulate(ff.Scenario("synthetic"), fleet=fleet, rounds_max=5, seed=1, progress=False)
    >>> len(run)
    5
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedflip._allocate import Allocation, allocate
from fedflip._bound import Bound, bound
from fedflip._compare import compare, pilot
from fedflip._comparison import Comparison, Pilot, Sweep
from fedflip._crew import Crew
from fedflip._errors import FedflipError, InputError, LearnerError
from fedflip._fedflip import __version__
from fedflip._fleet import Fleet
from fedflip._join import Farewell, join
from fedflip._key import TrainKey, seed_torch
from fedflip._learner import DivergedError, FlatLearner, Learner
from fedflip._observe import RoundRecord
from fedflip._plan import Plan
from fedflip._plan_compare import schemes
from fedflip._plan_make import plan
from fedflip._run import Run, open
from fedflip._scenario import Scenario
from fedflip._scheme import Scheme
from fedflip._serve import Listening, serve
from fedflip._simulate import simulate
from fedflip._stop import Stop
from fedflip._sweep import sweep
from fedflip._table import Table

if TYPE_CHECKING:
    from fedflip import certs, datasets, plots, tasks
    from fedflip._check_learner import check_learner
    from fedflip._check_report import LearnerReport
    from fedflip._executor_crew import ExecutorCrew
    from fedflip._mpi_crew import MpiCrew
    from fedflip._process_crew import ProcessCrew
    from fedflip._ray_crew import RayCrew
    from fedflip._torch import TorchLearner

__all__ = [
    "Allocation",
    "Bound",
    "Comparison",
    "Crew",
    "DivergedError",
    "ExecutorCrew",
    "Farewell",
    "FedflipError",
    "FlatLearner",
    "Fleet",
    "InputError",
    "Learner",
    "LearnerError",
    "LearnerReport",
    "Listening",
    "MpiCrew",
    "Pilot",
    "Plan",
    "ProcessCrew",
    "RayCrew",
    "RoundRecord",
    "Run",
    "Scenario",
    "Scheme",
    "Stop",
    "Sweep",
    "Table",
    "TorchLearner",
    "TrainKey",
    "__version__",
    "allocate",
    "bound",
    "certs",
    "check_learner",
    "compare",
    "datasets",
    "join",
    "open",
    "pilot",
    "plan",
    "plots",
    "schemes",
    "seed_torch",
    "serve",
    "simulate",
    "sweep",
    "tasks",
]

#: Names whose modules import torch or multiprocessing, which takes long: they are loaded when they are used.
_LAZY = {
    "ExecutorCrew": "fedflip._executor_crew",
    "LearnerReport": "fedflip._check_report",
    "MpiCrew": "fedflip._mpi_crew",
    "ProcessCrew": "fedflip._process_crew",
    "RayCrew": "fedflip._ray_crew",
    "TorchLearner": "fedflip._torch",
    "check_learner": "fedflip._check_learner",
}


#: Modules that not every program needs.
_MODULES = frozenset({"certs", "datasets", "plots", "tasks"})


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"fedflip.{name}")
    if name in _LAZY:
        from importlib import import_module

        try:
            return getattr(import_module(_LAZY[name]), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ImportError(f"{name} needs PyTorch: pip install torch", name="torch") from error
    from fedflip._nearest import nearest

    near = nearest(name, __all__)
    hint = f"; did you mean {near}?" if near else ""
    raise AttributeError(f"module 'fedflip' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted(__all__)
