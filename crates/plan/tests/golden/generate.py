"""Golden values for the planner's tests, from methods that share nothing with the Rust code.

Versions: Python 3.11, cvxpy 1.9.3 with Clarabel 0.11.1, scipy 1.17.1, numpy 2.4.6 (see requirements.txt).
Tolerances: every optimum is found by two methods that must agree to CHECK (relative, in the objective); the Rust
tests compare with the `tolerance` written in each file: 1e-6 for optima, 1e-9 for values that are only computed.
Where the optimum is unique (P2, P3) the two methods' q agree to Q_CHECK (absolute): the objective is flat there.
Notation is the paper's: a weights, tau compute and t communication seconds, f bandwidth, c = t/f + tau, C = sum a^2/q.
Every random number comes from SEED, so a second run on the same machine gives the same bytes.
"""

import json
import platform
import sys
import warnings
from pathlib import Path

import clarabel
import cvxpy as cp
import numpy as np
import scipy
from scipy import optimize, stats

SEED = 20240713
CHECK = 1e-7
Q_CHECK = 2e-5
OPTIMUM, COMPUTED = 1e-6, 1e-9
HERE = Path(__file__).parent

# Tighter than Clarabel can always certify in double precision. Stopping at "almost solved" is then fine, because
# no answer is trusted before a second method has confirmed it.
CLARABEL = {
    "solver": cp.CLARABEL, "tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12, "max_iter": 500,
}
warnings.filterwarnings("ignore", message="Solution may be inaccurate")


# --- Inputs ----------------------------------------------------------------------------------------------------------


def digits(x, count=6):
    """Rounds to significant decimal digits: what is solved is exactly what the file says."""
    if np.ndim(x):
        return np.array([digits(v, count) for v in x])
    return float(f"{x:.{count}g}")


def log_uniform(rng, low, high, size=None):
    return np.exp(rng.uniform(np.log(low), np.log(high), size))


def agree(label, x, y, tolerance=CHECK):
    error = float(np.max(np.abs(np.subtract(x, y)) / np.maximum(np.abs(y), 1e-300)))
    assert error <= tolerance, f"{label}: {x} and {y} differ by {error:.2e}"
    return error


class Case:
    """A random fleet with bandwidth and alpha; beta, which decides feasibility, is set by each problem."""

    def __init__(self, rng, index, n, capped=None, compute_bound=False):
        tau, t = digits(log_uniform(rng, 0.01, 100, n)), digits(log_uniform(rng, 0.05, 50, n))
        # Every third fleet consists of a few device types, for ties.
        if index % 3 == 1 or compute_bound:
            kind = rng.integers(0, min(n, 5), n)
            tau, t = tau[kind], t[kind]
        # Every fourth fleet has devices that compute in no time, every fourth devices that send nothing, never both
        # at once: a device that costs nothing always belongs at its cap, and c = 0 has no place in the closed forms.
        if index % 4 == 2:
            tau[rng.random(n) < 0.3] = 0.0
        elif index % 4 == 3:
            t[rng.random(n) < 0.3] = 0.0
        share = rng.dirichlet(np.full(n, log_uniform(rng, 0.3, 5)))
        self.samples = np.maximum(1, np.rint(share * log_uniform(rng, 50 * n, 2000 * n))).astype(int)
        self.cap = np.ones(n)
        if index % 2 if capped is None else capped:
            some = rng.random(n) < 0.6
            self.cap[some] = digits(rng.uniform(0.2, 1, some.sum()))
        self.n, self.tau, self.t = n, tau, t
        self.f = digits(log_uniform(rng, 100 if compute_bound else 1, 400))
        self.alpha = digits(log_uniform(rng, 1, 500))
        self.a = self.samples / self.samples.sum()
        self.c = t / self.f + tau
        self.beta = None

    def noise(self, q):
        return np.sum(self.a**2 / q)

    def set_feasible_beta(self, rng, low=1.02):
        self.beta = digits(self.noise(self.cap) * log_uniform(rng, low, 20))

    def fleet(self):
        return {
            "compute_secs": self.tau, "comm_secs": self.t, "samples": self.samples, "availability": self.cap,
        }

    def record(self, **expected):
        inputs = {"fleet": self.fleet(), "bandwidth_mbps": self.f}
        if self.beta is not None:
            inputs |= {"alpha": self.alpha, "beta": self.beta}
        return inputs | expected

    def stored(self, q):
        """The probabilities as the file holds them. Objectives are evaluated here, so q and objective match."""
        return np.minimum(digits(q, 9), self.cap)


def sizes(rng, count, low=2, high=30, large=()):
    return [*rng.integers(low, high + 1, count - len(large)), *large]


# --- P2 and P3: CVXPY, confirmed by a scalar search ------------------------------------------------------------------


def p2(case, q):
    return case.alpha * np.sum(q * case.c) / (case.beta - case.noise(q))


def p2_cvxpy(case):
    # With q = k u the ratio becomes (2S/beta)^2 sum(w u) / (2 - sum(w/u)), sum(w) = 1: all numbers are near one.
    root = np.sqrt(case.c)
    s_total = np.sum(case.a * root)
    w, k = case.a * root / s_total, 2 * s_total * case.a / (case.beta * root)
    # Charnes-Cooper: u = y/s with sum(w y) = 1 turns linear over concave into one concave program.
    y, s = cp.Variable(case.n), cp.Variable()
    gain = 2 * s - cp.sum(cp.hstack([w[i] * cp.quad_over_lin(s, y[i]) for i in range(case.n)]))
    problem = cp.Problem(cp.Maximize(gain), [w @ y == 1, y <= cp.multiply(case.cap / k, s)])
    problem.solve(**CLARABEL)
    q = np.minimum(k * y.value / s.value, case.cap)
    agree("P2 value", case.alpha * (2 * s_total / case.beta) ** 2 / problem.value, p2(case, q))
    return q


def p2_parametric(case):
    """Dinkelbach's equation min_q sum(q c) + rho (C(q) - beta) = 0, whose minimiser is separable in q."""
    at = lambda rho: np.minimum(case.cap, case.a * np.sqrt(rho / case.c))
    gap = lambda x: np.sum(at(np.exp(x)) * case.c) / np.exp(x) + case.noise(at(np.exp(x))) - case.beta
    at_cap = np.log(p2(case, case.cap) / case.alpha)
    low = at_cap - 1
    while gap(low) < 0:
        low -= 1
    return at(np.exp(optimize.brentq(gap, low, at_cap + 1e-6, xtol=1e-14)))


def p3(case, q):
    n = case.n
    return np.sum(case.alpha * q / (n * case.beta * q - case.a**2 * n**2)) * np.sum(q * case.c)


class Surrogate:
    """P3 in z, where q = lo + k z: proportional to (1 + sum(p/z)) (1 + sum(r z)), all numbers near one."""

    def __init__(self, case):
        self.lo = case.a**2 * case.n / case.beta
        floor = np.sum(case.c * self.lo)
        self.k = np.sqrt(floor / case.n * self.lo / case.c)
        self.p, self.r = self.lo / self.k / case.n, case.c * self.k / floor
        self.z_max = (case.cap - self.lo) / self.k
        self.case = case

    def q(self, z):
        return np.minimum(self.lo + self.k * z, self.case.cap)

    def geometric(self):
        z = cp.Variable(self.case.n, pos=True)
        product = (1 + cp.sum(cp.multiply(self.p, z**-1))) * (1 + cp.sum(cp.multiply(self.r, z)))
        cp.Problem(cp.Minimize(product), [z <= self.z_max]).solve(gp=True, **CLARABEL)
        return self.q(z.value)

    def scalar(self):
        # For a fixed M the multiplier of sum(q c) = M gives every unclipped device the same z.
        value = lambda x: np.log(p3(self.case, self.q(np.minimum(np.exp(x), self.z_max))))
        x = optimize.minimize_scalar(value, bounds=(-30, np.log(self.z_max.max())), options={"xatol": 1e-10}).x
        return self.q(np.minimum(np.exp(x), self.z_max))

    def line_search(self):
        """The paper's Algorithm 2 over the true range of M, the best grid cell refined (log-convex in log M)."""
        z, m = cp.Variable(self.case.n), cp.Parameter(pos=True)
        # "At most M" is tight wherever it matters, and keeps an interior for the solver at the upper end.
        inner = cp.Problem(cp.Minimize(self.p @ cp.inv_pos(z)), [self.r @ z <= m, z <= self.z_max])

        def value(x):
            m.value = np.exp(x)
            inner.solve(**CLARABEL)
            return np.log(p3(self.case, self.q(z.value)))

        # m = M / sum(lo c) - 1 would be 0 at the lower end, where P3 is infinite.
        m_max = self.r @ self.z_max
        grid = np.linspace(np.log(1e-3 * min(1.0, m_max)), np.log(m_max), 25)
        best = int(np.argmin([value(x) for x in grid]))
        bounds = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        value(optimize.minimize_scalar(value, bounds=bounds, options={"xatol": 1e-7}).x)
        return self.q(z.value)


def exact_cases(rng):
    cases, clipped, errors = [], [], []
    for index, n in enumerate(sizes(rng, 64, large=[60] * 3)):
        case = Case(rng, index, n)
        case.set_feasible_beta(rng)
        q = case.stored(p2_cvxpy(case))
        second = p2_parametric(case)
        errors.append(agree("P2", p2(case, q), p2(case, second)))
        assert np.max(np.abs(q - second)) < Q_CHECK
        clipped.append(np.sum(q == case.cap))
        cases.append(case.record(objective_p2=p2(case, q), q=q))
    clipped = np.array(clipped)
    assert np.sum(clipped == 0) >= 8 and np.sum(clipped >= 3) >= 8, "both kinds of optimum must be covered"
    return cases, f"worst {max(errors):.1e}, unclipped {np.sum(clipped == 0)}, 3+ clipped {np.sum(clipped >= 3)}"


def paper_cases(rng):
    cases, errors, searched = [], [], []
    for index, n in enumerate(sizes(rng, 64, large=[60] * 3)):
        case = Case(rng, index, n)
        case.beta = digits(np.max(case.a**2 * n / case.cap) * log_uniform(rng, 1.01, 40))
        surrogate = Surrogate(case)
        q = case.stored(surrogate.geometric())
        second = surrogate.scalar()
        errors.append(agree("P3", p3(case, q), p3(case, second)))
        assert np.max(np.abs(q - second)) < Q_CHECK
        if index % 5 == 0:
            searched.append(agree("P3 line search", p3(case, q), p3(case, surrogate.line_search())))
        assert p2(case, q) <= p3(case, q) * (1 + 1e-12), "the surrogate bounds P2 from above"
        cases.append(case.record(objective_p3=p3(case, q), q=q))
    return cases, f"worst {max(errors):.1e}, line search on {len(searched)}: worst {max(searched):.1e}"


# --- Round times -----------------------------------------------------------------------------------------------------


def finish_together(tau, t, f):
    """The T above max(tau) with sum t/(T - tau) = f, and the shares t/(T - tau).

    Solved in d = T - max(tau), and shares taken from d, because T - tau loses digits when d is small.
    """
    if len(tau) == 0:
        return 0.0, np.zeros(0)
    slowest = tau.max()
    gap, sends = slowest - tau, t > 0
    shares = lambda d: np.divide(t, d + gap, out=np.zeros(len(t)), where=sends)
    if np.all(gap[sends] > 0) and np.sum(shares(0.0)) <= f:
        # The slowest device sends nothing, and by the time it has computed the others can have sent everything.
        return slowest, shares(0.0)
    low, high = max(0.0, np.max(t / f - gap)) * (1 - 1e-9), np.sum(t) / f * (1 + 1e-9)
    d = optimize.brentq(lambda d: np.sum(shares(d)) - f, low, high, xtol=1e-300, rtol=1e-15)
    agree("bandwidth", np.sum(shares(d)), f, 1e-12)
    return slowest + d, shares(d)


class Cohorts:
    """All 2^N cohorts of a fleet, their round times and largest compute times."""

    def __init__(self, case):
        self.member = (np.arange(2**case.n)[:, None] >> np.arange(case.n)) & 1 == 1
        self.round_secs = np.array([finish_together(case.tau[k], case.t[k], case.f)[0] for k in self.member])
        self.max_tau = np.array([case.tau[k].max(initial=0.0) for k in self.member])

    def mean(self, values, q):
        return np.sum(np.where(self.member, q, 1 - q).prod(axis=1) * values)

    def mean_round(self, q):
        """E[T] and its gradient; E[T] is linear in each q_n, so d/dq_n replaces that factor by +1 or -1."""
        factor, gradient = np.where(self.member, q, 1 - q), np.empty(len(q))
        for n in range(len(q)):
            changed = factor.copy()
            changed[:, n] = np.where(self.member[:, n], 1, -1)
            gradient[n] = np.sum(changed.prod(axis=1) * self.round_secs)
        return np.sum(factor.prod(axis=1) * self.round_secs), gradient


def theorem2(case, q):
    """sum q t/f + E[max tau] and its gradient, by E_n = q_n tau_n + (1 - q_n) E_(n-1) in ascending tau."""
    order = np.argsort(case.tau, kind="stable")
    below, mean = np.empty(case.n), 0.0
    for n in order:
        below[n] = mean
        mean = q[n] * case.tau[n] + (1 - q[n]) * mean
    none_slower = np.empty(case.n)
    none_slower[order] = np.append(np.cumprod((1 - q[order])[:0:-1])[::-1], 1.0)
    return np.sum(q * case.t) / case.f + mean, case.t / case.f + (case.tau - below) * none_slower


def round_time_cases(rng):
    cases, errors = [], []
    for index, n in enumerate(sizes(rng, 56, high=11)):
        case = Case(rng, index, n)
        q = np.minimum(digits(case.cap * rng.uniform(0.01, 1, n) ** rng.choice([0.3, 1, 3])), case.cap)
        if index % 5 == 4:
            sure = rng.integers(n)
            q[sure] = case.cap[sure]
        cohorts = Cohorts(case)
        mean, max_tau = cohorts.mean(cohorts.round_secs, q), cohorts.mean(cohorts.max_tau, q)
        bound, linear = theorem2(case, q)[0], np.sum(q * case.c)
        errors.append(agree("E[max tau]", max_tau, bound - np.sum(q * case.t) / case.f, 1e-9))
        assert mean <= bound * (1 + 1e-12) and bound <= linear * (1 + 1e-12), "Theorem 2"
        cohort = np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False))
        tau, t = case.tau[cohort], case.t[cohort]
        secs, mbps = finish_together(tau, t, case.f)
        cases.append(case.record(
            q=q, mean_round_secs=mean, expected_max_compute_secs=max_tau,
            expected_bandwidth_secs=finish_together(case.tau, q * case.t, case.f)[0],
            theorem2_bound=bound, linear_bound=linear, cohort=cohort, round_secs=secs, mbps=mbps,
            equal_round_secs=np.max(tau + t * len(cohort) / case.f),
        ))
    return cases, f"E[max tau] against its closed form: worst {max(errors):.1e}"


# --- Tight objectives: multi-start, confirmed by exact coordinate descent --------------------------------------------


def minimise(case, numerator, rng, starts=48):
    """Best known minimum of alpha numerator(q) / (beta - C(q)), for a numerator that is linear in each q_n."""
    a2, cap = case.a**2, case.cap
    objective = lambda q: case.alpha * numerator(q)[0] / (case.beta - case.noise(q))
    tiny = 1e-4 * (case.beta - case.noise(cap))

    def logarithm(x):
        q = np.exp(x)
        value, gradient = numerator(q)
        # Below `tiny` -log(d) continues as its quadratic, so that a long step into C > beta is merely bad, not NaN.
        d = case.beta - np.sum(a2 / q)
        over = max(0.0, 1 - d / tiny)
        barrier, slope = -np.log(max(d, tiny)) + over + over**2 / 2, (1 + over) / max(d, tiny)
        return np.log(value) + barrier, q * gradient / value - slope * a2 / q

    def descend(q):
        bounds = np.stack([np.log(a2 / case.beta), np.log(cap)], axis=1)
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 3000, "maxfun": 6000, "maxcor": 20}
        found = optimize.minimize(logarithm, np.log(q), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        q = np.minimum(np.exp(found.x), cap)
        return q if case.noise(q) < case.beta else cap

    def towards_cap(q):
        while case.noise(q) >= 0.98 * case.beta + 0.02 * case.noise(cap):
            q = np.sqrt(q * cap)
        return q

    # Where a slow device takes part for sure, faster ones add no compute time: one valley per device at its cap.
    best_p2 = p2_parametric(case)
    points = [cap, best_p2] + [np.where(case.tau <= limit, cap, best_p2) for limit in case.tau]
    points += [towards_cap(cap * log_uniform(rng, 1e-3, 1, case.n)) for _ in range(starts)]
    found = sorted((descend(q) for q in points), key=objective)
    polished = min((coordinate_descent(case, numerator, q) for q in [found[0], best_p2, cap]), key=objective)
    valleys = np.sum(np.array([objective(q) for q in found]) > objective(found[0]) * (1 + 1e-6))
    error = objective(found[0]) / objective(polished) - 1
    assert error < CHECK, f"L-BFGS-B stopped {error:.1e} above coordinate descent"
    assert objective(polished) <= objective(best_p2)
    return case.stored(polished), objective, error, valleys / len(found)


def coordinate_descent(case, numerator, q, sweeps=300):
    """Exact minimisation over one q_n at a time: (A + B q)/(D - a^2/q) has its minimum at a root of a quadratic."""
    q = q.copy()
    for _ in range(sweeps):
        before = q.copy()
        for n in range(case.n):
            value, gradient = numerator(q)
            b, a2 = gradient[n], case.a[n] ** 2
            rest, d = value - b * q[n], case.beta - case.noise(q) + a2 / q[n]
            # A device that adds no time (b = 0, up to rounding) goes to its cap.
            q[n] = min(case.cap[n], (a2 + np.sqrt(a2**2 + max(rest, 0.0) * d * a2 / b)) / d) if b > 0 else case.cap[n]
        if np.max(np.abs(q / before - 1)) < 1e-9:
            break
    return q


def optimum_cases(rng, count, high, numerator_of, name):
    cases, errors, valleys = [], [], []
    for index, n in enumerate(sizes(rng, count, high=high)):
        # Half of the cases are of the kind found to have several local minima most often.
        hard = index % 4 in (1, 2)
        case = Case(rng, index, n, compute_bound=hard)
        case.set_feasible_beta(rng, low=5 if hard else 1.02)
        q, objective, error, share = minimise(case, numerator_of(case), rng)
        errors.append(error)
        valleys.append(share)
        cases.append(case.record(**{name: objective(q)}, q=q))
    worse = np.sum(np.array(valleys) > 0)
    return cases, f"worst {max(errors):.1e}, starts ending in a worse valley in {worse} cases"


def tight_cases(rng):
    return optimum_cases(rng, 56, 25, lambda case: lambda q: theorem2(case, q), "objective_tight")


def sampled_cases(rng):
    return optimum_cases(rng, 52, 8, lambda case: Cohorts(case).mean_round, "objective_sampled")


# --- Pilots ----------------------------------------------------------------------------------------------------------


def two_pilots(rng, index, n):
    case = Case(rng, index, n, capped=False)
    full = rng.integers(3, 300)
    uniform = full + rng.integers(1, 600)
    c_full = case.noise(np.ones(n))
    # R (beta - C) = alpha, twice.
    system, right = [[1, -uniform], [1, -full]], [-uniform * n * c_full, -full * c_full]
    alpha, beta = np.linalg.solve(np.array(system, float), right)
    agree("pilots", [alpha / (beta - n * c_full), alpha / (beta - c_full)], [uniform, full], 1e-9)
    return {"fleet": case.fleet(), "rounds_uniform": uniform, "rounds_full": full, "alpha": alpha, "beta": beta}


def many_pilots(rng, spread):
    """A straight line 1/R = beta/alpha - C/alpha through noisy pilots, with 95 % intervals."""
    while True:
        count = rng.integers(3, 9)
        beta, alpha = log_uniform(rng, 0.05, 5), log_uniform(rng, 1, 500)
        noise = np.sort(digits(beta * rng.uniform(0.02, 0.9, count)))
        rounds = digits(alpha / (beta - noise) * np.exp(spread * rng.standard_normal(count)))
        fit = stats.linregress(noise, 1 / rounds)
        # A line that does not fall is refused by the planner: it is no golden value.
        if fit.slope < 0:
            break
    agree("polyfit", np.polyfit(noise, 1 / rounds, 1), [fit.slope, fit.intercept], 1e-9)
    quantile = stats.t.ppf(0.975, count - 2)
    steep, flat = fit.slope - quantile * fit.stderr, fit.slope + quantile * fit.stderr
    # Fieller: the C0 at which the fitted line's own interval contains zero, a quadratic inequality in C0 - mean.
    middle, height = noise.mean(), (1 / rounds).mean()
    spread_x = np.sum((noise - middle) ** 2)
    quadratic = [
        fit.slope**2 - (quantile * fit.stderr) ** 2, 2 * height * fit.slope,
        height**2 - (quantile * fit.stderr) ** 2 * spread_x / count,
    ]
    bounded = quadratic[0] > 0
    assert bounded == (flat < 0)
    ends = np.sort(np.roots(quadratic).real) + middle if bounded else [None, None]
    if bounded:
        # The textbook variance of the fitted height at C0, from the covariance, not from the quadratic.
        for end in ends:
            variance = fit.intercept_stderr**2 + (end**2 - 2 * end * middle) * fit.stderr**2
            agree("Fieller", abs(fit.intercept + fit.slope * end), quantile * np.sqrt(variance), 1e-5)
        assert ends[0] <= -fit.intercept / fit.slope <= ends[1]
    return {
        "pilots": [{"rounds": r, "noise": c} for r, c in zip(rounds, noise)],
        "alpha": -1 / fit.slope, "beta": -fit.intercept / fit.slope,
        "alpha_low": -1 / steep, "alpha_high": -1 / flat if flat < 0 else None,
        "beta_low": ends[0], "beta_high": ends[1],
    }


def pilot_cases(rng):
    two = [two_pilots(rng, index, n) for index, n in enumerate(sizes(rng, 30))]
    many = [many_pilots(rng, log_uniform(rng, 0.02, 1.0)) for _ in range(32)]
    unbounded = sum(case["alpha_high"] is None for case in many)
    assert 4 <= unbounded <= 28, "both kinds of interval must be covered"
    return {"two": two, "many": many}, f"unbounded intervals {unbounded} of {len(many)}"


# --- Output ----------------------------------------------------------------------------------------------------------


def plain(value):
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, (list, np.ndarray)):
        return [plain(v) for v in value]
    if isinstance(value, (float, np.floating)):
        assert np.isfinite(value)
        return digits(value, 14)
    return int(value) if isinstance(value, np.integer) else value


def lines(cases):
    """One case per line, so that a diff shows which cases changed."""
    if isinstance(cases, dict):
        return "{\n" + ",\n".join(f'"{key}": {lines(v)}' for key, v in cases.items()) + "\n}"
    return "[\n" + ",\n".join(json.dumps(plain(case), allow_nan=False) for case in cases) + "\n]"


def main(names):
    # Imported here, because they build on this module.
    import costs
    import luo
    import methods

    generator = {
        "python": platform.python_version(), "cvxpy": cp.__version__, "clarabel": clarabel.__version__,
        "scipy": scipy.__version__, "numpy": np.__version__, "seed": SEED,
    }
    files = [
        ("exact", exact_cases, OPTIMUM), ("paper", paper_cases, OPTIMUM), ("tight", tight_cases, OPTIMUM),
        ("round_time", round_time_cases, COMPUTED), ("sampled", sampled_cases, OPTIMUM),
        ("pilots", pilot_cases, COMPUTED), ("costs", costs.cost_cases, COMPUTED),
        ("luo", luo.luo_cases, OPTIMUM),
    ]
    for stream, (name, cases_of, tolerance) in enumerate(files):
        if names and name not in names:
            continue
        # A stream per file: changing one file's cases leaves the others as they are.
        cases, summary = cases_of(np.random.default_rng([SEED, stream]))
        head = f'"generator": {json.dumps(generator)},\n"tolerance": {tolerance},\n"cases": '
        (HERE / f"{name}.json").write_text("{\n" + head + lines(cases) + "\n}\n")
        count = {k: len(v) for k, v in cases.items()} if isinstance(cases, dict) else len(cases)
        print(f"{name}.json: {count} cases; {summary}", flush=True)
    if not names or "methods" in names:
        methods.main()


if __name__ == "__main__":
    main(sys.argv[1:])
