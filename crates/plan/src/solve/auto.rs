//! q without pilots: the fewest device seconds for as much noise as training is known to bear.
//!
//! Under P2 the noise at the optimum is β/2, whatever α: all that pilots tell the planner is how much noise to
//! allow. One device a round, drawn by its share of the data, has C(a) = Σ a²/a = 1 in every fleet, and training is
//! known to bear that; β came out from 2.2 to 3.4 wherever it was measured, which allows 1.1 to 1.7. Hours are flat
//! around it: on the two tasks on which β was swept (experiments/noise, experiments/candidates) 2.8 takes a tenth and a
//! fifth more than the best, which is above it on the one and below on the other. (Devices at their caps add their own
//! noise, as they do under `exact`.)
//!
//! That is for tasks of some hundred rounds. Where training takes thousands of rounds it is noise that makes them so
//! many, and devices compute side by side: with short uploads eight times as many make a round three times as
//! long. There less noise is faster (docs/RESULTS.md); so it is a setting, and scenarios know it by task.

use std::ops::RangeInclusive;

use fedflip_fleet::{Fleet, Mbps};

use super::exact;
use crate::constants::Constants;
use crate::error::PlanError;
use crate::plan::{Plan, PlanStatus};
use crate::problem::{Problem, sampling_noise};
use crate::scheme::Scheme;

/// The noise of a round that is allowed where nothing is known of the task.
pub const NOISE: f64 = 1.4;
/// What may be allowed instead.
pub const NOISES: RangeInclusive<f64> = 1e-6..=1e6;
/// The same in words.
pub const NOISES_WANTED: &str = "a number above 0 (from 1e-6 to 1e6)";

/// The β that stands in for the pilots': twice the noise that is allowed, and so that some q has it.
fn beta(fleet: &Fleet, noise: f64) -> f64 {
    let least_noise = sampling_noise(fleet.weights(), fleet.availability());
    2.0 * least_noise.max(noise)
}

/// What stands in for α and β where nobody has measured them: some q reaches the target, and α says nothing but cancels
/// wherever plans are compared.
pub fn stand_in(fleet: &Fleet, noise: f64) -> Result<Constants, PlanError> {
    Constants::new(1.0, beta(fleet, noise))
}

/// What a scheme plans with where `given` is what is known: `auto` has constants of its own.
pub fn constants(scheme: Scheme, fleet: &Fleet, noise: f64, given: Option<Constants>) -> Option<Constants> {
    if scheme == Scheme::Auto { stand_in(fleet, noise).ok() } else { given }
}

/// P2's optimum for that β; the problem's own constants are not looked at.
pub fn plan(problem: &Problem<'_>, noise: f64) -> Plan {
    let fleet = problem.fleet();
    let q = exact::participation_at(problem, beta(fleet, noise));
    let reachable = problem.headroom(&q).is_some();
    let status = if reachable { PlanStatus::Optimal } else { PlanStatus::Unreachable };
    Plan::new(fleet, Scheme::Auto, status, q)
}

/// The same for rounds of another noise than the scheme's: quiet ones.
pub fn quiet(fleet: &Fleet, band: Mbps, noise: f64) -> Result<Plan, PlanError> {
    Ok(plan(&Problem::new(fleet, band, stand_in(fleet, noise)?)?, noise))
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::csv_file;

    use super::*;
    use crate::solve::{Settings, solve};

    const FLEET: &str = "device,compute_secs,comm_secs,samples\na,1,2,100\nb,9,2,100\nc,3,1,50\nd,1,4,300\n";

    #[test]
    fn it_is_p2_at_its_own_beta_whatever_the_pilots_say() {
        let fleet = csv_file::read(FLEET.as_bytes(), "fleet.csv").unwrap();
        let band = Mbps::new(5.0).unwrap();
        let problem = |beta| Problem::new(&fleet, band, Constants::new(10.0, beta).unwrap()).unwrap();
        let own = solve(&problem(beta(&fleet, NOISE)), Scheme::Exact, &Settings::default()).unwrap();
        for other in [1.0, 30.0] {
            let plan = solve(&problem(other), Scheme::Auto, &Settings::default()).unwrap();
            assert_eq!(plan.q(), own.q());
            assert_eq!(plan.scheme(), Scheme::Auto);
        }
    }

    /// Constants that nobody has measured, or that no q could meet, do not keep it from planning.
    #[test]
    fn it_has_constants_of_its_own_for_any_fleet() {
        let rare =
            "device,compute_secs,comm_secs,samples,availability\na,1,2,900,0.2\nb,9,2,50,1\nc,3,1,50,1\n";
        let fleet = csv_file::read(rare.as_bytes(), "fleet.csv").unwrap();
        let band = Mbps::new(5.0).unwrap();
        let given = Constants::new(10.0, 2.2).unwrap();
        assert!(Problem::new(&fleet, band, given).is_err());
        assert_eq!(constants(Scheme::Exact, &fleet, NOISE, Some(given)), Some(given));
        let own = constants(Scheme::Auto, &fleet, NOISE, None).unwrap();
        let plan = plan(&Problem::new(&fleet, band, own).unwrap(), NOISE);
        assert_eq!(plan.status(), PlanStatus::Optimal);
        assert!(plan.q()[0] <= 0.2 && plan.q().iter().all(|&q| q > 0.0), "{:?}", plan.q());
    }

    #[test]
    fn the_noise_is_what_is_allowed_where_nobody_is_capped() {
        let fleet = csv_file::read(FLEET.as_bytes(), "fleet.csv").unwrap();
        let band = Mbps::new(5.0).unwrap();
        let problem = Problem::new(&fleet, band, Constants::new(10.0, 30.0).unwrap()).unwrap();
        for noise in [3.0, NOISE] {
            let q = plan(&problem, noise).q().to_vec();
            assert!(q.iter().all(|&q| q < 1.0), "{q:?}");
            assert!((problem.sampling_noise(&q) / noise - 1.0).abs() < 1e-9);
        }
    }

    /// Less than what everybody in every round makes cannot be had: then that is what is asked for.
    #[test]
    fn where_less_is_allowed_than_there_can_be_it_comes_close() {
        let fleet = csv_file::read(FLEET.as_bytes(), "fleet.csv").unwrap();
        let problem =
            Problem::new(&fleet, Mbps::new(5.0).unwrap(), Constants::new(10.0, 30.0).unwrap()).unwrap();
        let settings = |noise| Settings { noise, ..Settings::default() };
        let least_noise = problem.sampling_noise(&[1.0; 4]);
        let [least, less] =
            [least_noise, 1e-9].map(|noise| solve(&problem, Scheme::Auto, &settings(noise)).unwrap());
        assert_eq!(less, least);
        assert_eq!(less.status(), PlanStatus::Optimal);
    }
}
