"""Plan a fleet of your own that is a pandas DataFrame.

Run it with ``python own_fleet.py``. It needs pandas.
"""

from __future__ import annotations

import argparse

import fedflip as ff
import numpy as np
import pandas as pd

#: Each type of device: how many there are, seconds of computation in a round, and the limit of its link in Mbit/s.
TYPES = {
    "phone": (40, 1.2, 20.0),
    "tablet": (15, 2.5, 20.0),
    "camera": (30, 9.0, 2.0),
    "laptop": (15, 0.4, 50.0),
}

#: The model has 300,000 parameters of 32 bit, so an upload is 9.6 Mbit.
PAYLOAD_MBIT = 300_000 * 32 / 1e6


def devices(seed: int) -> pd.DataFrame:
    """A table with one row for each device, as a measurement of your own devices could have it."""
    generator = np.random.default_rng(seed)
    rows = []
    for kind, (number, compute_secs, link_mbps) in TYPES.items():
        for place in range(number):
            rows.append(
                {
                    "device": f"{kind}-{place:02}",
                    "compute_secs": compute_secs * generator.lognormal(sigma=0.3),
                    "comm_secs": PAYLOAD_MBIT,
                    "samples": int(generator.integers(50, 1000)),
                    "link_mbps": link_mbps,
                    "owner": "column that fedflip ignores",
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="draw fewer cohorts for the mean round time")
    draws = 200 if parser.parse_args().short else None

    frame = devices(seed=7)
    fleet = ff.Fleet(frame)
    print(fleet)

    plan = ff.plan(fleet, bandwidth_mbps=100, variance=0.2, overhead_secs=0.5, draws=draws)
    print(plan)

    frame["q"] = plan.q
    frame["kind"] = frame.device.str.split("-").str[0]
    print(frame.groupby("kind", sort=False)[["compute_secs", "q"]].mean().round(3).to_string())

    cohort = plan.sample(round=1, seed=1)
    shares = ff.allocate(fleet, cohort, bandwidth_mbps=100)
    print(
        f"Round 1 has {len(cohort)} devices and takes {shares.round_secs:.2f} s. "
        f"With equal shares it would take {shares.other_round_secs:.2f} s."
    )

    everyone = ff.plan(fleet, bandwidth_mbps=100, overhead_secs=0.5, scheme="full", draws=draws)
    assert plan.round_secs is not None and everyone.round_secs is not None
    print(
        f"A mean round takes {plan.round_secs:.2f} s, and {everyone.round_secs:.2f} s if all devices take part."
    )


if __name__ == "__main__":
    main()
