//! Which plan a round goes by.
//!
//! What few devices a round leave in a model is mostly the last round's: devices learn their own data in ten steps,
//! and the next round takes most of that back. So a model that is looked at after a round in which more take part
//! shows what has been learnt, and the rounds between may be short ones (experiments/cifar-quiet). Both kinds are
//! unbiased, each with the weights of its own q.

use std::io::Write;

use fedflip_fleet::{Fleet, Mbps, csv_file};

use crate::error::PlanError;
use crate::monte_carlo;
use crate::plan::Plan;
use crate::problem::{Problem, sampling_noise};
use crate::solve::auto;

/// The plan of most rounds, that of rounds after which the model is evaluated, and which these are.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    usual: Plan,
    quiet: Option<Plan>,
    evaluate_every: u64,
}

/// Which rounds are quiet, and how quiet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quiet {
    /// Σ a²/q of such a round.
    pub noise: f64,
    /// One round in so many.
    pub every: u64,
}

/// What a schedule leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Σ q of a round.
    pub participants: f64,
    /// R; none where it is not known, or where the noise reaches β.
    pub rounds: Option<f64>,
    /// E[T̂] of a round; none where it was not estimated.
    pub round_secs: Option<f64>,
}

impl Schedule {
    /// One plan for all rounds, each `evaluate_every`-th of which is evaluated.
    pub fn new(usual: Plan, evaluate_every: u64) -> Self {
        Self { usual, quiet: None, evaluate_every: evaluate_every.max(1) }
    }

    /// Every so many rounds one goes by a plan of its own, for the same fleet, and these are evaluated instead.
    pub fn with_quiet(self, every: u64, quiet: Plan) -> Result<Self, PlanError> {
        let [planned, devices] = [&quiet, &self.usual].map(|plan| plan.q().len());
        if planned != devices {
            return Err(PlanError::OtherFleet { planned, devices });
        }
        Ok(Self { quiet: Some(quiet), evaluate_every: every.max(1), ..self })
    }

    /// With quiet rounds of as much noise as asked for; where the usual ones have no more, quiet ones are like them.
    pub fn quietened(self, fleet: &Fleet, band: Mbps, quiet: Option<Quiet>) -> Result<Self, PlanError> {
        let Some(Quiet { noise, every }) = quiet else { return Ok(self) };
        let plan = auto::quiet(fleet, band, noise)?;
        let noise_of = |plan: &Plan| sampling_noise(fleet.weights(), plan.q());
        let plan = if noise_of(&self.usual) <= noise_of(&plan) { self.usual.clone() } else { plan };
        self.with_quiet(every, plan)
    }

    /// The same for a larger fleet: these plans' devices are at `positions` of it, and the others take no part.
    pub fn spread(&self, fleet: &Fleet, positions: &[usize]) -> Result<Self, PlanError> {
        let spread = |plan: &Plan| {
            let mut q = vec![0.0; fleet.len()];
            for (&position, &planned) in positions.iter().zip(plan.q()) {
                q[position] = planned;
            }
            Plan::restored(fleet, plan.scheme(), q)
        };
        let quiet = self.quiet.as_ref().map(spread).transpose()?;
        Ok(Self { usual: spread(&self.usual)?, quiet, evaluate_every: self.evaluate_every })
    }

    /// Whether the model is evaluated after a round, counted from 1.
    pub fn evaluates(&self, round: u64) -> bool {
        round.is_multiple_of(self.evaluate_every)
    }

    /// Whether a round has a plan of its own because it is evaluated.
    pub fn is_quiet(&self, round: u64) -> bool {
        self.quiet.is_some() && self.evaluates(round)
    }

    /// The plan of a round.
    pub fn plan(&self, round: u64) -> &Plan {
        self.quiet.as_ref().filter(|_| self.is_quiet(round)).unwrap_or(&self.usual)
    }

    /// The plan of rounds that nobody looks at.
    pub fn usual(&self) -> &Plan {
        &self.usual
    }

    /// The plan of those that are evaluated, where it is another.
    pub fn quiet(&self) -> Option<&Plan> {
        self.quiet.as_ref()
    }

    /// One round in so many is quiet, where any are.
    pub fn quiet_every(&self) -> Option<u64> {
        self.quiet.as_ref().map(|_| self.evaluate_every)
    }

    /// The mean over rounds of what a plan has in a round.
    pub fn mean(&self, of: impl Fn(&Plan) -> f64) -> f64 {
        let usual = of(&self.usual);
        self.quiet.as_ref().map_or(usual, |quiet| usual + (of(quiet) - usual) * self.quiet_share())
    }

    /// In which share of the rounds each device takes part.
    pub fn mean_q(&self) -> Vec<f64> {
        (0..self.usual.q().len()).map(|device| self.mean(|plan| plan.q()[device])).collect()
    }

    /// What comes of it; without a problem, that is without α and β, nothing is known of rounds.
    pub fn expected(&self, problem: Option<&Problem<'_>>, seed: u64, draws: u64) -> Expected {
        let round_secs = |problem: &Problem<'_>| {
            let secs = |plan: &Plan| {
                monte_carlo::round_secs(problem.fleet(), plan.q(), problem.band(), seed, draws).mean
            };
            self.mean(secs)
        };
        Expected {
            participants: self.mean(|plan| plan.q().iter().sum()),
            // Theorem 1 adds up the noise of all rounds: what counts is its mean.
            rounds: problem.and_then(|problem| {
                problem.constants().rounds(self.mean(|plan| problem.sampling_noise(plan.q())))
            }),
            round_secs: problem.map(round_secs),
        }
    }

    fn quiet_share(&self) -> f64 {
        1.0 / self.evaluate_every as f64
    }

    /// As a file: name, q and a/q of each device of `fleet`; of quiet rounds before those of the others.
    pub fn csv(&self, fleet: &Fleet) -> Vec<u8> {
        let quiet = if self.quiet.is_some() { "quiet_q,quiet_weight," } else { "" };
        let mut csv = format!("device,{quiet}q,weight\n").into_bytes();
        for n in 0..self.usual.q().len() {
            // Memory takes whatever is written to it.
            let _ = csv_file::write_text(&mut csv, fleet.name(n));
            for plan in self.quiet.iter().chain([&self.usual]) {
                let _ = write!(csv, ",{},{}", plan.q()[n], plan.aggregation_weights()[n]);
            }
            csv.push(b'\n');
        }
        csv
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::baseline;
    use crate::{Constants, Scheme};

    const FLEET: &str = "device,compute_secs,comm_secs,samples\na,1,2,100\n\"b,c\",9,2,100\nd,3,1,50\n";

    fn fleet() -> Fleet {
        csv_file::read(FLEET.as_bytes(), "fleet.csv").unwrap()
    }

    fn plan(q: f64) -> Plan {
        Plan::restored(&fleet(), Scheme::Uniform, vec![q; 3]).unwrap()
    }

    #[test]
    fn without_quiet_rounds_all_have_one_plan() {
        let schedule = Schedule::new(plan(0.25), 5);
        let evaluated: Vec<u64> = (1..=11).filter(|&round| schedule.evaluates(round)).collect();
        assert_eq!(evaluated, [5, 10]);
        assert!((1..=11).all(|round| schedule.plan(round) == schedule.usual() && !schedule.is_quiet(round)));
        assert_eq!(schedule.mean_q(), [0.25; 3]);
        let csv = String::from_utf8(schedule.csv(&fleet())).unwrap();
        assert_eq!(csv, "device,q,weight\na,0.25,1.6\n\"b,c\",0.25,1.6\nd,0.25,0.8\n");
        // Every round, where nobody says how many.
        assert!((1..4).all(|round| Schedule::new(plan(0.25), 0).evaluates(round)));
    }

    #[test]
    fn one_round_in_so_many_is_quiet_and_evaluated() {
        let schedule = Schedule::new(plan(0.25), 5).with_quiet(4, plan(0.75)).unwrap();
        for round in 1..=20 {
            let quiet = round % 4 == 0;
            assert_eq!((schedule.is_quiet(round), schedule.evaluates(round)), (quiet, quiet), "{round}");
            let q = if quiet { 0.75 } else { 0.25 };
            assert_eq!(schedule.plan(round).q(), [q; 3]);
            // The weights are those of the q that the coins are flipped with.
            assert_eq!(schedule.plan(round).aggregation_weights()[0], 0.4 / q);
        }
        // Three rounds of one and one of the other.
        assert_eq!(schedule.mean_q(), [0.375; 3]);
        assert_eq!(schedule.mean(|plan| plan.q()[0]), 0.375);
    }

    #[test]
    fn devices_that_are_not_part_of_a_plan_leave_their_data_to_the_others() {
        let two = fleet().subset(&[0, 2]).unwrap();
        let part = |q: f64| Plan::restored(&two, Scheme::Uniform, vec![q; 2]).unwrap();
        let schedule = Schedule::new(part(0.25), 5).with_quiet(4, part(0.5)).unwrap();
        let spread = schedule.spread(&fleet(), &[0, 2]).unwrap();
        assert_eq!(spread.usual().q(), [0.25, 0.0, 0.25]);
        let weights = spread.usual().aggregation_weights();
        assert_eq!([weights[0], weights[2]], part(0.25).aggregation_weights());
        assert_eq!((weights[1], spread.plan(4).q()[0]), (0.0, 0.5));
        let noise =
            |fleet: &Fleet, schedule: &Schedule| sampling_noise(fleet.weights(), schedule.usual().q());
        assert!((noise(&fleet(), &spread) / noise(&two, &schedule) - 1.0).abs() < 1e-12);
        assert!(Plan::restored(&fleet(), Scheme::Uniform, vec![0.0; 3]).is_err());
    }

    #[test]
    fn what_it_expects_is_the_mean_over_its_rounds() {
        let (fleet, band) = (fleet(), Mbps::new(5.0).unwrap());
        let constants = Constants::new(10.0, 30.0).unwrap();
        let problem = Problem::new(&fleet, band, constants).unwrap();
        let schedule = Schedule::new(plan(0.25), 5).with_quiet(4, plan(1.0)).unwrap();
        let expected = schedule.expected(Some(&problem), 3, 4_000);
        assert!((expected.participants - 3.0 * (0.75 * 0.25 + 0.25)).abs() < 1e-12);
        let noise = 0.75 * problem.sampling_noise(&[0.25; 3]) + 0.25 * problem.sampling_noise(&[1.0; 3]);
        assert!((expected.rounds.unwrap() - 10.0 / (30.0 - noise)).abs() < 1e-12);
        let secs = |q: f64| monte_carlo::round_secs(&fleet, &[q; 3], band, 3, 4_000).mean;
        assert!((expected.round_secs.unwrap() - (0.75 * secs(0.25) + 0.25 * secs(1.0))).abs() < 1e-12);

        // Out of reach by its mean noise, which quiet rounds may bring back.
        let tight = Problem::new(&fleet, band, Constants::new(10.0, 1.4).unwrap()).unwrap();
        assert_eq!(Schedule::new(plan(0.25), 5).expected(Some(&tight), 3, 10).rounds, None);
        assert!(schedule.expected(Some(&tight), 3, 10).rounds.is_some());
        // Where nobody knows α and β, who takes part is known all the same.
        let unknown = schedule.expected(None, 3, 10);
        assert_eq!(unknown, Expected { rounds: None, round_secs: None, ..expected });
    }

    #[test]
    fn no_quiet_round_is_noisier_than_the_others() {
        let band = Mbps::new(5.0).unwrap();
        let of = |q: f64| {
            Schedule::new(plan(q), 5).quietened(&fleet(), band, Some(Quiet { noise: 0.5, every: 4 }))
        };
        let (noisy, quiet) = (of(0.1).unwrap(), of(1.0).unwrap());
        assert!(noisy.quiet().unwrap().q().iter().all(|&q| q > 0.1));
        assert_eq!(quiet.quiet(), Some(quiet.usual()));
        // All are evaluated alike: of two schemes none is looked at more often.
        assert_eq!((noisy.quiet_every(), quiet.quiet_every()), (Some(4), Some(4)));
        assert!(quiet.evaluates(4) && !quiet.evaluates(5));
        assert_eq!(Schedule::new(plan(0.1), 5).quietened(&fleet(), band, None).unwrap().quiet(), None);
    }

    #[test]
    fn both_plans_are_for_one_fleet() {
        let one =
            csv_file::read("device,compute_secs,comm_secs,samples\na,1,2,100\n".as_bytes(), "f").unwrap();
        let other = Plan::restored(&one, Scheme::Uniform, vec![0.5]).unwrap();
        let refused = Schedule::new(plan(0.25), 5).with_quiet(4, other).unwrap_err();
        assert_eq!(refused, PlanError::OtherFleet { planned: 1, devices: 3 });
    }

    #[test]
    fn a_file_of_both_keeps_names_and_columns_apart() {
        let band = Mbps::new(5.0).unwrap();
        let schedule = Schedule::new(baseline::unjudged(&fleet(), Scheme::Weighted).unwrap(), 5);
        let schedule = schedule.quietened(&fleet(), band, Some(Quiet { noise: 0.5, every: 4 })).unwrap();
        let quiet = auto::quiet(&fleet(), band, 0.5).unwrap();
        assert_eq!(schedule.quiet(), Some(&quiet));
        let csv = String::from_utf8(schedule.csv(&fleet())).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "device,quiet_q,quiet_weight,q,weight");
        let [q, weight] = [quiet.q()[1], quiet.aggregation_weights()[1]];
        assert_eq!(lines[2], format!("\"b,c\",{q},{weight},0.4,1"));
        assert_eq!(lines.len(), 4);
    }
}
