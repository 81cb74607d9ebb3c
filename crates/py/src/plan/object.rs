//! The plan itself, with what it was made for.

use std::sync::{Arc, OnceLock};

use fedflip::planner::{ConstantsSource, Dialect, Outlook, PlanSettings};
use fedflip_fleet::{CohortSampler, Fleet, Purpose, RoundCosts, StreamKey};
use fedflip_plan::{Expected, Observed, Plan, Planned, Planning, Problem, Schedule, sampling_variance};
use pyo3::prelude::*;

use super::costs;
use crate::error::Failure;

/// A plan for a fleet, with what it was made for.
#[pyclass(frozen, name = "Plan", module = "fedflip._fedflip")]
pub(crate) struct PyPlan {
    pub(crate) fleet: Arc<Fleet>,
    /// The scheme, which is a placeholder where q is given, and everything else that decided q.
    pub(crate) planning: Planning,
    /// What a round costs; of no meaning unless `are_costs_known`.
    pub(crate) costs: RoundCosts,
    /// Whether a bandwidth was given, which only plans from q may lack.
    pub(crate) are_costs_known: bool,
    /// One plan for all rounds, and the prediction as far as it costs nothing: the mean round time is that of
    /// [`PyPlan::outlook`].
    pub(crate) planned: Planned,
    /// Whether the caller chose q.
    pub(crate) given: bool,
    pub(super) constants: Option<ConstantsSource>,
    draws: Option<u64>,
    pub(super) solve_secs: f64,
    outlook: OnceLock<Outlook>,
    coins: OnceLock<CohortSampler>,
}

impl PyPlan {
    pub(super) fn new(
        settings: PlanSettings,
        plan: Plan,
        solve_secs: f64,
        given: bool,
        are_costs_known: bool,
    ) -> Self {
        let PlanSettings { fleet, costs, constants, planning, draws, .. } = settings;
        let variance = sampling_variance(fleet.weights(), plan.q());
        let known = planning.constants.filter(|_| planning.scheme.method().flips_coins());
        let expected = Expected {
            participants: plan.q().iter().sum(),
            rounds: known.and_then(|constants| constants.rounds(variance)),
            round_secs: None,
        };
        let planned = Planned { schedule: Schedule::new(plan, 1), expected };
        let (outlook, coins) = (OnceLock::new(), OnceLock::new());
        Self {
            fleet,
            planning,
            costs,
            are_costs_known,
            planned,
            given,
            constants,
            draws,
            solve_secs,
            outlook,
            coins,
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        self.planned.schedule.usual()
    }

    pub(super) fn settings(&self, source: &str) -> PlanSettings {
        PlanSettings {
            source: source.to_owned(),
            fleet: Arc::clone(&self.fleet),
            costs: self.costs,
            constants: self.constants,
            planning: self.planning.clone(),
            draws: self.draws,
            dialect: Dialect::Python,
        }
    }

    /// The predicted outcome, computed when it is first asked for; none if the bandwidth is unknown.
    pub(crate) fn outlook(&self) -> Result<Option<&Outlook>, Failure> {
        if !self.are_costs_known {
            return Ok(None);
        }
        if let Some(known) = self.outlook.get() {
            return Ok(Some(known));
        }
        let problem = Problem::new(&self.fleet, self.costs);
        let outlook = Outlook::new(&problem, &self.planning, self.plan(), self.draws)?;
        Ok(Some(self.outlook.get_or_init(|| outlook)))
    }

    /// The same where it must be known.
    pub(super) fn known_outlook(&self) -> Result<&Outlook, Failure> {
        costs::needed(self.outlook()?)
    }

    /// The cohort of a round, counted from 1.
    pub(super) fn cohort(&self, round: u64, seed: u64) -> Vec<usize> {
        let method = self.planning.scheme.method();
        if method.flips_coins() {
            // The same stream as that of the sampler of a run, whose alias tables are built once here.
            let coins = self.coins.get_or_init(|| self.plan().sampler());
            let mut cohort = Vec::new();
            let key = StreamKey { seed, purpose: Purpose::Cohort, round };
            coins.draw(&mut key.shared(), &mut cohort);
            return cohort;
        }
        let mut draws = Vec::new();
        let mut sampler = method.sampler(&self.planned.schedule, &self.fleet);
        sampler.draw(round, seed, &Observed::default(), &mut draws);
        draws.iter().map(|draw| draw.device).collect()
    }

    /// The rows of the file that the scheme names, for a copy in another process.
    pub(super) fn rows_of_file(&self) -> Option<(String, String, String)> {
        let given = self.planning.scheme.given()?;
        let mut rows = b"device,q\n".to_vec();
        for position in 0..self.fleet.len() {
            let name = self.fleet.name(position);
            // Writing to memory cannot fail.
            let _ = fedflip_fleet::csv_file::write_text(&mut rows, name);
            rows.extend(format!(",{}\n", given.q(name)?).as_bytes());
        }
        Some((given.name().to_owned(), given.file().to_owned(), String::from_utf8(rows).ok()?))
    }
}
