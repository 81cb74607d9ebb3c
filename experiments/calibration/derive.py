"""Infer the compute times of the paper's five device types from the paper's own results.

The paper prints ratios of training times (Table I, Fig. 5) and no device times. This script looks for the five compute
times, in units of the time that one upload takes on the whole bandwidth of 100 Mbit/s, under which the paper's model gives
these ratios. Needs Python 3 and NumPy. Every random number comes from SEED, so a second run prints the same text.

Notation is the paper's: a data shares, tau compute and t communication seconds, f bandwidth, c = t/f + tau, q participation
probabilities, C = sum a^2/q. The time of a scheme is R(q) E[T(q)] with R = alpha/(beta - C).
"""

import argparse
import sys

import numpy as np

SEED = 20240713
# The authors' constants for CNN@MNIST, from their published code. Alpha cancels in every ratio.
ALPHA, BETA = 28.474, 2.2043
TYPES, PER_TYPE = 5, 20
DEVICES = TYPES * PER_TYPE
LABELS, CONCENTRATION = 10, 0.8
BANDWIDTHS = (1.0, 2.0, 4.0)  # 100, 200 and 400 Mbit/s in units of 100 Mbit/s
TARGETS = {  # name: (times over the proposed scheme in the paper, its place there)
    "full": (7.35, "Table I"),
    "fixed=0.2": (3.58, "Table I"),
    "weighted": (1.57, "Table I"),
    "uniform": (1.68, "Table I"),
    "full, 200 Mbit/s": (6.26, "Fig. 5"),
    "full, 400 Mbit/s": (5.68, "Fig. 5"),
}
# Below 0.05 of an upload a compute time no longer shows in any ratio.
LOWEST, HIGHEST = 0.05, 500.0
STARTS = (
    (1, 1, 1, 1, 1), (0.1, 0.1, 0.1, 10, 50), (1, 2, 4, 8, 16), (2, 2, 2, 2, 54), (0.1, 0.1, 10, 30, 60),
    (5, 5, 5, 5, 100), (0.1, 0.1, 0.1, 0.1, 30), (0.1, 1, 10, 30, 100),
)
REFERENCES = {
    "the profile paper-calibrated": (0.05, 0.05, 0.05, 10.7, 54),
    "one straggler type": (2, 2, 2, 2, 54),
    # 0.92 GFLOP at each speed over 0.7 Mbit at each link efficiency.
    "the profile paper": (2.90, 7.05, 11.3, 14.8, 24.8),
}


def label_shares(rng):
    """Data shares when the samples of each label are split over the devices by Dirichlet(0.8)."""
    return rng.dirichlet(np.full(DEVICES, CONCENTRATION), LABELS).mean(axis=0)


def proposed(a, c):
    """P3 in closed form: q = min(1, lo + s sqrt(lo/c)), and s the root of its one-dimensional condition."""
    lo = a**2 * DEVICES / BETA
    s = np.sqrt(np.sum(c * lo) / DEVICES)
    for _ in range(100):
        # Stationarity is s^2 (N + sum lo/(q - lo)) = sum q c; what is free of s on either side is solved for s.
        q = lo + s * np.sqrt(lo / c)
        free = q < 1
        fixed_sum = np.sum(1 + lo[~free] / (1 - lo[~free])) + np.sum(free)
        after = np.sqrt((np.sum(c[~free]) + np.sum((c * lo)[free])) / fixed_sum)
        if abs(after - s) <= 1e-13 * s:
            break
        s = after
    return np.minimum(1, lo + s * np.sqrt(lo / c))


def round_times(tau, cohorts, f):
    """T of each cohort (rows of booleans): the root of sum t/(T - tau) = f with t = 1, and 0 for an empty cohort."""
    here = cohorts[cohorts.any(axis=1)]
    time = np.max(np.where(here, tau, 0), axis=1) + 1 / f
    for _ in range(200):
        # Newton from below climbs monotonically: the sum is convex and decreasing.
        inverse = np.where(here, 1 / np.maximum(time[:, None] - tau, 1e-300), 0)
        total = inverse.sum(axis=1)
        step = (total - f) / (inverse**2).sum(axis=1)
        time = time + np.maximum(step, 0)
        if np.all(step <= 1e-9 * time):
            break
    return time.sum() / len(cohorts)


class World:
    """Partitions of the data and coins, the same for all fleets that are tried."""

    def __init__(self, partitions, cohorts, seed=SEED, split=label_shares):
        rng = np.random.default_rng(seed)
        self.shares = [split(rng) for _ in range(partitions)]
        self.coins = [rng.random((cohorts, DEVICES)) for _ in range(partitions)]

    def hours(self, ratios, q_of, f, number):
        """R E[T] in uploads: q_of gives q from shares and costs."""
        tau = np.repeat(np.asarray(ratios, float), PER_TYPE)
        a, coins = self.shares[number], self.coins[number]
        q = q_of(a, 1 / f + tau)
        variance = np.sum(a**2 / q)
        if variance >= BETA:
            return np.inf
        sure = np.ones((1, DEVICES), bool) if np.all(q >= 1) else coins < q
        return ALPHA / (BETA - variance) * round_times(tau, sure, f)

    def ratios(self, ratios):
        """The six ratios, each a geometric mean over partitions."""
        full = lambda a, c: np.ones(DEVICES)
        schemes = [
            (full, 1.0), (lambda a, c: np.full(DEVICES, 0.2), 1.0), (lambda a, c: a, 1.0),
            (lambda a, c: np.full(DEVICES, 1 / DEVICES), 1.0), (full, 2.0), (full, 4.0),
        ]
        logs = np.zeros(len(schemes))
        for number in range(len(self.shares)):
            best = {f: self.hours(ratios, proposed, f, number) for f in BANDWIDTHS}
            logs += [np.log(self.hours(ratios, q_of, f, number) / best[f]) for q_of, f in schemes]
        return np.exp(logs / len(self.shares))


def error(world, ratios):
    """Root mean square of the log errors."""
    wanted = np.array([ratio for ratio, _ in TARGETS.values()])
    with np.errstate(invalid="ignore"):
        logs = np.log(world.ratios(ratios) / wanted)
    return np.sqrt(np.mean(logs**2)) if np.all(np.isfinite(logs)) else np.inf


def nelder_mead(loss, start, steps):
    """The textbook simplex search: small, and it needs no derivative of a Monte Carlo estimate."""
    points = [np.array(start, float)]
    points += [points[0] + 0.7 * np.eye(len(start))[i] for i in range(len(start))]
    values = [loss(point) for point in points]
    for _ in range(steps):
        order = np.argsort(values, kind="stable")
        points, values = [points[i] for i in order], [values[i] for i in order]
        if values[-1] - values[0] < 1e-4:
            break
        middle = np.mean(points[:-1], axis=0)
        try_at = lambda factor: (lambda p: (loss(p), p))(middle + factor * (points[-1] - middle))
        value, point = try_at(-1.0)
        if value < values[0]:
            value, point = min((value, point), try_at(-2.0), key=lambda pair: pair[0])
        elif value >= values[-2]:
            value, point = min((value, point), try_at(0.5), key=lambda pair: pair[0])
        if value < values[-1]:
            values[-1], points[-1] = value, point
        else:
            points = [points[0]] + [(points[0] + p) / 2 for p in points[1:]]
            values = [values[0]] + [loss(p) for p in points[1:]]
    best = int(np.argmin(values))
    return values[best], points[best]


def fit(world, start, steps):
    """The best ratios from one start, in ascending order: types are interchangeable here."""
    inside = lambda logs: np.clip(logs, np.log(LOWEST), np.log(HIGHEST))
    value, logs = nelder_mead(lambda logs: error(world, np.exp(inside(logs))), np.log(start), steps)
    return value, np.sort(np.exp(inside(logs)))


def row(name, ratios, results):
    wanted = [ratio for ratio, _ in TARGETS.values()]
    off = np.array(results) / wanted - 1
    worst = f"{100 * np.max(np.abs(off)):.0f} %"
    rms = f"{100 * np.sqrt(np.mean(np.log(np.array(results) / wanted) ** 2)):.0f} %"
    cells = [f"{result:.2f}" for result in results]
    return f"| {name} | {', '.join(f'{r:.3g}' for r in ratios)} | {' | '.join(cells)} | {worst} | {rms} |"


def print_range(world):
    """How much a ratio depends on the partition: the range that covers nine of ten."""
    calibrated = REFERENCES["the profile paper-calibrated"]
    each = []
    for number in range(len(world.shares)):
        one = World(0, 0)
        one.shares, one.coins = [world.shares[number]], [world.coins[number]]
        each.append(one.ratios(calibrated))
    low, high = np.quantile(each, [0.05, 0.95], axis=0)
    spans = ", ".join(f"{name} {l:.2f} to {h:.2f}" for name, l, h in zip(TARGETS, low, high))
    print(f"\nFrom partition to partition, paper-calibrated gives (90 % range): {spans}.")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--steps", type=int, default=150, help="steps of each search (default 150)")
    steps = options.parse_args().steps
    # Fits are judged on other partitions and coins than they were found on.
    search, check = World(16, 150), World(32, 2000, SEED + 1)

    print("<!-- Printed by derive.py. -->\n")
    print(f"| fleet | tau/(t/f), ascending | {' | '.join(TARGETS)} | largest error | rms log error |")
    print("|---|---|" + "---:|" * (len(TARGETS) + 2))
    print(f"| the paper | not printed | {' | '.join(str(ratio) for ratio, _ in TARGETS.values())} | | |")
    for name, ratios in REFERENCES.items():
        print(row(name, ratios, check.ratios(ratios)), flush=True)
    for number, start in enumerate(STARTS):
        _, ratios = fit(search, start, steps)
        print(row(f"fit from start {number + 1}", ratios, check.ratios(ratios)), flush=True)

    print_range(check)
    skew = [DEVICES * np.sum(a**2) for a in check.shares]
    rng = np.random.default_rng(SEED + 2)
    sizes = [DEVICES * np.sum(rng.dirichlet(np.full(DEVICES, CONCENTRATION)) ** 2) for _ in range(2000)]
    print(f"\nN sum a^2 is {np.mean(skew):.2f} when each of {LABELS} labels is split by Dirichlet({CONCENTRATION}).", end=" ")
    print(f"It is {np.mean(sizes):.2f} when sizes are, and exceeds beta = {BETA} in", end=" ")
    print(f"{100 * np.mean(np.array(sizes) >= BETA):.0f} % of draws: uniform sampling could then never reach its target.")


if __name__ == "__main__":
    sys.exit(main())
