//! Sample counts that devices report and nobody else can check: bounded, recorded, and taken up by the next plan.

use fedflip_record::{Recount, SampleCount};
use tracing::{info, warn};

use super::Server;
use super::journal::Permit;
use super::service::Service;
use crate::coin::Toss;
use crate::error::NetError;
use crate::reason::Reason;
use crate::state::{EnrolledDevice, RunState};
use crate::wire::limits::SAMPLES_MAX;

impl Service {
    /// Whether a device may claim this number of samples.
    pub(super) fn may_claim(&self, device: &str, samples: u64) -> bool {
        let most = self.offer.samples_max.min(SAMPLES_MAX);
        if samples <= most {
            return true;
        }
        if let Some(Permit { left_out }) = self.hub.journal.permit(device, "samples") {
            warn!(device, samples, most, left_out, "a device claims more samples than it may");
        }
        false
    }

    /// Takes over the count that came with an update; 0 says nothing. A count above the limit changes nothing either: the
    /// update is sound without it.
    pub(super) fn recount(&self, slot: usize, toss: Toss, samples: u64) {
        // Where the server knows the counts, devices are not believed.
        if samples == 0 || !self.offer.samples.is_empty() {
            return;
        }
        let mut state = self.hub.state();
        let Some(device) = state.members.get_mut(slot).map(|member| &mut member.device) else { return };
        let before = device.samples;
        if before == samples as f64 {
            return;
        }
        if self.may_claim(&device.name, samples) {
            device.samples = samples as f64;
            if let Some(Permit { left_out }) = self.hub.journal.permit(&device.name, "recount") {
                info!(device = %device.name, slot, before, samples, left_out, "a device's sample count changes");
            }
        } else {
            state.note(Some(toss), Some(slot), Reason::TooManySamples);
            state.tell_refusal(slot, toss.round, Reason::TooManySamples);
            self.hub.metrics.refused.add(Reason::TooManySamples);
        }
    }
}

/// Stores and records the counts of a round's devices that have changed. A count that is lost because the server is killed before this
/// comes again with the device's next update.
pub(super) fn keep(
    server: &Server,
    state: &mut RunState,
    (round, cohort): (u64, &[usize]),
    kept: &mut [EnrolledDevice],
) -> Result<(), NetError> {
    let counts: Vec<SampleCount> = {
        let hub = server.hub.state();
        let count = |device: usize| {
            let (before, now) = (kept.get(device)?.samples, hub.members.get(device)?.device.samples);
            Some(SampleCount { device, before: before as u64, now: now as u64 })
        };
        cohort.iter().filter_map(|slot| count(*slot)).filter(|count| count.before != count.now).collect()
    };
    if counts.is_empty() {
        return Ok(());
    }
    let recount = Recount { after_round: round, counts };
    state.recount(&recount)?;
    for count in recount.counts {
        kept[count.device].samples = count.now as f64;
    }
    Ok(())
}
