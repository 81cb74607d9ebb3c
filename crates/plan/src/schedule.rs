//! The plan of every round of a run.
//!
//! A round with few devices leaves a model that is biased towards their data, and the next round undoes most of that.
//! A model that is evaluated after a *quiet* round, one with less sampling variance, shows what has been learnt, and the
//! rounds between may be short (experiments/cifar-quiet). Both kinds of rounds are unbiased, each with the weights of
//! its own q.

use std::io::Write;

use fedflip_fleet::{Fleet, csv_file};

use crate::error::PlanError;
use crate::plan::Plan;

/// The plan of usual rounds, the plan of quiet rounds if there are any, and the rounds that are evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    usual: Plan,
    quiet: Option<Plan>,
    evaluate_every: u64,
}

/// Rounds with less sampling variance than the others. Only these are evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quiet {
    /// Σ a²/q of a quiet round.
    pub variance: f64,
    /// Rounds from one quiet round to the next.
    pub every: u64,
}

/// The predicted outcome of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// The mean size of a cohort.
    pub participants: f64,
    /// The rounds to the target; none where α and β are unknown, or where the variance reaches β.
    pub rounds: Option<f64>,
    /// The mean length of a round; none where it was not estimated.
    pub round_secs: Option<f64>,
}

impl Schedule {
    /// One plan for all rounds. The model is evaluated after every `evaluate_every`-th round.
    pub fn new(usual: Plan, evaluate_every: u64) -> Self {
        Self { usual, quiet: None, evaluate_every: evaluate_every.max(1) }
    }

    /// Every `every`th round follows the plan `quiet` for the same fleet, and is evaluated.
    pub fn with_quiet(self, every: u64, quiet: Plan) -> Result<Self, PlanError> {
        let [planned, devices] = [&quiet, &self.usual].map(|plan| plan.q().len());
        if planned != devices {
            return Err(PlanError::OtherFleet { planned, devices });
        }
        Ok(Self { quiet: Some(quiet), evaluate_every: every.max(1), ..self })
    }

    /// The schedule for a larger fleet, in which the planned devices are at `positions` and the others take no part.
    pub fn spread(&self, fleet: &Fleet, positions: &[usize]) -> Result<Self, PlanError> {
        let (planned, devices) = (self.usual.q().len(), fleet.len());
        if positions.len() != planned {
            return Err(PlanError::OtherFleet { planned, devices: positions.len() });
        }
        let spread = |plan: &Plan| {
            let mut q: Vec<Option<f64>> = vec![None; devices];
            for (&position, &planned) in positions.iter().zip(plan.q()) {
                match q.get_mut(position) {
                    Some(q @ None) => *q = Some(planned),
                    _ => return Err(PlanError::BadPosition { position, devices }),
                }
            }
            Plan::from_q(fleet, q.into_iter().map(|q| q.unwrap_or(0.0)).collect())
        };
        let quiet = self.quiet.as_ref().map(spread).transpose()?;
        Ok(Self { usual: spread(&self.usual)?, quiet, evaluate_every: self.evaluate_every })
    }

    /// Whether the model is evaluated after a round, counted from 1.
    pub fn evaluates(&self, round: u64) -> bool {
        round.is_multiple_of(self.evaluate_every)
    }

    /// Whether a round, counted from 1, is quiet.
    pub fn is_quiet(&self, round: u64) -> bool {
        self.quiet.is_some() && self.evaluates(round)
    }

    /// The plan of a round.
    pub fn plan(&self, round: u64) -> &Plan {
        self.quiet.as_ref().filter(|_| self.is_quiet(round)).unwrap_or(&self.usual)
    }

    /// The plan of usual rounds.
    pub fn usual(&self) -> &Plan {
        &self.usual
    }

    /// The plan of quiet rounds, if there are any.
    pub fn quiet(&self) -> Option<&Plan> {
        self.quiet.as_ref()
    }

    /// Rounds from one quiet round to the next; none without quiet rounds.
    pub fn quiet_every(&self) -> Option<u64> {
        self.quiet.as_ref().map(|_| self.evaluate_every)
    }

    /// The mean over all rounds of a quantity of their plans.
    pub fn mean(&self, of: impl Fn(&Plan) -> f64) -> f64 {
        let usual = of(&self.usual);
        self.quiet.as_ref().map_or(usual, |quiet| usual + (of(quiet) - usual) * self.quiet_share())
    }

    /// The share of the rounds in which each device takes part.
    pub fn mean_q(&self) -> Vec<f64> {
        (0..self.usual.q().len()).map(|device| self.mean(|plan| plan.q()[device])).collect()
    }

    fn quiet_share(&self) -> f64 {
        1.0 / self.evaluate_every as f64
    }

    /// A CSV file with the name, q and a/q of each device of `fleet`; the columns of quiet rounds come first.
    pub fn csv(&self, fleet: &Fleet) -> Vec<u8> {
        let quiet = if self.quiet.is_some() { "quiet_q,quiet_weight," } else { "" };
        let mut csv = format!("device,{quiet}q,weight\n").into_bytes();
        for n in 0..self.usual.q().len() {
            // Writing to memory cannot fail.
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
    use crate::variance::sampling_variance;

    const FLEET: &str = "device,compute_secs,comm_secs,samples\na,1,2,100\n\"b,c\",9,2,100\nd,3,1,50\n";

    fn fleet() -> Fleet {
        csv_file::read(FLEET.as_bytes(), "fleet.csv").unwrap()
    }

    fn plan(q: f64) -> Plan {
        Plan::from_q(&fleet(), vec![q; 3]).unwrap()
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
        let part = |q: f64| Plan::from_q(&two, vec![q; 2]).unwrap();
        let schedule = Schedule::new(part(0.25), 5).with_quiet(4, part(0.5)).unwrap();
        let spread = schedule.spread(&fleet(), &[0, 2]).unwrap();
        assert_eq!(spread.usual().q(), [0.25, 0.0, 0.25]);
        let weights = spread.usual().aggregation_weights();
        assert_eq!([weights[0], weights[2]], part(0.25).aggregation_weights());
        assert_eq!((weights[1], spread.plan(4).q()[0]), (0.0, 0.5));
        let variance =
            |fleet: &Fleet, schedule: &Schedule| sampling_variance(fleet.weights(), schedule.usual().q());
        assert!((variance(&fleet(), &spread) / variance(&two, &schedule) - 1.0).abs() < 1e-12);
        for wrong in [&[0, 3][..], &[1, 1]] {
            let refused = schedule.spread(&fleet(), wrong).unwrap_err();
            assert!(matches!(refused, PlanError::BadPosition { .. }), "{refused}");
        }
        assert!(schedule.spread(&fleet(), &[0]).is_err());
    }

    #[test]
    fn both_plans_are_for_one_fleet() {
        let one =
            csv_file::read("device,compute_secs,comm_secs,samples\na,1,2,100\n".as_bytes(), "f").unwrap();
        let other = Plan::from_q(&one, vec![0.5]).unwrap();
        let refused = Schedule::new(plan(0.25), 5).with_quiet(4, other).unwrap_err();
        assert_eq!(refused, PlanError::OtherFleet { planned: 1, devices: 3 });
    }

    #[test]
    fn a_file_of_both_keeps_names_and_columns_apart() {
        let usual = Plan::from_q(&fleet(), fleet().weights().to_vec()).unwrap();
        let schedule = Schedule::new(usual, 5).with_quiet(4, plan(0.75)).unwrap();
        let csv = String::from_utf8(schedule.csv(&fleet())).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "device,quiet_q,quiet_weight,q,weight");
        assert_eq!(lines[2], format!("\"b,c\",0.75,{},0.4,1", 0.4 / 0.75));
        assert_eq!(lines.len(), 4);
    }
}
