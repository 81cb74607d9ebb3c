"""Golden values for what rounds cost beyond the paper: overhead, downloads, links with limits, spectrum.

Written to costs.json by generate.py's rules: two methods that share nothing must agree before a value is stored.
"""

import itertools

import cvxpy as cp
import numpy as np
from scipy import optimize

from generate import CLARABEL, Case, agree, digits, log_uniform, sizes


# --- Plans with overhead ---------------------------------------------------------------------------------------------


def p2(case, o, q):
    return case.alpha * (o + np.sum(q * case.c)) / (case.beta - case.noise(q))


def p2_cvxpy(case, o):
    # q = k u, k being the optimum without caps, so that numbers are near one. Charnes-Cooper: y = u s with
    # s (o + sum(c k u)) = scale turns linear over concave into one concave program.
    root = np.sqrt(case.c)
    s_total = np.sum(case.a * root)
    k = case.a / root * (s_total + np.sqrt(s_total**2 + case.beta * o)) / case.beta
    scale = o + np.sum(case.c * k)
    y, s = cp.Variable(case.n), cp.Variable()
    variance = cp.sum(cp.hstack([case.a[i] ** 2 / k[i] * cp.quad_over_lin(s, y[i]) for i in range(case.n)]))
    gain = s - variance / case.beta
    budget = o / scale * s + (case.c * k / scale) @ y == 1
    cp.Problem(cp.Maximize(gain), [budget, y <= cp.multiply(case.cap / k, s)]).solve(**CLARABEL)
    return np.minimum(k * y.value / s.value, case.cap)


def p2_parametric(case, o):
    """Dinkelbach's equation min_q o + sum(q c) + rho (C(q) - beta) = 0, whose minimiser is separable in q."""
    at = lambda rho: np.minimum(case.cap, case.a * np.sqrt(rho / case.c))
    gap = lambda x: (o + np.sum(at(np.exp(x)) * case.c)) / np.exp(x) + case.noise(at(np.exp(x))) - case.beta
    high = np.log(p2(case, o, case.cap) / case.alpha) + 1e-6
    low = high - 1
    while gap(low) < 0:
        low -= 1
    return at(np.exp(optimize.brentq(gap, low, high, xtol=1e-15, rtol=1e-15)))


def p3(case, o, q):
    n = case.n
    return np.sum(case.alpha * q / (n * case.beta * q - case.a**2 * n**2)) * (o + np.sum(q * case.c))


def p3_both(case, o):
    """A geometric program in z, q = lo + k z, and a scalar search: every device below its cap has the same z."""
    lo = case.a**2 * case.n / case.beta
    floor = o + np.sum(case.c * lo)
    k = np.sqrt(floor / case.n * lo / case.c)
    p, r, z_max = lo / k / case.n, case.c * k / floor, (case.cap - lo) / k
    q = lambda z: np.minimum(lo + k * z, case.cap)
    z = cp.Variable(case.n, pos=True)
    product = (1 + cp.sum(cp.multiply(p, z**-1))) * (1 + cp.sum(cp.multiply(r, z)))
    cp.Problem(cp.Minimize(product), [z <= z_max]).solve(gp=True, **CLARABEL)
    value = lambda x: np.log(p3(case, o, q(np.minimum(np.exp(x), z_max))))
    x = optimize.minimize_scalar(value, bounds=(-30, np.log(z_max.max())), options={"xatol": 1e-12}).x
    return q(z.value), q(np.minimum(np.exp(x), z_max))


def plan_cases(rng):
    cases, errors = [], []
    for index, n in enumerate(sizes(rng, 54, large=[60] * 2)):
        case = Case(rng, index, n)
        case.beta = digits(np.max(case.a**2 * n / case.cap) * log_uniform(rng, 1.01, 40))
        # From far less than a round to far more.
        o = digits(np.mean(case.c) * log_uniform(rng, 1e-3, 1e2))
        q2, second = p2_cvxpy(case, o), p2_parametric(case, o)
        errors.append(agree("P2 with overhead", p2(case, o, q2), p2(case, o, second)))
        # The longer the overhead, the flatter the objective.
        assert np.max(np.abs(q2 - second)) < 1e-3
        q3, third = p3_both(case, o)
        errors.append(agree("P3 with overhead", p3(case, o, q3), p3(case, o, third)))
        cases.append(case.record(
            overhead_secs=o, objective_p2=p2(case, o, second), q2=second, objective_p3=p3(case, o, third), q3=third,
        ))
    return cases, f"worst {max(errors):.1e}"


# --- Rounds with links, spectrum and downloads -----------------------------------------------------------------------


class Links:
    """A small fleet whose links have limits, a band of Mbit/s or MHz, and a download."""

    def __init__(self, rng, index):
        self.case = case = Case(rng, index, int(rng.integers(2, 8)))
        self.limit = digits(log_uniform(rng, 0.3, 30, case.n) * case.f / case.n)
        self.limit[rng.random(case.n) < 0.4] = 1e9
        self.snr_db = digits(rng.uniform(-10, 30, case.n))
        self.snr = 10 ** (self.snr_db / 10)
        self.shannon = index % 2 == 1
        self.total = case.f
        self.downlink = ["none", "broadcast", "unicast"][index % 3]
        self.f_down = digits(case.f * log_uniform(rng, 0.2, 5))
        self.per_upload = digits(log_uniform(rng, 0.5, 10))
        self.overhead = digits(np.mean(case.c) * log_uniform(rng, 0.01, 3))

    def rate(self, n, part):
        if not self.shannon:
            return part
        return part * np.log2(1 + self.snr[n] * self.total / part) if part > 0 else 0.0

    def part_for(self, n, rate):
        """The part of the band with this rate; more than all of it where the whole band is too little."""
        if not self.shannon:
            return rate
        if rate >= self.rate(n, self.total):
            return self.total if rate < self.rate(n, self.total) * (1 + 1e-12) else 2 * self.total
        return optimize.brentq(lambda part: self.rate(n, part) - rate, 0, self.total, xtol=1e-16, rtol=1e-14)

    def alone(self, n):
        return min(self.rate(n, self.total), self.limit[n])

    def finish(self, cohort):
        """The round from the end of the download on."""
        case = self.case
        senders = [n for n in cohort if case.t[n] > 0]
        slowest = max((case.tau[n] for n in cohort), default=0.0)
        limits = max((case.tau[n] + case.t[n] / self.limit[n] for n in senders), default=0.0)
        low = max(slowest, limits, max((case.tau[n] + case.t[n] / self.rate(n, self.total) for n in senders), default=0.0))
        demand = lambda T: sum(self.part_for(n, case.t[n] / (T - case.tau[n])) for n in senders) - self.total
        if not senders or demand(low * (1 + 1e-13) + 1e-300) <= 0:
            return low
        high = 2 * low + sum(case.t[n] / self.rate(n, self.total) for n in senders)
        return optimize.brentq(demand, low * (1 + 1e-14), high, xtol=1e-14, rtol=1e-14)

    def download(self, cohort):
        if self.downlink == "none" or not len(cohort):
            return 0.0
        d = [self.per_upload * self.case.t[n] for n in cohort]
        slowest = max(d_n / min(self.f_down, self.limit[n]) for d_n, n in zip(d, cohort))
        return slowest if self.downlink == "broadcast" else max(slowest, sum(d) / self.f_down)

    def seconds(self, cohort):
        return self.overhead + self.download(cohort) + self.finish(cohort)

    def mean(self, q):
        total = 0.0
        for coins in itertools.product([0, 1], repeat=self.case.n):
            chance = np.prod([q[n] if coin else 1 - q[n] for n, coin in enumerate(coins)])
            total += chance * self.seconds([n for n, coin in enumerate(coins) if coin])
        return total


def round_cases(rng):
    cases = []
    for index in range(60):
        links = Links(rng, index)
        case = links.case
        q = digits(rng.uniform(0.05, 1, case.n))
        cohort = [n for n in range(case.n) if rng.random() < 0.7] or [0]
        finish = links.finish(cohort)
        rates = [case.t[n] / (finish - case.tau[n]) if case.t[n] > 0 else 0.0 for n in cohort]
        used = sum(links.part_for(n, rate) for n, rate in zip(cohort, rates))
        at_limit = any(rate >= links.limit[n] * (1 - 1e-9) for n, rate in zip(cohort, rates))
        waits = finish <= max(case.tau[n] for n in cohort) * (1 + 1e-12)
        assert at_limit or waits or abs(used / links.total - 1) < 1e-9, (index, used, links.total)
        # Theorem 2's first bound holds with whole-band rates.
        alone = [case.t[n] / links.alone(n) for n in cohort]
        assert finish <= (max(case.tau[n] for n in cohort) + sum(alone)) * (1 + 1e-9)
        cases.append({
            "fleet": case.fleet(), "link_mbps": links.limit, "snr_db": links.snr_db,
            "radio": "shannon" if links.shannon else "linear", "band": links.total,
            "downlink": links.downlink, "down_mbps": links.f_down, "per_upload": links.per_upload,
            "overhead_secs": links.overhead, "q": q, "mean_round_secs": links.mean(q),
            "cohort": cohort, "finish_secs": finish, "mbps": rates, "download_secs": links.download(cohort),
        })
    return cases


def cost_cases(rng):
    plans, summary = plan_cases(rng)
    return {"plans": plans, "rounds": round_cases(rng)}, summary
