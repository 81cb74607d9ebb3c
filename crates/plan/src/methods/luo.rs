//! K draws with replacement by probabilities that minimise the time to a target: Luo, Xiao, Wang, Huang, Tassiulas
//! (INFOCOM 2022, arXiv 2112.11256; journal version arXiv 2404.13804).
//!
//! A draw of device n has the weight a_n/(K q_n), so that the expected weight of a device is a_n. The number of rounds is
//! taken to grow with Σ a_n² G_n²/q_n + B, and the mean round time is taken to be Σ q_n c_n.

use fedflip_fleet::Fleet;

use super::multinomial::WithReplacement;
use crate::error::PlanError;
use crate::method::Method;
use crate::parameter::CohortSize;
use crate::plan::{Plan, PlanStatus};
use crate::planning::Planning;
use crate::problem::Problem;
use crate::sampler::Sampler;
use crate::schedule::Schedule;
use crate::solve::luo::Luo;

/// A device that costs nothing counts with this share of the most expensive one, or there would be no optimum.
const LEAST_COST_SHARE: f64 = 1e-9;

/// K draws by optimised probabilities.
pub(crate) struct LuoDraws(pub CohortSize);

impl Method for LuoDraws {
    fn plan(&self, problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
        let fleet = problem.fleet();
        self.0.check(fleet, "luo")?;
        let bounds = &planning.gradient_bounds;
        bounds.check(fleet)?;
        let cost_secs = round_secs_alone(problem, self.0);
        let luo = Luo {
            weights: fleet.weights(),
            norms: bounds.norms(),
            offset: bounds.offset(),
            cost_secs: &cost_secs,
        };
        let draw_q = luo.solve();
        let residual = luo.kkt_residual(&draw_q);
        let draws = self.0.get() as f64;
        // 1 − (1 − q)^K: the chance to be in the cohort.
        let q = draw_q.iter().map(|&q| -(draws * (-q).ln_1p()).exp_m1());
        let q = q.map(|q| q.clamp(f64::MIN_POSITIVE, 1.0)).collect();
        let plan = Plan::new(fleet, PlanStatus::Optimal, q);
        Ok(plan.with_kkt_residual(residual).with_draw_probabilities(draw_q))
    }

    fn sampler<'s>(&self, schedule: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        let q = schedule.usual().draw_probabilities().unwrap_or(fleet.weights());
        Box::new(WithReplacement::weighing(fleet.weights(), q, self.0))
    }

    fn flips_coins(&self) -> bool {
        false
    }
}

/// c_n: the time of a round in which all K draws are devices like n, which is o + τ_n + K t_n/f_tot in the paper's model of
/// a round. Probabilities sum to 1, so that the overhead of a round is a part of every c_n.
fn round_secs_alone(problem: &Problem<'_>, draws: CohortSize) -> Vec<f64> {
    let alike = |device: usize| std::iter::repeat_n(problem.job(device), draws.get());
    let devices = 0..problem.fleet().len();
    let mut secs: Vec<f64> =
        devices.map(|device| problem.overhead_secs() + problem.cohort_secs(alike(device))).collect();
    let most = secs.iter().copied().fold(0.0, f64::max);
    let least = if most > 0.0 { LEAST_COST_SHARE * most } else { 1.0 };
    secs.iter_mut().for_each(|secs| *secs = secs.max(least));
    secs
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Mbps, RoundCosts, Secs, csv_file};

    use super::*;
    use crate::gradient_bounds::GradientBounds;
    use crate::planning::{schedule, solve};
    use crate::sampler::testing::{assert_shares, expected_weights};
    use crate::scheme::Scheme;

    fn fleet() -> Fleet {
        let rows = "a,1,2,100\nb,9,2,250\nc,3,1,50\nd,0.1,4,400\n";
        csv_file::read(format!("device,compute_secs,comm_secs,samples\n{rows}").as_bytes(), "fleet.csv")
            .unwrap()
    }

    fn planning(scheme: &str, norms: &[f64], offset: f64) -> Planning {
        let gradient_bounds = GradientBounds::new(norms, offset).unwrap();
        Planning { gradient_bounds, ..Planning::new(scheme.parse().unwrap()) }
    }

    fn problem(fleet: &Fleet) -> Problem<'_> {
        Problem::new(fleet, Mbps::new(5.0).unwrap())
    }

    /// All 64 sequences of three draws with their probabilities.
    #[test]
    fn the_expected_weights_are_the_shares() {
        let fleet = fleet();
        let plan = solve(&problem(&fleet), &planning("luo=3", &[1.0, 2.0, 0.5, 1.0], 0.3)).unwrap();
        let (q, shares) = (plan.draw_probabilities().unwrap(), fleet.weights());
        assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        let mut expected = [0.0; 4];
        for [a, b, c] in (0..64).map(|n| [n % 4, n / 4 % 4, n / 16]) {
            for device in [a, b, c] {
                expected[device] += q[a] * q[b] * q[c] * shares[device] / (3.0 * q[device]);
            }
        }
        assert_shares(&expected, shares, 1e-12);
        let planned = schedule(&problem(&fleet), &planning("luo=3", &[1.0, 2.0, 0.5, 1.0], 0.3)).unwrap();
        let mut sampler =
            Scheme::Luo(CohortSize::new(3).unwrap()).method().sampler(&planned.schedule, &fleet);
        assert!(sampler.is_unbiased());
        let mut taken = [0.0; 4];
        let mean = expected_weights(&mut *sampler, 60_000, |draws| {
            draws.iter().for_each(|draw| taken[draw.device] += 1.0 / 60_000.0);
        });
        assert_shares(&mean, shares, 0.02);
        assert_shares(&taken, plan.q(), 0.01);
        assert!(planned.expected.round_secs.is_some() && planned.expected.rounds.is_none());
    }

    /// K uploads share the bandwidth, and the overhead is part of every round.
    #[test]
    fn costs_count_k_uploads_and_the_overhead() {
        let fleet = fleet();
        let costs = RoundCosts::from(Mbps::new(5.0).unwrap()).with_overhead(Secs::new(0.5).unwrap());
        let secs = round_secs_alone(&Problem::new(&fleet, costs), CohortSize::new(3).unwrap());
        for (n, secs) in secs.iter().enumerate() {
            let expected = 0.5 + fleet.compute_secs()[n] + 3.0 * fleet.comm_secs()[n] / 5.0;
            assert!((secs - expected).abs() < 1e-12);
        }
    }

    /// A link that K uploads at a time do not fill costs nothing.
    #[test]
    fn limits_of_links_count_only_where_they_slow_a_round() {
        let rows = "a,1,10,1,100\nb,1,10,1,10\nc,1,10,1,5\n";
        let text = format!("device,compute_secs,comm_secs,samples,link_mbps\n{rows}");
        let fleet = csv_file::read(text.as_bytes(), "fleet.csv").unwrap();
        let problem = Problem::new(&fleet, Mbps::new(20.0).unwrap());
        let secs = round_secs_alone(&problem, CohortSize::new(2).unwrap());
        let expected = [2.0, 2.0, 3.0];
        assert!(
            secs.iter().zip(expected).all(|(secs, expected)| (secs - expected).abs() < 1e-12),
            "{secs:?}"
        );
    }

    #[test]
    fn slow_devices_are_drawn_less_and_those_with_large_gradients_more() {
        let fleet = fleet();
        let q = |norms: &[f64], offset| {
            let plan = solve(&problem(&fleet), &planning("luo=2", norms, offset)).unwrap();
            plan.draw_probabilities().unwrap().to_vec()
        };
        let plain = q(&[], 0.0);
        assert_eq!(plain, q(&[1.0; 4], 0.0), "every norm is 1 unless it is given");
        assert!(plain[1] < fleet.weights()[1], "the slowest");
        assert!(q(&[1.0, 5.0, 1.0, 1.0], 0.0)[1] > plain[1]);
        assert!(q(&[], 5.0)[1] < plain[1]);
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let fleet = fleet();
        let refused = |scheme: &str, norms: &[f64]| solve(&problem(&fleet), &planning(scheme, norms, 0.0));
        assert!(matches!(refused("luo=5", &[]), Err(PlanError::CohortTooLarge { cohort: 5, .. })));
        assert!(matches!(refused("luo=2", &[1.0]), Err(PlanError::NormCount { given: 1, devices: 4 })));
        assert!("luo=0".parse::<Scheme>().is_err());
        assert!("luo".parse::<Scheme>().unwrap_err().hint().contains("luo=10"));
        let one =
            csv_file::read("device,compute_secs,comm_secs,samples\na,1,2,9\n".as_bytes(), "f.csv").unwrap();
        let plan = solve(&problem(&one), &planning("luo=1", &[], 3.0)).unwrap();
        assert_eq!((plan.q(), plan.draw_probabilities()), (&[1.0][..], Some(&[1.0][..])));
    }

    /// Devices that cost nothing leave no optimum; they count as almost free.
    #[test]
    fn free_devices_are_drawn_often_and_the_others_still() {
        let rows = "a,0,0,100\nb,9,2,100\n";
        let text = format!("device,compute_secs,comm_secs,samples\n{rows}");
        for (text, offset) in [(text.as_str(), 0.0), (&text, 2.0), (&text.replace("9,2", "0,0"), 2.0)] {
            let fleet = csv_file::read(text.as_bytes(), "fleet.csv").unwrap();
            let plan = solve(&problem(&fleet), &planning("luo=2", &[], offset)).unwrap();
            let q = plan.draw_probabilities().unwrap();
            assert!(q.iter().all(|q| *q > 0.0) && (q[0] + q[1] - 1.0).abs() < 1e-12, "{q:?}");
            assert!(q[0] >= q[1] && plan.q().iter().all(|q| *q > 0.0));
        }
    }

    /// Ten million square roots: far below a second in a release build.
    #[test]
    fn a_hundred_thousand_devices_take_few_steps() {
        let columns = |scale: f64, modulus: usize| -> Vec<f64> {
            (0..100_000).map(|n| scale * (1 + n * 7919 % modulus) as f64).collect()
        };
        let (compute_secs, comm_secs, samples) = (columns(0.01, 1009), columns(0.1, 211), columns(1.0, 503));
        let fleet = Fleet::from_columns(fedflip_fleet::Columns {
            compute_secs: &compute_secs,
            comm_secs: &comm_secs,
            samples: &samples,
            ..fedflip_fleet::Columns::default()
        })
        .unwrap();
        let plan = solve(&problem(&fleet), &planning("luo=100", &[], 5.0)).unwrap();
        assert!(plan.kkt_residual().unwrap() < 1e-9, "{:?}", plan.kkt_residual());
    }
}
