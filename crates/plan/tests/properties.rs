//! What must hold for any fleet.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Columns, assert_close, cohorts, mbps};
use fedflip_fleet::bandwidth::{Division, allocate};
use fedflip_fleet::{RoundCosts, Secs};
use fedflip_plan::round_time::theorem2_bound_secs;
use fedflip_plan::{
    Constants, GivenQ, Goal, Plan, PlanError, PlanStatus, Planning, Problem, RoundModel, Scheme, Search,
    monte_carlo, optimality_gap, solve,
};
use proptest::prelude::*;

/// Times over seven orders of magnitude, zeros among them; skewed data; some devices rarely reachable.
fn any_columns(devices: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Columns> {
    let log = |low: f64, high: f64| (low.ln()..high.ln()).prop_map(f64::exp);
    let device = (
        prop_oneof![1 => Just(0.0), 9 => log(1e-3, 1e3)],
        prop_oneof![1 => Just(0.0), 9 => log(1e-3, 1e3)],
        log(1.0, 1e4),
        prop_oneof![1 => Just(1.0), 1 => 0.05..=1.0_f64],
    );
    prop::collection::vec(device, devices).prop_map(|rows| Columns {
        compute_secs: rows.iter().map(|row| row.0).collect(),
        comm_secs: rows.iter().map(|row| row.1).collect(),
        samples: rows.iter().map(|row| row.2.round()).collect(),
        availability: rows.iter().map(|row| row.3).collect(),
    })
}

/// β as a multiple of what the fleet needs at least.
fn constants(columns: &Columns, headroom: f64) -> Constants {
    let total: f64 = columns.samples.iter().sum();
    let terms = columns.samples.iter().zip(&columns.availability);
    let least_variance: f64 = terms.map(|(samples, cap)| (samples / total).powi(2) / cap).sum();
    Constants::new(30.0, least_variance * headroom).unwrap()
}

fn plan(problem: &Problem<'_>, constants: Constants, scheme: Scheme) -> Result<Plan, PlanError> {
    solve(problem, &Planning { constants: Some(constants), seed: 0, ..Planning::new(scheme) })
}

/// With a coarse line search, for tests that are not about its precision.
fn quick_plan(problem: &Problem<'_>, constants: Constants, scheme: Scheme) -> Result<Plan, PlanError> {
    let line_search = Search::Refined { values: 4 };
    solve(problem, &Planning { constants: Some(constants), line_search, seed: 0, ..Planning::new(scheme) })
}

/// The schemes with independent coins: the others have tests beside their code.
fn coins() -> impl Iterator<Item = Scheme> {
    Scheme::ALL.into_iter().filter(|scheme| scheme.method().flips_coins())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Any q in any order: the plan has it by name, capped at the availability, with the weights a/q.
    #[test]
    fn a_file_of_probabilities_is_taken_by_name(
        columns in any_columns(1..=12), q in prop::collection::vec(1e-12..=1.0_f64, 12), by in 0..12_usize,
    ) {
        let fleet = columns.fleet();
        let mut lines: Vec<String> = (0..fleet.len()).map(|n| format!("{},{}\n", fleet.name(n), q[n])).collect();
        lines.rotate_left(by % fleet.len());
        let read = |lines: &[String]| GivenQ::read(format!("device,q\n{}", lines.concat()).as_bytes(), "q.csv", "q.csv");
        let plan = Plan::baseline(&fleet, &Scheme::File(read(&lines).unwrap())).unwrap();
        for (n, q) in q.iter().take(fleet.len()).enumerate() {
            prop_assert_eq!(plan.q()[n], q.min(fleet.availability()[n]));
            prop_assert_eq!(plan.aggregation_weights()[n], fleet.weights()[n] / plan.q()[n]);
        }
        if let [_, rest @ ..] = &lines[..] && !rest.is_empty() {
            let refused = Plan::baseline(&fleet, &Scheme::File(read(rest).unwrap()));
            prop_assert!(matches!(refused, Err(PlanError::NoQ { .. })), "{:?}", refused);
        }
    }

    /// Any bytes at all: an answer, never a panic.
    #[test]
    fn no_file_of_probabilities_makes_the_reader_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200), keep_header in any::<bool>(),
    ) {
        let mut text = if keep_header { b"device,q\na,0.5\n".to_vec() } else { Vec::new() };
        text.extend(bytes);
        let _ = GivenQ::read(&text[..], "q.csv", "q.csv");
    }

    #[test]
    fn the_mean_round_is_within_both_bounds(
        columns in any_columns(1..=8), q in prop::collection::vec(0.01..=1.0_f64, 8), f in 0.1..500.0_f64,
    ) {
        let (fleet, band, q) = (columns.fleet(), mbps(f), &q[..columns.samples.len()]);
        let rounds: Vec<(f64, f64)> = cohorts(q)
            .map(|(chance, cohort)| (chance, allocate(&fleet, &cohort, band, Division::Adaptive).unwrap().round_secs))
            .collect();
        let mean: f64 = rounds.iter().map(|(chance, secs)| chance * secs).sum();
        let variance: f64 = rounds.iter().map(|(chance, secs)| chance * (secs - mean).powi(2)).sum();
        let problem = Problem::new(&fleet, band);
        let (first, second) = (theorem2_bound_secs(&problem, q), problem.linear_bound_secs(q));
        prop_assert!(mean <= first * (1.0 + 1e-12), "{mean} > {first}");
        prop_assert!(first <= second * (1.0 + 1e-12), "{first} > {second}");
        let estimate = monte_carlo::round_secs(&problem, q, 5, 400);
        let off = (estimate.mean - mean).abs();
        // Draws that have missed a rare and slow device cannot know how far they are off: the cohorts can.
        let std_error = estimate.std_error.max((variance / 400.0).sqrt());
        prop_assert!(off <= 7.0 * std_error + 1e-3 * (first - mean) + 1e-12 * mean, "{estimate:?} {mean}");
        prop_assert!(estimate.mean <= first * (1.0 + 1e-12));
    }

    /// Σ over all cohorts of P(K) · Σ_K (a/q)·x is Σ a·x: the aggregate is unbiased whatever the plan.
    #[test]
    fn aggregation_is_unbiased(
        columns in any_columns(1..=10), updates in prop::collection::vec(-5.0..5.0_f64, 10),
        headroom in 1.05..20.0_f64, pick in 0_usize..coins().count(),
    ) {
        let fleet = columns.fleet();
        let (problem, constants) = (Problem::new(&fleet, mbps(20.0)), constants(&columns, headroom));
        let plan = match quick_plan(&problem, constants, coins().nth(pick).unwrap()) {
            Ok(plan) => plan,
            Err(PlanError::SurrogateInfeasible { .. }) => return Ok(()),
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        };
        let contribution = |n: usize| plan.aggregation_weights()[n] * updates[n];
        let mean: f64 = cohorts(plan.q())
            .map(|(chance, cohort)| chance * cohort.into_iter().map(contribution).sum::<f64>())
            .sum();
        let full: f64 = fleet.weights().iter().zip(&updates).map(|(a, x)| a * x).sum();
        prop_assert!((mean - full).abs() < 1e-10, "{mean} is not {full}");
    }

    /// `auto` under its own objective: never worse than `auto-linear`, and close to a bound that no plan can beat.
    #[test]
    fn auto_is_never_worse_than_auto_linear_and_near_the_optimum(
        columns in any_columns(1..=30), headroom in 1.02..30.0_f64, f in 0.1..500.0_f64, overhead in 0.0..20.0_f64,
    ) {
        let fleet = columns.fleet();
        let costs = RoundCosts::from(mbps(f)).with_overhead(Secs::new(overhead).unwrap());
        let problem = Problem::new(&fleet, costs);
        let variance = problem.least_variance() * headroom / 2.0;
        let model = RoundModel::for_goal(&problem, Goal::Variance(variance)).unwrap();
        let value = |q: &[f64]| model.headroom(q).map_or(f64::INFINITY, |headroom| theorem2_bound_secs(&problem, q) / headroom);
        let plan = |scheme| solve(&problem, &Planning { variance, ..Planning::new(scheme) }).unwrap();
        let (auto, linear) = (plan(Scheme::Auto), plan(Scheme::AutoLinear));
        prop_assert!(value(auto.q()) <= value(linear.q()) * (1.0 + 1e-12));
        let gap = optimality_gap(&model, auto.q()).unwrap();
        // Of 200,000 such fleets none has more. Those with few devices, and without uploads, have the weakest bound: 7 %.
        prop_assert!(gap < 0.1, "the gap is {gap}");
    }

    #[test]
    fn every_plan_is_feasible_and_exact_is_the_best_in_p2(
        columns in any_columns(1..=12), headroom in 1.02..30.0_f64, f in 0.1..500.0_f64,
    ) {
        let fleet = columns.fleet();
        let (problem, constants) = (Problem::new(&fleet, mbps(f)), constants(&columns, headroom));
        let model = RoundModel::reachable(&problem, constants).unwrap();
        let exact = plan(&problem, constants, Scheme::Exact).unwrap();
        prop_assert_eq!(exact.status(), PlanStatus::Optimal);
        prop_assert!(exact.kkt_residual().unwrap() < 1e-9, "{:?}", exact.kkt_residual());
        let best = model.objective_p2(exact.q()).unwrap();
        let tight_objective = |q: &[f64]| model.rounds(q).unwrap() * theorem2_bound_secs(&problem, q);
        for scheme in coins() {
            let plan = match quick_plan(&problem, constants, scheme.clone()) {
                Ok(plan) => plan,
                Err(PlanError::SurrogateInfeasible { position, floor, cap, .. }) => {
                    prop_assert!(matches!(scheme, Scheme::Paper | Scheme::PaperLinesearch));
                    prop_assert!(floor >= cap && model.surrogate_floor(fleet.weights()[position]) == floor);
                    continue;
                }
                Err(other) => return Err(TestCaseError::fail(format!("{scheme}: {other}"))),
            };
            for (&q, &cap) in plan.q().iter().zip(fleet.availability()) {
                prop_assert!(q > 0.0 && q <= cap, "{scheme}: {q} of {cap}");
            }
            prop_assert_eq!(plan.status() == PlanStatus::Unreachable, model.headroom(plan.q()).is_none());
            if let Some(objective) = model.objective_p2(plan.q()) {
                prop_assert!(best <= objective * (1.0 + 1e-12), "{scheme}: {objective} beats {best}");
            }
            if scheme == Scheme::Tight {
                prop_assert!(tight_objective(plan.q()) <= tight_objective(exact.q()) * (1.0 + 1e-12));
            }
        }
    }

    /// Neither a unit of α nor a unit of time changes who should take part.
    #[test]
    fn q_does_not_depend_on_alpha_or_the_unit_of_time(
        columns in any_columns(2..=12), headroom in 1.1..10.0_f64, factor in 0.1..10.0_f64,
    ) {
        let mut slower = columns.clone();
        slower.compute_secs.iter_mut().chain(&mut slower.comm_secs).for_each(|secs| *secs *= factor);
        let base = constants(&columns, headroom);
        let other = Constants::new(base.alpha() * 7.0, base.beta()).unwrap();
        let (fleet, slower) = (columns.fleet(), slower.fleet());
        for scheme in [Scheme::Exact, Scheme::Paper] {
            let of = |fleet, constants| plan(&Problem::new(fleet, mbps(10.0)), constants, scheme.clone());
            let (Ok(ours), Ok(theirs)) = (of(&fleet, base), of(&slower, other)) else { continue };
            for (ours, theirs) in ours.q().iter().zip(theirs.q()) {
                prop_assert!((ours / theirs - 1.0).abs() < 1e-9, "{scheme}: {ours} {theirs}");
            }
        }
    }
}

#[test]
fn without_clipping_the_optimum_is_the_closed_form() {
    // Equal data, β large enough that nobody is at the cap: q = 2 S a/(β √c), C = β/2, time 4 α S²/β².
    let columns = Columns {
        compute_secs: vec![1.0, 2.0, 3.0, 4.0],
        comm_secs: vec![10.0; 4],
        samples: vec![50.0; 4],
        availability: vec![1.0; 4],
    };
    let fleet = columns.fleet();
    let (problem, constants) = (Problem::new(&fleet, mbps(10.0)), Constants::new(30.0, 2.0).unwrap());
    let model = RoundModel::reachable(&problem, constants).unwrap();
    let plan = plan(&problem, constants, Scheme::Exact).unwrap();
    let s: f64 = [2.0, 3.0, 4.0, 5.0_f64].iter().map(|c| 0.25 * c.sqrt()).sum();
    for (q, c) in plan.q().iter().zip([2.0, 3.0, 4.0, 5.0_f64]) {
        assert_close("q", *q, 2.0 * s * 0.25 / (2.0 * c.sqrt()), 1e-14);
    }
    assert_close("C", problem.sampling_variance(plan.q()), 1.0, 1e-14);
    assert_close("time", model.objective_p2(plan.q()).unwrap(), 4.0 * 30.0 * s * s / 4.0, 1e-14);
}

#[test]
fn a_fleet_that_costs_nothing_takes_part_as_often_as_it_can() {
    let columns = Columns {
        compute_secs: vec![0.0; 3],
        comm_secs: vec![0.0; 3],
        samples: vec![1.0, 2.0, 3.0],
        availability: vec![1.0, 0.5, 1.0],
    };
    let fleet = columns.fleet();
    let (problem, constants) = (Problem::new(&fleet, mbps(10.0)), Constants::new(30.0, 5.0).unwrap());
    let model = RoundModel::reachable(&problem, constants).unwrap();
    for scheme in [Scheme::Exact, Scheme::Paper, Scheme::PaperLinesearch, Scheme::Tight, Scheme::Sampled] {
        let plan = plan(&problem, constants, scheme.clone()).unwrap();
        assert_eq!(plan.q(), [1.0, 0.5, 1.0], "{scheme}");
        assert_eq!(model.objective_p2(plan.q()), Some(0.0), "{scheme}");
    }
}

#[test]
fn one_device_and_identical_devices() {
    for devices in [1, 7] {
        let columns = Columns {
            compute_secs: vec![1.5; devices],
            comm_secs: vec![3.0; devices],
            samples: vec![10.0; devices],
            availability: vec![1.0; devices],
        };
        let fleet = columns.fleet();
        let (problem, constants) = (Problem::new(&fleet, mbps(10.0)), constants(&columns, 4.0));
        for scheme in coins() {
            let plan = plan(&problem, constants, scheme.clone()).unwrap();
            if scheme != Scheme::Sampled {
                let first = plan.q()[0];
                assert!(plan.q().iter().all(|q| (q / first - 1.0).abs() < 1e-6), "{scheme}: {:?}", plan.q());
            }
        }
    }
}

#[test]
fn what_cannot_be_planned_is_refused_with_the_numbers() {
    let columns = Columns {
        compute_secs: vec![1.0; 4],
        comm_secs: vec![1.0; 4],
        samples: vec![97.0, 1.0, 1.0, 1.0],
        availability: vec![1.0; 4],
    };
    let fleet = columns.fleet();
    let problem = Problem::new(&fleet, mbps(1.0));
    let error = RoundModel::reachable(&problem, Constants::new(1.0, 0.9).unwrap()).unwrap_err();
    let PlanError::Unreachable { beta, least_variance, .. } = error else { panic!("{error}") };
    assert_eq!(beta, 0.9);
    assert_close("Σ a²", least_variance, 0.9412, 1e-12);
    assert!(error.to_string().contains("0.0412"), "{error}");

    // a²N/β = 0.94·4/2 > 1 for the first device: P3 is infeasible, P2 is not.
    let (problem, constants) = (Problem::new(&fleet, mbps(1.0)), Constants::new(1.0, 2.0).unwrap());
    for scheme in [Scheme::Paper, Scheme::PaperLinesearch] {
        let error = plan(&problem, constants, scheme).unwrap_err();
        assert!(matches!(error, PlanError::SurrogateInfeasible { position: 0, .. }), "{error}");
        assert!(error.to_string().contains("device-0") && error.hint().contains("exact"));
    }
    assert!(plan(&problem, constants, Scheme::Exact).is_ok());
    assert!(Constants::new(f64::NAN, 1.0).is_err() && Constants::new(1.0, -1.0).is_err());
}

#[test]
fn sampled_repeats_and_is_never_worse_than_exact_under_its_own_objective() {
    let columns = Columns {
        compute_secs: (0..20).map(|n| 0.1 * f64::from(n)).collect(),
        comm_secs: (0..20).map(|n| 1.0 + f64::from(n % 3)).collect(),
        samples: (0..20).map(|n| 10.0 + f64::from(n * 7 % 13)).collect(),
        availability: vec![1.0; 20],
    };
    let fleet = columns.fleet();
    let (problem, constants) = (Problem::new(&fleet, mbps(20.0)), constants(&columns, 10.0));
    let model = RoundModel::reachable(&problem, constants).unwrap();
    let sampled = plan(&problem, constants, Scheme::Sampled).unwrap();
    assert_eq!(sampled, plan(&problem, constants, Scheme::Sampled).unwrap());
    let exact = plan(&problem, constants, Scheme::Exact).unwrap();
    let [ours, theirs] = [&sampled, &exact].map(|plan| {
        let mean = monte_carlo::round_secs(&problem, plan.q(), 9, 40_000);
        model.rounds(plan.q()).unwrap() * mean.mean
    });
    assert!(ours < theirs, "{ours} against {theirs}");
}

/// Σ a²/cap depends, in its last digit, on the order of summation: β just above it must not fall through.
#[test]
fn at_the_very_edge_of_what_can_be_reached_everybody_is_in() {
    let columns = Columns {
        compute_secs: vec![3e-9, 4e-9, 3e-9, 4e-9, 3e-9, 3e-9, 1e9],
        comm_secs: vec![0.0; 7],
        samples: vec![266.0, 298.0, 702.0, 932.0, 701.0, 822.0, 1e-6],
        availability: vec![1.0; 7],
    };
    let fleet = columns.fleet();
    let least: f64 = fleet.weights().iter().map(|a| a * a).sum();
    let mut beta = least;
    for _ in 0..40 {
        beta = beta.next_up();
        let (problem, constants) = (Problem::new(&fleet, mbps(1.0)), Constants::new(1.0, beta).unwrap());
        let model = RoundModel::reachable(&problem, constants).unwrap();
        for scheme in [Scheme::Exact, Scheme::Tight] {
            let plan = plan(&problem, constants, scheme).unwrap();
            assert!(plan.q().iter().all(|&q| q > 0.0 && q <= 1.0), "{beta}: {:?}", plan.q());
            assert!(model.rounds(plan.q()).is_some(), "{beta}");
        }
    }
}

/// A mean of drawn round times would miss a device that takes part once in a billion rounds and then
/// takes thirty years, and would be 0 where q is tiny.
#[test]
fn rare_events_count_in_the_mean() {
    let mut columns = Columns {
        compute_secs: vec![1.0; 31],
        comm_secs: vec![0.5; 31],
        samples: vec![1000.0; 31],
        availability: vec![1.0; 31],
    };
    columns.compute_secs[30] = 1e9;
    let fleet = columns.fleet();
    let problem = Problem::new(&fleet, mbps(10.0));
    let mut q = vec![0.03; 31];
    q[30] = 2e-9;
    let rare = monte_carlo::round_secs(&problem, &q, 0, 1000);
    assert!(rare.mean > 2.0 && rare.mean < 3.0 && rare.std_error < 0.1, "{rare:?}");

    let tiny = monte_carlo::round_secs(&problem, &[1e-12; 31], 0, 1000);
    let expected = 1e-12 * (1e9 + 30.0 + 31.0 * 0.05);
    assert!((tiny.mean / expected - 1.0).abs() < 1e-9 && tiny.std_error > 0.0, "{tiny:?}");
}
