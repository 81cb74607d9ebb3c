"""Golden values for the sampling schemes that ask or observe devices: slow, plain Python after the publications.

Writes methods.json. Nothing but the standard library is needed, so `python3 methods.py` works on its own. Randomness
enters as numbers that the file stores: a draw without replacement by weight takes the devices with the smallest
-ln(u)/w, where the numbers u belong to the devices in the order in which the scheme lists them.
"""

import json
import math
import platform
import random
from pathlib import Path

SEED = 20260711
HERE = Path(__file__).parent


def digits(x):
    """What is computed with is exactly what the file says."""
    return float(f"{x:.6g}")


def log_uniform(rng, low, high):
    return digits(math.exp(rng.uniform(math.log(low), math.log(high))))


def draw(weighted, count, numbers):
    keyed = sorted((-math.log(numbers.pop(0)) / weight, device) for device, weight in weighted)
    return [device for _, device in keyed[:count]]


# --- Optimal Client Sampling (Chen, Horvath, Richtarik 2022) ---------------------------------------------------------


def optimal(u, m):
    """The minimiser of sum u^2/p with sum p = m and p <= 1 is min(1, s u): bisection for s."""
    low, high = 0.0, 1.0 / min(x for x in u if x > 0)
    total = lambda s: sum(min(1.0, s * x) for x in u)
    if total(high) <= m:
        return [min(1.0, high * x) for x in u]
    for _ in range(300):
        middle = (low + high) / 2
        low, high = (middle, high) if total(middle) < m else (low, middle)
    return [min(1.0, high * x) for x in u]


def printed(u, m):
    """The closed form of the paper, for norms above 0."""
    n, order = len(u), sorted(range(len(u)), key=lambda i: u[i])
    fits = lambda l: 0 < m + l - n <= sum(u[i] for i in order[:l]) / u[order[l - 1]]
    l = max(l for l in range(1, n + 1) if fits(l))
    small = sum(u[i] for i in order[:l])
    p = [1.0] * n
    for i in order[:l]:
        p[i] = (m + l - n) * u[i] / small
    return p


def approximate(u, m):
    p = [min(1.0, m * x / sum(u)) for x in u]
    for _ in range(4):
        below = [x for x in p if x < 1]
        if sum(below) == 0:
            break
        c = (m - len(u) + len(below)) / sum(below)
        p = [min(1.0, c * x) if x < 1 else x for x in p]
        if c <= 1:
            break
    return p


def ocs_cases(rng):
    for index in range(40):
        n = rng.randint(1, 12)
        spread = log_uniform(rng, 1.01, 1000)
        u = [log_uniform(rng, 1 / spread, spread) for _ in range(n)]
        m = rng.randint(1, n)
        if index % 4 != 3 or m == n:
            assert all(abs(x - y) < 1e-9 for x, y in zip(optimal(u, m), printed(u, m)))
        else:
            # Devices that have learnt nothing.
            u = [0.0 if rng.random() < 0.3 else x for x in u[:-1]] + u[-1:]
        yield {"norms": u, "expected": m, "optimal": optimal(u, m), "approximate": approximate(u, m)}


# --- Power-of-choice (Cho, Wang, Joshi 2020) -------------------------------------------------------------------------


def power_of_choice_cases(rng):
    for _ in range(40):
        n = rng.randint(1, 12)
        samples = [rng.randint(1, 500) for _ in range(n)]
        k = rng.randint(1, n)
        uniforms = [digits(rng.uniform(1e-3, 1)) for _ in range(n)]
        candidates = draw([(i, samples[i] / sum(samples)) for i in range(n)], min(2 * k, n), uniforms[:])
        losses = [digits(rng.choice([0.5, rng.uniform(0, 3)])) for _ in range(n)]
        # The k largest losses; among equal ones whoever was drawn first.
        chosen = sorted(candidates, key=lambda i: (-losses[i], candidates.index(i)))[:k]
        yield {
            "samples": samples, "size": k, "uniforms": uniforms, "asked": sorted(candidates),
            "losses": [losses[i] for i in sorted(candidates)], "chosen": sorted(chosen),
        }


# --- Oort (Lai, Zhu, Madhyastha, Chowdhury 2021), Algorithm 1 --------------------------------------------------------


class Oort:
    """T is a percentile of durations and utilities are scaled to their range, as in the authors' code."""

    def __init__(self, samples, durations, k):
        self.samples, self.n, self.k = samples, len(samples), k
        self.explored, self.utility, self.last, self.duration = set(), {}, {}, dict(enumerate(durations))
        self.history, self.percentile, self.epsilon, self.round = [], 30.0, 0.9, 0

    def feedback(self, reports):
        for device, loss, secs in reports:
            self.explored.add(device)
            self.utility[device] = self.samples[device] * loss
            self.last[device], self.duration[device] = self.round, secs
        self.history.append(sum(self.utility[device] for device, _, _ in reports))
        if len(self.history) >= 40 and len(self.history) % 20 == 0:
            if sum(self.history[-40:-20]) > sum(self.history[-20:]):
                self.percentile = min(100.0, self.percentile + 5.0)

    def select(self, numbers):
        self.round += 1
        if self.round > 1:
            self.epsilon = max(0.2, self.epsilon * 0.98)
        if self.percentile >= 100:
            preferred = math.inf
        else:
            ordered = sorted(self.duration.values())
            preferred = ordered[min(int(self.n * self.percentile / 100), self.n - 1)]
        util = {}
        if self.explored:
            ordered = sorted(self.utility.values())
            clip = ordered[min(int(len(ordered) * 0.95), len(ordered) - 1)]
            least = ordered[0] * 0.999
            spread = max(ordered[-1] - least, 1e-4)
        for i in sorted(self.explored):
            util[i] = (min(self.utility[i], clip) - least) / spread
            util[i] += math.sqrt(0.1 * math.log(self.round) / self.last[i])
            if self.duration[i] > preferred:
                util[i] *= (preferred / self.duration[i]) ** 2
        invited = min(math.ceil(1.3 * self.k), self.n)
        unexplored = [i for i in range(self.n) if i not in self.explored]
        explore = min(int(self.epsilon * invited), len(unexplored))
        exploit = min(invited - explore, len(util))
        ranked = sorted(util, key=lambda i: (-util[i], i))
        admitted = []
        if exploit:
            cut_off = 0.95 * util[ranked[exploit - 1]]
            admitted = [i for i in ranked if util[i] >= cut_off]
        elif ranked:
            # Nobody is drawn, but all have their number.
            admitted = ranked
        picked = draw([(i, util[i]) for i in admitted], exploit, numbers)
        picked += draw([(i, 1 / self.duration[i]) for i in unexplored], invited - exploit, numbers)
        return sorted(picked), preferred


def oort_cases(rng):
    for index in range(6):
        n = rng.randint(4, 14)
        samples = [rng.randint(5, 500) for _ in range(n)]
        durations = [log_uniform(rng, 0.5, 20) for _ in range(n)]
        k = rng.randint(1, n)
        oort, rounds = Oort(samples, durations, k), []
        for number in range(1, 90):
            uniforms = [digits(rng.uniform(1e-3, 1)) for _ in range(n)]
            invited, preferred = oort.select(uniforms[:])
            level = 3 / number if index % 2 else 0.1 + number / 50
            report = lambda i: [i, digits(level * rng.uniform(0.2, 1)), digits(durations[i] * rng.uniform(0.8, 1.3))]
            reports = [report(i) for i in invited if rng.random() < 0.9][:k]
            oort.feedback(reports)
            preferred = None if math.isinf(preferred) else preferred
            rounds.append({"uniforms": uniforms, "invited": invited, "preferred_secs": preferred, "reports": reports})
        yield {"samples": samples, "alone_secs": durations, "size": k, "rounds": rounds}


def main():
    cases = {"ocs": ocs_cases, "power_of_choice": power_of_choice_cases, "oort": oort_cases}
    parts = []
    for name, cases_of in cases.items():
        # A stream per scheme: changing one's cases leaves the others as they are.
        listed = [json.dumps(case, allow_nan=False) for case in cases_of(random.Random(f"{SEED} {name}"))]
        parts.append(f'"{name}": [\n' + ",\n".join(listed) + "\n]")
        print(f"methods.json: {len(listed)} cases of {name}", flush=True)
    generator = json.dumps({"python": platform.python_version(), "seed": SEED})
    head = f'"generator": {generator},\n"tolerance": 1e-09,\n"cases": '
    (HERE / "methods.json").write_text("{\n" + head + "{\n" + ",\n".join(parts) + "\n}\n}\n")


if __name__ == "__main__":
    main()
