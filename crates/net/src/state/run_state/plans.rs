//! The plans of a run: the first one, and those that replace it.

use fedflip_record::{Header, Line, Replan};

use super::super::inserts::insert_plan;
use super::super::open::write_plan;
use super::super::rows::StoredPlan;
use super::{RunState, refuse};
use crate::error::NetError;

/// A q counts as changed if it differs by more than this share.
const CHANGED: f64 = 0.01;

impl RunState {
    /// Sets the first line of the records and the first plan, before the first round.
    pub fn begin(&mut self, header: &Header, plan: &StoredPlan) -> Result<(), NetError> {
        if self.plan.is_some() {
            return refuse("a first plan, having one".to_owned());
        }
        if header.devices != plan.q.len() {
            return refuse(format!("a plan of {} devices for {}", plan.q.len(), header.devices));
        }
        self.take_plan(plan, &Line::Header(header.clone()))
    }

    /// Replaces the plan from the next round on.
    pub fn replan(&mut self, plan: &StoredPlan) -> Result<(), NetError> {
        let Some(known) = &self.plan else {
            return refuse("a second plan before the first".to_owned());
        };
        let moved = |before: Option<&f64>, q: f64| {
            before.is_none_or(|before| (q - before).abs() > CHANGED * before.abs())
        };
        let differs = |slot: usize| {
            let known_quiet_q = known.quiet.as_ref().and_then(|quiet| quiet.q.get(slot));
            moved(known.q.get(slot), plan.q[slot])
                || plan.quiet.as_ref().is_some_and(|quiet| moved(known_quiet_q, quiet.q[slot]))
        };
        let line = Line::Replan(Replan {
            after_round: plan.after_round,
            secs: plan.secs,
            reason: plan.reason.clone(),
            devices: plan.q.len(),
            benched: (0..plan.q.len()).filter(|&slot| plan.q[slot] <= 0.0).collect(),
            changed: (0..plan.q.len()).filter(|&slot| differs(slot)).count(),
            expected_participants: plan.expected.participants,
            expected_rounds: plan.expected.rounds,
            expected_round_secs: plan.expected.round_secs,
        });
        self.take_plan(plan, &line)
    }

    fn take_plan(&mut self, plan: &StoredPlan, line: &Line) -> Result<(), NetError> {
        self.goes_on()?;
        let devices = plan.q.len();
        if plan.after_round != self.round() {
            return refuse(format!(
                "a plan made after round {}, in round {}",
                plan.after_round,
                self.round()
            ));
        }
        let planned_before = self.plan.as_ref().map_or(0, |known| known.q.len());
        if devices < planned_before || devices > self.devices.len() || devices == 0 {
            return refuse(format!("a plan of {devices} devices, with {} enrolled", self.devices.len()));
        }
        let quiet = plan.quiet.iter().flat_map(|quiet| [quiet.q.len(), quiet.weights.len()]);
        if quiet.chain([plan.availability.len(), plan.weights.len()]).any(|len| len != devices) {
            return refuse("a plan in which q, availability and weights differ in number".to_owned());
        }
        let number = self.seals.chain.plans + 1;
        self.write(Some(line), |state, _, _| insert_plan(state, number, plan))?;
        self.plan = Some(plan.clone());
        self.beside(|state| write_plan(state.path(), plan))
    }
}
