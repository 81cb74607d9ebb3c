//! An evaluation on devices: who is asked, who is waited for, and what they report.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fedflip_engine::World;
use fedflip_fleet::bandwidth::DeviceJob;
use fedflip_fleet::{Metrics, ModelVector};
use fedflip_learn::{LearnError, Sums};
use tokio::time::Instant;
use tracing::info;

use super::estimate::Reports;
use super::exchange::OfferedModel;
use super::hub::ServerState;
use super::world::NetWorld;
use crate::coin::Toss;
use crate::reason::Reason;
use crate::status::Standing;
use crate::wire::numbers::VectorDigest;
use crate::wire::v1;
use crate::wire::v1::to_device::What;

/// An evaluation in progress. Once it is over, there is none: whoever reports then is too late.
#[derive(Debug)]
pub(crate) struct Evaluation {
    toss: Toss,
    digest: VectorDigest,
    probability: f64,
    /// The devices of the fleet, by slot.
    seats: BTreeMap<usize, Seat>,
}

#[derive(Debug)]
enum Seat {
    /// The device has not reported. The evaluation is kept open for it while it `is_awaited`, as it `was` at some time.
    Silent {
        is_awaited: bool,
        was: bool,
    },
    Heard(Sums),
    /// The report made no sense, or the device cannot evaluate the model; there is no second report.
    Refused,
}

impl Evaluation {
    fn new(toss: Toss, digest: VectorDigest, probability: f64, slots: &[usize]) -> Self {
        let silent = |&slot: &usize| (slot, Seat::Silent { is_awaited: false, was: false });
        Self { toss, digest, probability, seats: slots.iter().map(silent).collect() }
    }

    /// The message that asks a device; none if it has reported, or is not part of the fleet.
    pub(crate) fn ask(&mut self, slot: usize, waits: bool) -> Option<What> {
        let Some(Seat::Silent { is_awaited, was }) = self.seats.get_mut(&slot) else { return None };
        (*is_awaited, *was) = (waits, *was || waits);
        Some(What::Evaluate(v1::Evaluate {
            round: self.toss.round,
            run: self.toss.run.to_vec().into(),
            digest: self.digest.to_vec().into(),
            probability: self.probability,
        }))
    }

    /// Nobody waits for a device that has left.
    pub(crate) fn gone(&mut self, slot: usize) {
        if let Some(Seat::Silent { is_awaited, .. }) = self.seats.get_mut(&slot) {
            *is_awaited = false;
        }
    }

    /// Whether this evaluation still awaits a report like this one.
    pub(crate) fn wants(&self, slot: usize, report: &v1::Evaluated) -> bool {
        Toss::named(&report.run, report.round) == Some(self.toss)
            && report.digest[..] == self.digest[..]
            && matches!(self.seats.get(&slot), Some(Seat::Silent { .. }))
    }

    /// Takes a report that it wants, or notes why there is none.
    pub(crate) fn take(&mut self, slot: usize, report: Result<Sums, Reason>) {
        self.seats.insert(slot, report.map_or(Seat::Refused, Seat::Heard));
    }

    fn awaits_nobody(&self) -> bool {
        !self.seats.values().any(|seat| matches!(seat, Seat::Silent { is_awaited: true, .. }))
    }

    /// The devices that were waited for in vain.
    fn silent(&self) -> impl Iterator<Item = usize> {
        let silent =
            |(slot, seat): (&usize, &Seat)| matches!(seat, Seat::Silent { was: true, .. }).then_some(*slot);
        self.seats.iter().filter_map(silent)
    }

    fn reports(self) -> Reports {
        let (probability, devices) = (self.probability, self.seats.len());
        let heard = |seat| if let Seat::Heard(sums) = seat { Some(sums) } else { None };
        let mut sums: Vec<Sums> = self.seats.into_values().filter_map(heard).collect();
        let heard = sums.len();
        sums.retain(|sums| sums.iter().next().is_some());
        Reports { sums, probability, heard, devices }
    }
}

impl NetWorld<'_> {
    /// Asks all devices that attend to evaluate a model, and estimates its metrics from their reports; there are none if
    /// nobody reports in time.
    pub(super) fn evaluate_on_devices(
        &mut self,
        model: &Arc<ModelVector>,
        probability: f64,
    ) -> Result<Metrics, LearnError> {
        let current = self.server.hub.state().current.as_ref().map(|current| current.toss);
        let round = current.filter(|toss| toss.run == self.toss_run).map_or(0, |toss| toss.round);
        let active: Vec<usize> = (0..self.planned.fleet.len())
            .filter(|&slot| {
                let is_benched = self.measures.is_benched(slot);
                self.server.hub.state().standing(slot, is_benched) == Standing::Active
            })
            .collect();
        let until = Instant::now() + self.time_to_evaluate(&active);
        self.ask_for_evaluations(Toss { run: self.toss_run, round }, model, probability, &active);
        let is_over = |state: &ServerState| state.evaluation.as_ref().is_none_or(Evaluation::awaits_nobody);
        while Instant::now() < until && !is_over(&self.server.hub.state()) {
            if self.check_stop(self.deployment.timeouts.finish).is_err() {
                self.is_given_up = true;
                break;
            }
            self.wait(until);
        }
        let mut state = self.server.hub.state();
        let Some(evaluation) = state.evaluation.take() else { return Ok(Metrics::default()) };
        evaluation.silent().for_each(|slot| state.members[slot].evaluating.missed_a_window());
        drop(state);
        let reports = evaluation.reports();
        let (heard, reported) = (reports.heard, reports.sums.len());
        info!(round, devices = active.len(), heard, reported, "a model is evaluated on devices");
        let target = self.deployment.stop.target.as_ref();
        let Some((metrics, estimated)) = reports.estimate(self.scored_by, target)? else {
            return Ok(Metrics::default());
        };
        self.estimated = Some(estimated);
        Ok(metrics)
    }

    /// To fetch a model and to look at held-out samples takes no longer than a round of all devices.
    fn time_to_evaluate(&self, slots: &[usize]) -> Duration {
        let believed = self.measures.believed();
        let job = |&device: &usize| DeviceJob { device, job: self.measures.job(device, believed) };
        let jobs: Vec<DeviceJob> = slots.iter().map(job).collect();
        let secs = self.deadline_secs(&jobs).unwrap_or(0.0);
        Duration::try_from_secs_f64(secs).unwrap_or(self.deployment.timeouts.deadline_max)
    }

    /// Offers the model, and tells all devices that attend. The server does not wait for devices that let evaluation after
    /// evaluation pass, unless no other device attends.
    fn ask_for_evaluations(&self, toss: Toss, model: &Arc<ModelVector>, probability: f64, slots: &[usize]) {
        let hub = &self.server.hub;
        // Outside of the lock: the digest takes a while, and calls need the state.
        let known = hub.state().model.clone().filter(|known| known.is(model));
        let offered = known.unwrap_or_else(|| OfferedModel::new(model));
        let mut state = hub.state();
        let mut evaluation = Evaluation::new(toss, offered.digest, probability, slots);
        state.model = Some(offered);
        let attends = |slot: &&usize| state.members[**slot].link.is_some();
        let attending: Vec<usize> = slots.iter().filter(attends).copied().collect();
        let waits_for_all = !attending.iter().any(|&slot| state.members[slot].evaluating.is_waited_for());
        for slot in attending {
            let member = &mut state.members[slot];
            // One call for the report, and one for the model.
            member.calls.grant(2.0);
            if let Some(notice) = evaluation.ask(slot, waits_for_all || member.evaluating.is_waited_for())
                && !state.tell(slot, notice)
            {
                evaluation.gone(slot);
            }
        }
        (state.evaluation, state.evaluated) = (Some(evaluation), Some(toss));
    }
}
