//! Hands the rounds of a deployed run on to the observers of the session.

use fedflip_net::NetError;
use fedflip_net::server::{Observer, PlanStart};
use fedflip_record::{End, Header, Initial, Round};

use crate::error::RunError;
use crate::observe::{Observers, RunInfo};

/// Passes rounds on to the observers.
pub(crate) struct Relay<'a, 's> {
    pub observers: &'a mut Observers<'s>,
    pub title: String,
    /// The present plan and the reason for it; none before the first plan.
    pub plan: Option<(Vec<f64>, String)>,
}

impl Relay<'_, '_> {
    pub(crate) fn end(&mut self, end: Option<&End>) -> Result<(), RunError> {
        if self.plan.is_some() {
            self.observers.end(end)?;
        }
        Ok(())
    }
}

impl Observer for Relay<'_, '_> {
    fn planned(&mut self, start: &PlanStart<'_>) -> Result<(), NetError> {
        let (planned, q) = (start.planned, start.planned.schedule.mean_q());
        // As the plan that holds expects it, and not the first one.
        let header = Header {
            devices: q.len(),
            expected_participants: planned.expected.participants,
            expected_rounds: planned.expected.rounds,
            expected_round_secs: planned.expected.round_secs,
            costs: planned.costs.into(),
            ..start.header.clone()
        };
        let run = RunInfo {
            title: &self.title,
            header: &header,
            fleet: &planned.fleet,
            q: &q,
            folder: Some(start.folder),
        };
        let plan = (q.clone(), planned.reason.clone());
        // Also a plan that was looked at and stays begins again.
        let before = self.plan.replace(plan);
        match before {
            None => self.observers.begin(&run)?,
            before if before != self.plan => self.observers.replan(&run, &planned.reason),
            _ => {}
        }
        Ok(())
    }

    fn initial(&mut self, initial: &Initial) -> Result<(), NetError> {
        Ok(self.observers.initial(initial)?)
    }

    fn round(&mut self, round: &Round) -> Result<(), NetError> {
        Ok(self.observers.round(round)?)
    }
}
