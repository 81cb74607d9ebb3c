"""Compare a sampling scheme of your own with schemes that fedflip has.

The scheme is *systematic sampling*: device n has the participation probability q_n of a plan, but cohorts have a nearly fixed
size, because one random number decides about all devices. The sum stays unbiased with the weights a/q.
Run it with ``python own_scheme.py``.
"""

from __future__ import annotations

import argparse

import fedflip as ff
import numpy as np
import numpy.typing as npt


class Systematic:
    """Draws cohorts of nearly equal sizes with given participation probabilities."""

    def __init__(self, plan: ff.Plan) -> None:
        self._q = np.array(plan.q)

    def __call__(
        self, round: int, seed: int, fleet: ff.Fleet
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The cohort of a round and its weights: a function of the arguments alone."""
        generator = np.random.default_rng([seed, round])
        # The intervals of all devices lie side by side on a line, in a random order. A comb with the step 1 and a random
        # offset hits the interval of device n with the probability q_n.
        order = generator.permutation(len(fleet))
        ends = np.cumsum(self._q[order]) + generator.random()
        hits = np.floor(ends) > np.floor(ends - self._q[order])
        cohort = np.sort(order[hits])
        return cohort, fleet.data_shares[cohort] / self._q[cohort]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="one seed, and a lower target")
    short = parser.parse_args().short

    scenario = ff.Scenario("synthetic", preset="paper", fleet={"bandwidth_mbps": 20})
    task = ff.tasks.load("synthetic", devices=50)
    paper = ff.Fleet.paper(50)
    fleet = ff.Fleet({**paper.columns(), "samples": task.samples})
    plan = ff.plan(fleet, bandwidth_mbps=20, variance=0.3)
    scheme = ff.Scheme(Systematic(plan), name="systematic", q=plan.q, unbiased=True)

    sizes = [len(scheme.draw(round, 1, fleet)[0]) for round in range(1, 201)]
    coins = [len(plan.sample(round=round, seed=1)) for round in range(1, 201)]
    print(
        f"Systematic cohorts have {min(sizes)} to {max(sizes)} devices, and coins give {min(coins)} to {max(coins)}."
    )

    found = ff.compare(
        scenario,
        schemes=["auto", scheme, f"fedavg={round(plan.expected_participants)}"],
        reference="auto",
        fleet=fleet,
        variance=0.3,
        stop=ff.Stop("accuracy", at=0.5 if short else 0.7),
        seeds=1 if short else 3,
        progress=False,
    )
    print(found)


if __name__ == "__main__":
    main()
