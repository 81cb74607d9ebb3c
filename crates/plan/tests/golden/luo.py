"""Golden values for the draw probabilities of Luo et al.: min (sum b/q + B) * sum(q c) over the simplex, b = (a G)^2.

Written to luo.json by generate.py's rules. The first method is that of the publication: for a fixed M = sum(q c) the problem
is convex, CVXPY solves it, and a scalar search finds M. The second one shares nothing with it: quasi-Newton steps
over the logarithms of the probabilities, from several starts, because the problem is not convex.
"""

import cvxpy as cp
import numpy as np
from scipy import optimize

from generate import CLARABEL, Case, agree, digits, log_uniform, sizes


def value(b, offset, c, q):
    return (np.sum(b / q) + offset) * np.sum(q * c)


class ForFixedM:
    """min sum b/q with sum q = 1 and sum q c = M, in u = q/k with k the optimum for B = 0: numbers near one."""

    def __init__(self, b, c):
        self.k = np.sqrt(b / c)
        self.k /= self.k.sum()
        self.b, self.c = b, c
        self.u, self.m = cp.Variable(len(b), pos=True), cp.Parameter()
        scale = np.sum(b / self.k)
        spread = cp.sum(cp.multiply(b / self.k / scale, cp.inv_pos(self.u)))
        mean = np.sum(self.k * c)
        constraints = [self.k @ self.u == 1, (self.k * c / mean) @ self.u == self.m]
        self.mean, self.problem = mean, cp.Problem(cp.Minimize(spread), constraints)

    def q(self, m):
        self.m.value = m / self.mean
        self.problem.solve(**CLARABEL)
        q = np.maximum(self.u.value, 1e-300) * self.k
        return q / q.sum()


def by_line_search(b, offset, c):
    """With equal costs there is one M. Otherwise M is at most that of B = 0, and more than the least cost."""
    if np.ptp(c) <= 1e-12 * c.max():
        return np.sqrt(b) / np.sqrt(b).sum()
    fixed = ForFixedM(b, c)
    low, high = c.min(), fixed.mean
    at = lambda x: low + (high - low) * np.exp(x)
    found = optimize.minimize_scalar(
        lambda x: np.log(value(b, offset, c, fixed.q(at(x)))), bounds=(-9, 0), method="bounded",
        options={"xatol": 1e-5},
    )
    return fixed.q(at(found.x))


def by_descent(rng, b, offset, c):
    def objective(z):
        q = np.exp(z - z.max())
        q /= q.sum()
        s, m = np.sum(b / q) + offset, np.sum(q * c)
        # d log F/d z_n, where the q follow from z by a softmax.
        g = q * (c / m - b / q**2 / s)
        return np.log(s) + np.log(m), g - q * g.sum()

    starts = [np.log(np.sqrt(b / c)), 0.5 * np.log(b), np.zeros(len(b)), rng.normal(0, 2, len(b))]
    options = {"maxiter": 5000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}
    found = [optimize.minimize(objective, z, jac=True, method="L-BFGS-B", options=options) for z in starts]
    best = min(found, key=lambda one: one.fun).x
    q = np.exp(best - best.max())
    return q / q.sum()


def luo_cases(rng):
    cases, errors = [], []
    for index, n in enumerate(sizes(rng, 54, low=1, large=[60] * 2)):
        case = Case(rng, index, n, capped=False)
        draws = int(rng.integers(1, n + 1))
        norms = digits(log_uniform(rng, 0.2, 5, n)) if index % 3 else np.ones(n)
        b = (case.a * norms) ** 2
        # From none to many times what sampling costs at best.
        offset = digits(np.sum(np.sqrt(b)) ** 2 * log_uniform(rng, 0.01, 30)) if index % 4 else 0.0
        overhead = digits(np.mean(case.c) * log_uniform(rng, 1e-2, 1)) if index % 5 == 0 else 0.0
        c = overhead + case.tau + draws * case.t / case.f
        q, second = by_line_search(b, offset, c), by_descent(rng, b, offset, c)
        errors.append(agree("luo", value(b, offset, c, q), value(b, offset, c, second), 1e-6))
        best = min(q, second, key=lambda q: value(b, offset, c, q))
        cases.append({
            "fleet": case.fleet(), "bandwidth_mbps": case.f, "draws": draws, "norms": norms,
            "offset": offset, "overhead_secs": overhead, "q": best, "objective": value(b, offset, c, best),
        })
    return cases, f"methods differ by at most {max(errors):.1e}"
