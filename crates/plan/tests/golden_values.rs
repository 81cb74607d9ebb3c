//! Against an independent implementation: CVXPY, SciPy and enumeration (`tests/golden/generate.py`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Columns, assert_close, golden, mbps};
use fedflip_fleet::bandwidth::{Division, allocate};
use fedflip_plan::constants::{PilotPoint, fit, from_pilots};
use fedflip_plan::round_time::{ExpectedMax, expected_bandwidth_secs, theorem2_bound_secs};
use fedflip_plan::{
    Constants, Pilot, Plan, PlanStatus, Planning, Problem, RoundModel, Scheme, Search, monte_carlo,
    plan_by_draws, solve,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    fleet: Columns,
    bandwidth_mbps: f64,
    alpha: f64,
    beta: f64,
    q: Vec<f64>,
    objective_p2: Option<f64>,
    objective_p3: Option<f64>,
    objective_tight: Option<f64>,
    objective_sampled: Option<f64>,
}

/// A case's problem with its constants.
struct Given<'a> {
    problem: &'a Problem<'a>,
    model: RoundModel<'a, 'a>,
    constants: Constants,
}

impl Given<'_> {
    fn plan(&self, scheme: Scheme, line_search: Search) -> Plan {
        let constants = Some(self.constants);
        solve(self.problem, &Planning { constants, line_search, seed: 0, ..Planning::new(scheme) }).unwrap()
    }
}

/// Solves every case of a file and hands problem, plan and case to `check`.
fn each_case(file: &str, scheme: &Scheme, at_least: usize, check: impl Fn(&Given<'_>, &Plan, &Case)) {
    let cases: Vec<Case> = golden(file);
    assert!(cases.len() >= at_least, "{file} holds only {} cases", cases.len());
    for case in cases {
        let fleet = case.fleet.fleet();
        let constants = Constants::new(case.alpha, case.beta).unwrap();
        let problem = Problem::new(&fleet, mbps(case.bandwidth_mbps));
        let model = RoundModel::reachable(&problem, constants).unwrap();
        let given = Given { problem: &problem, model, constants };
        check(&given, &given.plan(scheme.clone(), Search::default()), &case);
    }
}

fn assert_same_q(plan: &Plan, expected: &[f64]) {
    for (n, (ours, expected)) in plan.q().iter().zip(expected).enumerate() {
        assert!((ours - expected).abs() < 1e-4, "device {n}: {ours} is not {expected}");
    }
}

#[test]
fn exact_is_cvxpys_optimum_of_p2() {
    each_case("exact.json", &Scheme::Exact, 60, |given, plan, case| {
        let expected = case.objective_p2.unwrap();
        assert_close("P2 at CVXPY's q", given.model.objective_p2(&case.q).unwrap(), expected, 1e-9);
        assert_close("P2", given.model.objective_p2(plan.q()).unwrap(), expected, 1e-6);
        assert!(plan.kkt_residual().unwrap() < 1e-12, "{:?}", plan.kkt_residual());
        assert_same_q(plan, &case.q);
    });
}

#[test]
fn paper_is_cvxpys_optimum_of_p3() {
    each_case("paper.json", &Scheme::Paper, 60, |given, plan, case| {
        let expected = case.objective_p3.unwrap();
        assert_close("P3 at CVXPY's q", given.model.objective_p3(&case.q).unwrap(), expected, 1e-9);
        assert_close("P3", given.model.objective_p3(plan.q()).unwrap(), expected, 1e-6);
        assert!(plan.kkt_residual().unwrap() < 1e-12, "{:?}", plan.kkt_residual());
        assert_same_q(plan, &case.q);
    });
}

#[test]
fn algorithm_2_as_printed_agrees_with_the_closed_form() {
    each_case("paper.json", &Scheme::Paper, 60, |given, closed_form, case| {
        // Fewer values than the default's 200 in the first pass: the finer passes make up for it.
        let line_search = Search::Refined { values: 20 };
        let plan = given.plan(Scheme::PaperLinesearch, line_search);
        assert_eq!(plan.status(), PlanStatus::Optimal, "{:?}", plan.kkt_residual());
        let [ours, closed] = [&plan, closed_form].map(|plan| given.model.objective_p3(plan.q()).unwrap());
        assert_close("line search against closed form", ours, closed, 1e-6);
        assert_close("line search against CVXPY", ours, case.objective_p3.unwrap(), 1e-6);
    });
}

/// With a step of its own it is the printed search: the default finds the same, a coarse step does worse.
#[test]
fn algorithm_2_is_as_good_as_its_step() {
    let case = &golden::<Vec<Case>>("paper.json")[7];
    let fleet = case.fleet.fleet();
    let constants = Constants::new(case.alpha, case.beta).unwrap();
    let problem = Problem::new(&fleet, mbps(case.bandwidth_mbps));
    let given = Given { problem: &problem, model: RoundModel::new(&problem, constants), constants };
    let floors = fleet.weights().iter().map(|&weight| given.model.surrogate_floor(weight));
    let floor: f64 = floors.zip(problem.cost_secs()).map(|(floor, cost)| floor * cost).sum();
    let width_secs = problem.linear_bound_secs(fleet.availability()) - floor;
    let objective = |line_search| {
        let plan = given.plan(Scheme::PaperLinesearch, line_search);
        given.model.objective_p3(plan.q()).unwrap()
    };
    let refined = objective(Search::default());
    assert_close("the default", refined, case.objective_p3.unwrap(), 1e-6);
    let coarse = objective(Search::AsPrinted { step_secs: width_secs / 3.0 });
    let fine = objective(Search::AsPrinted { step_secs: width_secs / 300.0 });
    assert!(coarse > fine * 1.001 && fine >= refined * (1.0 - 1e-9), "{coarse} {fine} {refined}");
}

#[test]
fn tight_is_no_worse_than_the_best_that_scipy_found() {
    let objective =
        |given: &Given<'_>, q: &[f64]| given.model.rounds(q).unwrap() * theorem2_bound_secs(given.problem, q);
    each_case("tight.json", &Scheme::Tight, 50, |given, plan, case| {
        let expected = case.objective_tight.unwrap();
        assert_close("tight at SciPy's q", objective(given, &case.q), expected, 1e-9);
        let ours = objective(given, plan.q());
        assert!(
            ours <= expected * (1.0 + 1e-6),
            "{ours} against {expected}, residual {:?}",
            plan.kkt_residual()
        );
    });
}

#[test]
fn sampled_is_no_worse_than_the_best_that_scipy_found() {
    each_case("sampled.json", &Scheme::Sampled, 50, |given, plan, case| {
        let (fleet, bandwidth) = (given.problem.fleet(), given.problem.costs().band);
        let enumerated = |q: &[f64]| {
            let mean: f64 = common::cohorts(q)
                .map(|(chance, cohort)| {
                    chance * allocate(fleet, &cohort, bandwidth, Division::Adaptive).unwrap().round_secs
                })
                .sum();
            given.model.rounds(q).unwrap() * mean
        };
        let expected = case.objective_sampled.unwrap();
        assert_close("sampled at SciPy's q", enumerated(&case.q), expected, 1e-9);
        let ours = enumerated(plan.q());
        assert!(ours <= expected * (1.0 + 1e-6), "{ours} against {expected}");
        // What larger fleets get: a mean over draws instead of all cohorts. It may miss what chance hides,
        // and is never worse than `exact` by more than that.
        let drawn = enumerated(plan_by_draws(&given.model, 1).q());
        let exact = given.plan(Scheme::Exact, Search::default());
        assert!(drawn <= expected * 1.01, "{drawn} against {expected}");
        assert!(drawn <= enumerated(exact.q()) * (1.0 + 1e-3), "{drawn} against exact");
    });
}

#[derive(Deserialize)]
struct RoundTimeCase {
    fleet: Columns,
    bandwidth_mbps: f64,
    q: Vec<f64>,
    mean_round_secs: f64,
    expected_max_compute_secs: f64,
    expected_bandwidth_secs: f64,
    theorem2_bound: f64,
    linear_bound: f64,
    cohort: Vec<usize>,
    round_secs: f64,
    mbps: Vec<f64>,
    equal_round_secs: f64,
}

#[test]
fn round_times_are_the_enumerated_ones() {
    let cases: Vec<RoundTimeCase> = golden("round_time.json");
    assert!(cases.len() >= 50);
    for case in cases {
        let (fleet, band) = (case.fleet.fleet(), mbps(case.bandwidth_mbps));
        let problem = Problem::new(&fleet, band);
        let expected_max = ExpectedMax::new(fleet.compute_secs()).value(&case.q);
        assert_close("E[max τ]", expected_max, case.expected_max_compute_secs, 1e-9);
        assert_close(
            "T(q)",
            expected_bandwidth_secs(&problem, &case.q).unwrap(),
            case.expected_bandwidth_secs,
            1e-9,
        );
        assert_close("theorem 2", theorem2_bound_secs(&problem, &case.q), case.theorem2_bound, 1e-9);
        assert_close("Σ q c", problem.linear_bound_secs(&case.q), case.linear_bound, 1e-9);

        let round = allocate(&fleet, &case.cohort, band, Division::Adaptive).unwrap();
        assert_close("T̂", round.round_secs, case.round_secs, 1e-9);
        for (share, &expected) in round.shares.iter().zip(&case.mbps) {
            assert_close("share", share.mbps, expected, 1e-9);
        }
        let equal = allocate(&fleet, &case.cohort, band, Division::Equal).unwrap();
        assert_close("equal split", equal.round_secs, case.equal_round_secs, 1e-9);

        let mean = monte_carlo::round_secs(&problem, &case.q, 1, 20_000);
        let off = (mean.mean - case.mean_round_secs).abs();
        assert!(off <= 5.0 * mean.std_error + 1e-12, "{mean:?} against {}", case.mean_round_secs);
    }
}

#[derive(Deserialize)]
struct PilotCases {
    two: Vec<TwoPilots>,
    many: Vec<ManyPilots>,
}

#[derive(Deserialize)]
struct TwoPilots {
    fleet: Columns,
    rounds_uniform: f64,
    rounds_full: f64,
    alpha: f64,
    beta: f64,
}

#[derive(Deserialize)]
struct ManyPilots {
    pilots: Vec<PilotRow>,
    alpha: f64,
    beta: f64,
    alpha_low: f64,
    alpha_high: Option<f64>,
    beta_low: Option<f64>,
    beta_high: Option<f64>,
}

#[derive(Deserialize)]
struct PilotRow {
    rounds: f64,
    noise: f64,
}

#[test]
fn pilots_give_the_constants_of_numpy() {
    let PilotCases { two, many } = golden("pilots.json");
    assert!(two.len() + many.len() >= 50);
    for case in two {
        let pilot = |rounds, scheme| Pilot { rounds, reached: true, scheme };
        let pilots = [pilot(case.rounds_uniform, Scheme::Uniform), pilot(case.rounds_full, Scheme::Full)];
        let fit = from_pilots(&case.fleet.fleet(), &pilots).unwrap();
        assert_close("α", fit.constants.alpha(), case.alpha, 1e-9);
        assert_close("β", fit.constants.beta(), case.beta, 1e-9);
        assert_eq!((fit.alpha_interval, fit.beta_interval), (None, None));
    }
    for case in many {
        let points: Vec<PilotPoint> =
            case.pilots.iter().map(|row| PilotPoint { variance: row.noise, rounds: row.rounds }).collect();
        let fit = fit(&points).unwrap();
        assert_close("α", fit.constants.alpha(), case.alpha, 1e-9);
        assert_close("β", fit.constants.beta(), case.beta, 1e-9);
        let (alpha, beta) = (fit.alpha_interval.unwrap(), fit.beta_interval.unwrap());
        assert_close("α's lower end", alpha.low, case.alpha_low, 1e-7);
        for (what, ours, expected) in [
            ("α's upper end", alpha.high, case.alpha_high),
            ("β's lower end", beta.low, case.beta_low),
            ("β's upper end", beta.high, case.beta_high),
        ] {
            match expected {
                Some(expected) => assert_close(what, ours, expected, 1e-7),
                None => assert!(ours.is_infinite(), "{what}: {ours} should be open"),
            }
        }
    }
}
