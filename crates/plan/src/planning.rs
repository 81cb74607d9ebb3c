//! From a problem to a plan, and to the schedule of a whole run.

use crate::constants::Constants;
use crate::error::PlanError;
use crate::gradient_bounds::GradientBounds;
use crate::monte_carlo::{self, Estimate};
use crate::needs::Needs;
use crate::plan::{Plan, PlanStatus};
use crate::problem::{Goal, Problem, RoundModel};
use crate::schedule::{Expected, Quiet, Schedule};
use crate::scheme::Scheme;
use crate::solve::{Search, exact, tight};
use crate::variance::{DEFAULT_VARIANCE, VARIANCE_RANGE, VARIANCE_WANTED};

/// The seed of the random numbers in plans of runs. It is not the run's seed, so that all seeds of a scheme share one
/// plan.
pub const PLANNING_SEED: u64 = 1;

/// Cohorts drawn to estimate the mean round time of a schedule.
const DRAWS: u64 = 2_000;

/// How to plan. [`Planning::new`] has the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Planning {
    /// How q is chosen.
    pub scheme: Scheme,
    /// α and β where they are known. Baselines and `auto` need none, and then predict no rounds.
    pub constants: Option<Constants>,
    /// The sampling variance that `auto` plans for.
    pub variance: f64,
    /// The quiet rounds, if there are any.
    pub quiet: Option<Quiet>,
    /// Rounds from one evaluation to the next, where no round is quiet.
    pub evaluate_every: u64,
    /// The seed of all random numbers in planning.
    pub seed: u64,
    /// Cohorts drawn to estimate the mean round time of a schedule.
    pub draws: u64,
    /// How `paper-linesearch` chooses the values of M.
    pub line_search: Search,
    /// What `luo` knows of the devices' gradients.
    pub gradient_bounds: GradientBounds,
}

/// A schedule and its predicted outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan of every round.
    pub schedule: Schedule,
    /// The predicted number and length of rounds.
    pub expected: Expected,
}

impl Planning {
    /// `scheme` without constants and quiet rounds; every round is evaluated.
    pub fn new(scheme: Scheme) -> Self {
        Self {
            scheme,
            constants: None,
            variance: DEFAULT_VARIANCE,
            quiet: None,
            evaluate_every: 1,
            seed: PLANNING_SEED,
            draws: DRAWS,
            line_search: Search::default(),
            gradient_bounds: GradientBounds::default(),
        }
    }

    /// What the scheme optimises for; none for a baseline, which does not optimise.
    pub fn goal(&self) -> Result<Option<Goal>, PlanError> {
        match (self.scheme.describe().needs, self.constants) {
            (Needs::Nothing | Needs::Costs, _) => Ok(None),
            (Needs::Variance, _) => Ok(Some(Goal::Variance(self.variance))),
            (Needs::Constants | Needs::Goal, Some(constants)) => Ok(Some(Goal::Rounds(constants))),
            (Needs::Goal, None) => Ok(Some(Goal::Variance(self.variance))),
            (Needs::Constants, None) => Err(PlanError::ConstantsMissing { scheme: self.scheme.clone() }),
        }
    }
}

/// Chooses the participation probabilities of one round by `planning.scheme`.
///
/// A scheme that does not need constants is planned also where the known ones rule it out; its status is then
/// [`PlanStatus::Unreachable`].
pub fn solve(problem: &Problem<'_>, planning: &Planning) -> Result<Plan, PlanError> {
    planning.scheme.method().plan(problem, planning)
}

/// The round model of the known constants.
pub(crate) fn round_model<'p, 'a>(
    problem: &'p Problem<'a>,
    planning: &Planning,
) -> Result<RoundModel<'p, 'a>, PlanError> {
    let missing = || PlanError::ConstantsMissing { scheme: planning.scheme.clone() };
    RoundModel::reachable(problem, planning.constants.ok_or_else(missing)?)
}

/// Plans a whole run: the usual rounds by [`solve`], the quiet ones by their variance.
pub fn schedule(problem: &Problem<'_>, planning: &Planning) -> Result<Planned, PlanError> {
    schedule_from(problem, planning, solve(problem, planning)?)
}

/// The same where `usual` is the plan of usual rounds, for example one that was made before and still holds.
pub fn schedule_from(problem: &Problem<'_>, planning: &Planning, usual: Plan) -> Result<Planned, PlanError> {
    let schedule = Schedule::new(usual, planning.evaluate_every);
    let schedule = match planning.quiet {
        Some(quiet) => add_quiet_rounds(problem, planning, schedule, quiet)?,
        None => schedule,
    };
    let expected = expected(problem, planning, &schedule);
    Ok(Planned { schedule, expected })
}

/// The best plan under Theorem 2's first bound for a sampling variance.
pub(crate) fn shortest_rounds(problem: &Problem<'_>, variance: f64) -> Result<Plan, PlanError> {
    Ok(tight::quick_plan(&RoundModel::for_goal(problem, variance_goal(variance)?)?))
}

/// P2's optimum for a sampling variance.
pub(crate) fn fewest_device_secs(problem: &Problem<'_>, variance: f64) -> Result<Plan, PlanError> {
    let q = exact::participation(problem, variance_goal(variance)?.beta(problem));
    Ok(Plan::new(problem.fleet(), PlanStatus::Optimal, q))
}

fn variance_goal(variance: f64) -> Result<Goal, PlanError> {
    if VARIANCE_RANGE.contains(&variance) {
        return Ok(Goal::Variance(variance));
    }
    Err(PlanError::BadNumber { name: "variance", value: variance, wanted: VARIANCE_WANTED })
}

/// Marks a plan that was made without constants as unreachable where the known ones rule it out.
pub(crate) fn judged(problem: &Problem<'_>, planning: &Planning, plan: Plan) -> Plan {
    match planning.constants {
        Some(constants) if problem.sampling_variance(plan.q()) >= constants.beta() => {
            plan.with_status(PlanStatus::Unreachable)
        }
        _ => plan,
    }
}

/// Quiet rounds are never noisier than usual ones: where their plan would be, they follow the usual plan. So they do where
/// cohorts are not independent coins, which no other q would change.
fn add_quiet_rounds(
    problem: &Problem<'_>,
    planning: &Planning,
    schedule: Schedule,
    quiet: Quiet,
) -> Result<Schedule, PlanError> {
    let Quiet { variance, every } = quiet;
    let plan = fewest_device_secs(problem, variance)?;
    let variance_of = |plan: &Plan| problem.sampling_variance(plan.q());
    let usual = schedule.usual();
    let coins = planning.scheme.method().flips_coins();
    let plan = if !coins || variance_of(usual) <= variance_of(&plan) { usual.clone() } else { plan };
    schedule.with_quiet(every, plan)
}

/// The prediction; without constants that leave the target within reach, only the participants are known.
fn expected(problem: &Problem<'_>, planning: &Planning, schedule: &Schedule) -> Expected {
    let participants = schedule.mean(|plan| plan.q().iter().sum());
    let constants = planning.constants.filter(|constants| problem.least_variance() < constants.beta());
    if planning.scheme.method().buffer().is_some() {
        // Without rounds, only a simulation knows how long a step takes.
        return Expected { participants, ..Expected::default() };
    }
    if !planning.scheme.method().flips_coins() {
        // The round model is about independent coins.
        let round_secs = drawn_round_secs(problem, planning, schedule, planning.draws).map(|secs| secs.mean);
        return Expected { participants, rounds: None, round_secs };
    }
    let Some(constants) = constants else {
        return Expected { participants, ..Expected::default() };
    };
    let round_secs =
        |plan: &Plan| monte_carlo::round_secs(problem, plan.q(), planning.seed, planning.draws).mean;
    Expected {
        participants,
        // Theorem 1 adds up the variance of all rounds, so their mean counts.
        rounds: constants.rounds(schedule.mean(|plan| problem.sampling_variance(plan.q()))),
        round_secs: Some(schedule.mean(round_secs)),
    }
}

/// The mean round time over cohorts that the scheme itself draws, for schemes without coins; none if the cohorts depend on
/// what devices report, or if there are no rounds.
pub(crate) fn drawn_round_secs(
    problem: &Problem<'_>,
    planning: &Planning,
    schedule: &Schedule,
    draws: u64,
) -> Option<Estimate> {
    let method = planning.scheme.method();
    if method.depends_on_reports() || method.buffer().is_some() {
        return None;
    }
    let mut sampler = method.sampler(schedule, problem.fleet());
    Some(monte_carlo::round_secs_of(problem, &mut *sampler, planning.seed, draws))
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Fleet, Mbps, RoundCosts, Secs, csv_file};

    use super::*;

    const FLEET: &str = "device,compute_secs,comm_secs,samples\na,1,2,100\nb,9,2,100\nc,3,1,50\nd,1,4,300\n";

    fn fleet(text: &str) -> Fleet {
        csv_file::read(text.as_bytes(), "fleet.csv").unwrap()
    }

    fn bandwidth() -> Mbps {
        Mbps::new(5.0).unwrap()
    }

    fn constants(beta: f64) -> Option<Constants> {
        Some(Constants::new(10.0, beta).unwrap())
    }

    #[test]
    fn auto_linear_is_p2_at_twice_its_variance_whatever_the_constants() {
        let fleet = fleet(FLEET);
        let problem = Problem::new(&fleet, bandwidth());
        let twice = Planning { constants: constants(2.0 * DEFAULT_VARIANCE), ..Planning::new(Scheme::Exact) };
        let exact = solve(&problem, &twice).unwrap();
        for (constants, status) in [
            (None, PlanStatus::Optimal),
            (constants(30.0), PlanStatus::Optimal),
            (constants(1.0), PlanStatus::Unreachable),
            (constants(0.1), PlanStatus::Unreachable),
        ] {
            let plan = solve(&problem, &Planning { constants, ..Planning::new(Scheme::AutoLinear) }).unwrap();
            assert_eq!((plan.q(), plan.status()), (exact.q(), status), "{constants:?}");
        }
    }

    #[test]
    fn the_variance_is_met_where_no_device_is_capped_and_approached_where_all_are() {
        let fleet = fleet(FLEET);
        let problem = Problem::new(&fleet, bandwidth());
        let linear = |variance: f64| {
            solve(&problem, &Planning { variance, ..Planning::new(Scheme::AutoLinear) }).unwrap()
        };
        for variance in [3.0, DEFAULT_VARIANCE] {
            let plan = linear(variance);
            assert!(plan.q().iter().all(|&q| q < 1.0), "{:?}", plan.q());
            assert!((problem.sampling_variance(plan.q()) / variance - 1.0).abs() < 1e-9);
        }
        let plan = |variance| Plan::for_variance(&fleet, bandwidth(), variance);
        assert_eq!(plan(problem.least_variance()), plan(1e-6));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(plan(wrong), Err(PlanError::BadNumber { name: "variance", .. })), "{wrong}");
        }
    }

    /// A variance is what rounds without overhead choose. With overhead the plan goes below it, by the closed form
    /// √ρ = (S + √(S² + β o))/β, C = S/√ρ where no device is at its cap.
    #[test]
    fn the_longer_the_overhead_the_lower_the_variance() {
        let fleet = fleet(FLEET);
        let plain = Problem::new(&fleet, bandwidth());
        let costs = plain.cost_secs().iter();
        let s: f64 = fleet.weights().iter().zip(costs).map(|(a, cost)| a * cost.sqrt()).sum();
        let beta = 2.0 * 3.0;
        for overhead in [0.0, 0.1, 1.0, 5.0] {
            let costs = RoundCosts::from(bandwidth()).with_overhead(Secs::new(overhead).unwrap());
            let problem = Problem::new(&fleet, costs);
            let planning = |scheme| Planning { variance: 3.0, ..Planning::new(scheme) };
            let linear = solve(&problem, &planning(Scheme::AutoLinear)).unwrap();
            assert!(linear.q().iter().all(|&q| q < 1.0), "{:?}", linear.q());
            let root = (s + (s * s + beta * overhead).sqrt()) / beta;
            assert!((problem.sampling_variance(linear.q()) / (s / root) - 1.0).abs() < 1e-9);
            let auto = solve(&problem, &planning(Scheme::Auto)).unwrap();
            assert!(problem.sampling_variance(auto.q()) < problem.sampling_variance(linear.q()));
        }
    }

    /// Constants that nobody has measured, or that no q can meet, stop only the schemes that need them.
    #[test]
    fn every_scheme_that_needs_no_constants_has_a_plan_for_any_fleet() {
        let rare = fleet(
            "device,compute_secs,comm_secs,samples,availability\na,1,2,900,0.2\nb,9,2,50,1\nc,3,1,50,1\n",
        );
        let problem = Problem::new(&rare, bandwidth());
        for scheme in Scheme::ALL {
            for constants in [None, constants(2.2)] {
                let planned = schedule(&problem, &Planning { constants, ..Planning::new(scheme.clone()) });
                let without_goal = scheme.describe().needs == Needs::Constants;
                if constants.is_none() && scheme.needs_constants() && !without_goal {
                    assert!(planned.is_ok(), "{scheme} has the variance as its goal");
                    continue;
                }
                // Cohorts of a fixed size ask for devices that are always there.
                if !scheme.method().flips_coins() {
                    assert!(planned.is_err(), "{scheme}");
                    continue;
                }
                match (scheme.needs_constants(), constants) {
                    (true, None) => {
                        let scheme = scheme.clone();
                        assert_eq!(planned, Err(PlanError::ConstantsMissing { scheme }));
                    }
                    (true, Some(_)) => {
                        assert!(matches!(planned, Err(PlanError::Unreachable { .. })), "{scheme}");
                    }
                    (false, _) => {
                        let Planned { schedule, expected } = planned.unwrap();
                        let usual = schedule.usual();
                        assert_eq!(
                            usual.status() == PlanStatus::Unreachable,
                            constants.is_some(),
                            "{scheme}"
                        );
                        assert!(usual.q()[0] <= 0.2 && usual.q().iter().all(|&q| q > 0.0), "{scheme}");
                        assert!(expected.participants > 0.0);
                        assert_eq!((expected.rounds, expected.round_secs), (None, None), "{scheme}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_quiet_round_is_noisier_than_the_others() {
        let fleet = fleet(FLEET);
        let problem = Problem::new(&fleet, bandwidth());
        let of = |scheme: &str, quiet| {
            let planning = Planning { quiet, evaluate_every: 5, ..Planning::new(scheme.parse().unwrap()) };
            schedule(&problem, &planning).unwrap().schedule
        };
        let quiet = Some(Quiet { variance: 0.5, every: 4 });
        let (noisy, calm) = (of("fixed=0.1", quiet), of("full", quiet));
        assert!(noisy.quiet().unwrap().q().iter().all(|&q| q > 0.1));
        assert_eq!(calm.quiet(), Some(calm.usual()));
        // Every scheme is evaluated after the same rounds.
        assert_eq!((noisy.quiet_every(), calm.quiet_every()), (Some(4), Some(4)));
        assert!(calm.evaluates(4) && !calm.evaluates(5));
        assert_eq!(of("fixed=0.1", None).quiet(), None);
    }

    #[test]
    fn the_prediction_is_the_mean_over_usual_and_quiet_rounds() {
        let fleet = fleet(FLEET);
        let problem = Problem::new(&fleet, bandwidth());
        let planning = |constants, quiet| Planning {
            quiet,
            constants,
            seed: 3,
            draws: 4_000,
            ..Planning::new("fixed=0.25".parse().unwrap())
        };
        let quiet = Some(Quiet { variance: 1e-6, every: 4 });
        let Planned { schedule: planned, expected } =
            schedule(&problem, &planning(constants(30.0), quiet)).unwrap();
        let quiet_q = planned.quiet().unwrap().q();
        let mean = |usual: f64, quiet: f64| 0.75 * usual + 0.25 * quiet;
        assert!((expected.participants - mean(1.0, quiet_q.iter().sum())).abs() < 1e-12);
        let variance = mean(problem.sampling_variance(&[0.25; 4]), problem.sampling_variance(quiet_q));
        assert!((expected.rounds.unwrap() - 10.0 / (30.0 - variance)).abs() < 1e-12);
        let secs = |q: &[f64]| monte_carlo::round_secs(&problem, q, 3, 4_000).mean;
        assert!((expected.round_secs.unwrap() - mean(secs(&[0.25; 4]), secs(quiet_q))).abs() < 1e-12);

        // A mean variance that reaches β is out of reach, and quiet rounds may lower it again.
        let tight = constants(1.3);
        assert_eq!(schedule(&problem, &planning(tight, None)).unwrap().expected.rounds, None);
        assert!(schedule(&problem, &planning(tight, quiet)).unwrap().expected.rounds.is_some());
        // Without constants the participants are still known.
        let unknown = schedule(&problem, &planning(None, quiet)).unwrap().expected;
        assert_eq!(unknown, Expected { rounds: None, round_secs: None, ..expected });
    }
}
