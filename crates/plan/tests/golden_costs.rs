//! What rounds cost, against CVXPY and enumeration (`tests/golden/costs.py`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::{Columns, assert_close, cohorts, golden, mbps};
use fedflip_fleet::bandwidth::{Division, allocate};
use fedflip_fleet::{Band, Downlink, Download, Fleet, Mhz, RoundCosts, Secs};
use fedflip_plan::round_time::theorem2_bound_secs;
use fedflip_plan::{Constants, Planning, Problem, RoundModel, Scheme, monte_carlo, solve};
use serde::Deserialize;

#[derive(Deserialize)]
struct CostCases {
    plans: Vec<OverheadCase>,
    rounds: Vec<CostedRound>,
}

#[derive(Deserialize)]
struct OverheadCase {
    fleet: Columns,
    bandwidth_mbps: f64,
    alpha: f64,
    beta: f64,
    overhead_secs: f64,
    objective_p2: f64,
    q2: Vec<f64>,
    objective_p3: f64,
    q3: Vec<f64>,
}

#[test]
fn plans_with_overhead_are_cvxpys_optima() {
    let cases = golden::<CostCases>("costs.json").plans;
    assert!(cases.len() >= 50);
    for case in cases {
        let fleet = case.fleet.fleet();
        let overhead = Secs::new(case.overhead_secs).unwrap();
        let costs = RoundCosts::from(mbps(case.bandwidth_mbps)).with_overhead(overhead);
        let problem = Problem::new(&fleet, costs);
        let constants = Constants::new(case.alpha, case.beta).unwrap();
        let model = RoundModel::new(&problem, constants);
        for (scheme, objective, q, expected) in [
            (Scheme::Exact, RoundModel::objective_p2 as fn(&_, &[f64]) -> _, &case.q2, case.objective_p2),
            (Scheme::Paper, RoundModel::objective_p3, &case.q3, case.objective_p3),
        ] {
            let planning = Planning { constants: Some(constants), seed: 0, ..Planning::new(scheme.clone()) };
            let plan = solve(&problem, &planning).unwrap();
            assert_close("the objective at its q", objective(&model, q).unwrap(), expected, 1e-9);
            let ours = objective(&model, plan.q()).unwrap();
            assert_close(&scheme.to_string(), ours, expected, 1e-9);
            assert!(plan.kkt_residual().unwrap() < 1e-12, "{scheme}: {:?}", plan.kkt_residual());
        }
        // A variance V is the goal β = 2V.
        let variance = case.beta / 2.0;
        let linear = solve(&problem, &Planning { variance, ..Planning::new(Scheme::AutoLinear) }).unwrap();
        if variance >= problem.least_variance() {
            let ours = model.objective_p2(linear.q()).unwrap();
            assert_close("auto-linear", ours, case.objective_p2, 1e-9);
        }
    }
}

#[derive(Deserialize)]
struct CostedRound {
    fleet: Columns,
    link_mbps: Vec<f64>,
    snr_db: Vec<f64>,
    radio: String,
    band: f64,
    downlink: String,
    down_mbps: f64,
    per_upload: f64,
    overhead_secs: f64,
    q: Vec<f64>,
    mean_round_secs: f64,
    cohort: Vec<usize>,
    finish_secs: f64,
    mbps: Vec<f64>,
    download_secs: f64,
}

impl CostedRound {
    fn fleet(&self) -> Fleet {
        Fleet::from_columns(fedflip_fleet::Columns {
            compute_secs: &self.fleet.compute_secs,
            comm_secs: &self.fleet.comm_secs,
            samples: &self.fleet.samples,
            link_mbps: Some(&self.link_mbps),
            snr_db: Some(&self.snr_db),
            ..fedflip_fleet::Columns::default()
        })
        .unwrap()
    }

    fn costs(&self) -> RoundCosts {
        let band = match self.radio.as_str() {
            "linear" => Band::Linear(mbps(self.band)),
            _ => Band::Shannon(Mhz::new(self.band).unwrap()),
        };
        let download = Download { bandwidth: mbps(self.down_mbps), per_upload: self.per_upload };
        let downlink = match self.downlink.as_str() {
            "none" => Downlink::None,
            "broadcast" => Downlink::Broadcast(download),
            _ => Downlink::Unicast(download),
        };
        RoundCosts { band, downlink, overhead_secs: self.overhead_secs }
    }
}

#[test]
fn rounds_with_all_their_costs_are_the_enumerated_ones() {
    let cases = golden::<CostCases>("costs.json").rounds;
    assert!(cases.len() >= 50);
    for case in cases {
        let (fleet, costs) = (case.fleet(), case.costs());
        let round = allocate(&fleet, &case.cohort, costs.band, Division::Adaptive).unwrap();
        assert_close("T̂", round.round_secs, case.finish_secs, 1e-9);
        for (share, &expected) in round.shares.iter().zip(&case.mbps) {
            assert_close("share", share.mbps, expected, 1e-7);
        }
        let problem = Problem::new(&fleet, costs);
        let jobs = case.cohort.iter().map(|&device| problem.job(device));
        assert_close("download", costs.downlink.secs(jobs), case.download_secs, 1e-9);
        let enumerated: f64 = cohorts(&case.q)
            .map(|(chance, cohort)| {
                let jobs = cohort.iter().map(|&device| problem.job(device));
                chance * (problem.cohort_secs(jobs) + problem.overhead_secs())
            })
            .sum();
        assert_close("the mean round", enumerated, case.mean_round_secs, 1e-9);
        let mean = monte_carlo::round_secs(&problem, &case.q, 1, 20_000);
        let off = (mean.mean - case.mean_round_secs).abs();
        assert!(off <= 5.0 * mean.std_error + 1e-9, "{mean:?} against {}", case.mean_round_secs);
        let bounds = [theorem2_bound_secs(&problem, &case.q), problem.linear_bound_secs(&case.q)];
        assert!(case.mean_round_secs <= bounds[0] * (1.0 + 1e-12), "{bounds:?}");
        assert!(bounds[0] <= bounds[1] * (1.0 + 1e-12), "{bounds:?}");
    }
}
