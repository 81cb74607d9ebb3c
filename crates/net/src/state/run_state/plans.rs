//! The plans of a run: the first one, and those that replace it.

use fedflip_record::{Header, Line, Replan};

use super::super::inserts::insert_plan;
use super::super::open::write_plan;
use super::super::rows::{PlannedDevice, StoredPlan};
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
        if header.devices != plan.devices.len() {
            return refuse(format!("a plan of {} devices for {}", plan.devices.len(), header.devices));
        }
        self.take_plan(plan, &Line::Header(header.clone()))
    }

    /// Replaces the plan from the next round on. The devices in `retired` have left the run for good.
    pub fn replan(&mut self, plan: &StoredPlan, retired: &[usize]) -> Result<(), NetError> {
        let Some(known) = &self.plan else {
            return refuse("a second plan before the first".to_owned());
        };
        let moved = |before: Option<f64>, q: f64| {
            before.is_none_or(|before| (q - before).abs() > CHANGED * before.abs())
        };
        let differs = |(slot, device): &(usize, &PlannedDevice)| {
            let before = known.devices.get(*slot);
            let quiet_q = |device: &PlannedDevice| device.quiet.map(|[q, _]| q);
            moved(before.map(|before| before.q), device.q)
                || quiet_q(device).is_some_and(|q| moved(before.and_then(quiet_q), q))
        };
        let devices = || plan.devices.iter().enumerate();
        let line = Line::Replan(Replan {
            after_round: plan.after_round,
            secs: plan.secs,
            reason: plan.reason.clone(),
            devices: plan.devices.len(),
            benched: devices()
                .filter(|(slot, device)| device.q <= 0.0 && !retired.contains(slot))
                .map(|(slot, _)| slot)
                .collect(),
            retired: retired.to_vec(),
            changed: devices().filter(differs).count(),
            expected_participants: plan.expected.participants,
            expected_rounds: plan.expected.rounds,
            expected_round_secs: plan.expected.round_secs,
            costs: plan.costs,
        });
        self.take_plan(plan, &line)
    }

    fn take_plan(&mut self, plan: &StoredPlan, line: &Line) -> Result<(), NetError> {
        self.goes_on()?;
        let devices = plan.devices.len();
        if plan.after_round != self.round() {
            return refuse(format!(
                "a plan made after round {}, in round {}",
                plan.after_round,
                self.round()
            ));
        }
        let planned_before = self.plan.as_ref().map_or(0, |known| known.devices.len());
        if devices < planned_before || devices > self.devices.len() || devices == 0 {
            return refuse(format!("a plan of {devices} devices, with {} enrolled", self.devices.len()));
        }
        let number = self.seals.chain.plans + 1;
        self.write(Some(line), |state, _, _| insert_plan(state, number, plan))?;
        self.plan = Some(plan.clone());
        self.beside(|state| write_plan(state.path(), plan))
    }
}
