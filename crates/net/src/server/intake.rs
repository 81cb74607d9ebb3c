//! Receives updates: complete, of the right shape, finite, of a sensible size, and counted once.

use std::sync::Arc;

use fedflip_engine::norms::norm;
use tokio::time::Instant;
use tonic::Streaming;
use tracing::warn;

use super::exchange::{Arrival, ReceivedUpdate};
use super::grant::Granted;
use super::round::Taken;
use super::service::Service;
use crate::coin::Toss;
use crate::reason::Reason;
use crate::wire::limits::{SILENCE_MAX, TRAIN_LOSS_MAX};
use crate::wire::numbers::{Collector, VectorDigest, WrongBytes};
use crate::wire::v1;
use crate::wire::v1::upload_part::{Head, What};

/// The round of a refused update, and the reason.
type Refused = (Option<Toss>, Reason);

impl Service {
    /// Receives an update. Returns whether the server had it already.
    pub(super) async fn take_in(
        &self,
        slot: usize,
        mut parts: Streaming<v1::UploadPart>,
    ) -> Result<bool, Refused> {
        let first = within(Instant::now() + SILENCE_MAX, &mut parts).await;
        let Ok(Some(v1::UploadPart { what: Some(What::Head(head)) })) = first else {
            return Err((None, Reason::BadMessage));
        };
        let toss = Toss::named(&head.run, head.round).ok_or((None, Reason::BadMessage))?;
        let refuse = |reason| (Some(toss), reason);
        let began = Instant::now();
        let Some(granted) = self.expected(slot, toss, &head).map_err(refuse)? else { return Ok(true) };

        let (encoding, parameters) = (self.offer.encoding, self.offer.parameters);
        let kilobytes = Collector::memory_bytes(encoding, parameters).div_ceil(1024).max(1) as u32;
        let memory = Arc::clone(&self.uploads).try_acquire_many_owned(kilobytes);
        let memory = memory.map_err(|_| refuse(Reason::OutOfMemory))?;
        let mut collector = Collector::encoded(encoding, parameters);
        loop {
            // A device that sends before its turn, or faster than granted, is not read: others use the bandwidth.
            let turn = granted.earliest(collector.bytes(), began);
            tokio::time::sleep_until(turn.min(granted.deadline)).await;
            let until = granted.deadline.min(Instant::now() + SILENCE_MAX);
            match within(until, &mut parts).await {
                // Empty parts could continue for ever.
                Ok(Some(v1::UploadPart { what: Some(What::Data(data)) })) if !data.is_empty() => {
                    collector.push(&data).map_err(|_| refuse(Reason::TooManyBytes))?;
                }
                Ok(Some(_)) => return Err(refuse(Reason::BadMessage)),
                Ok(None) => break,
                Err(reason) => return Err(refuse(reason)),
            }
        }
        let last = Instant::now();
        self.hub.metrics.upload_bytes.add(collector.bytes() as u64);
        self.hub.metrics.upload_secs.observe((last - began).as_secs_f64());
        let delta = collector.finish(&head.digest).map_err(|wrong| match wrong {
            WrongBytes::TooFew => refuse(Reason::WrongShape),
            WrongBytes::TooMany => refuse(Reason::TooManyBytes),
            WrongBytes::OtherDigest => refuse(Reason::OtherDigest),
            WrongBytes::NoNumber => refuse(Reason::NotFinite),
        })?;
        if !head.train_loss.is_finite() || !delta.iter().all(|number| number.is_finite()) {
            return Err(refuse(Reason::NotFinite));
        }
        if head.train_loss.abs() > TRAIN_LOSS_MAX {
            return Err(refuse(Reason::AbsurdLoss));
        }
        let (norm, devices) = (norm(&delta), self.hub.state().members.len());
        if !self.norms.allows(slot, norm, devices) {
            warn!(slot, norm, "an update is far larger than updates should be");
            return Err(refuse(Reason::AbsurdNorm));
        }
        let digest: VectorDigest = head.digest[..].try_into().map_err(|_| refuse(Reason::OtherDigest))?;
        let took_secs = [(began - granted.at).as_secs_f64(), (last - began).as_secs_f64()];
        let update = ReceivedUpdate { delta, digest, train_loss: head.train_loss, began, took_secs, memory };
        self.recount(slot, toss, head.samples);
        self.hand_over(slot, toss, update, norm).map_err(refuse)
    }

    /// The grant of a device whose update is expected; none if the server has the update already.
    fn expected(&self, slot: usize, toss: Toss, head: &Head) -> Result<Option<Granted>, Reason> {
        let state = self.hub.state();
        let (taken, current) = match (&state.current, &state.previous) {
            (Some(current), _) if current.is(toss) => (current.taken(slot), Some(current)),
            (_, Some((before, taken))) if *before == toss => (taken.get(&slot).copied(), None),
            _ => return Err(Reason::StaleRound),
        };
        if let Some(taken) = taken {
            return already(taken, &head.digest).map(|()| None);
        }
        let current = current.ok_or(Reason::StaleRound)?;
        let granted = current.granted(slot)?;
        if head.model_digest[..] != current.digest[..] {
            return Err(Reason::OtherModel);
        }
        Ok(Some(granted))
    }

    /// Counts an update: only here, under the lock, once per run, round and device.
    fn hand_over(&self, slot: usize, toss: Toss, update: ReceivedUpdate, norm: f64) -> Result<bool, Reason> {
        {
            let mut state = self.hub.state();
            let Some(current) = state.current.as_mut().filter(|current| current.is(toss)) else {
                return Err(Reason::StaleRound);
            };
            if let Some(taken) = current.taken(slot) {
                return already(taken, &update.digest).map(|()| true);
            }
            if !current.take(slot, Taken::Update(update.digest)) {
                return Err(Reason::NotGranted);
            }
            // Before the round can be committed: the commit stores the norm.
            self.norms.took(slot, norm);
            state.arrived.push_back(Arrival { slot, what: Ok(update) });
        }
        self.hub.metrics.uploads_accepted.add(1);
        self.hub.ring();
        Ok(false)
    }
}

/// A repeated update is fine; a second one, or one after a refusal, is not.
fn already(taken: Taken, digest: &[u8]) -> Result<(), Reason> {
    match taken {
        Taken::Update(known) if known[..] == *digest => Ok(()),
        Taken::Update(_) => Err(Reason::SecondUpdate),
        Taken::Refused(reason) => Err(reason),
    }
}

/// The next message, unless it takes too long or the connection breaks.
async fn within(
    until: Instant,
    parts: &mut Streaming<v1::UploadPart>,
) -> Result<Option<v1::UploadPart>, Reason> {
    match tokio::time::timeout_at(until, parts.message()).await {
        Ok(Ok(part)) => Ok(part),
        // The decoder's answer to a message above the size limit.
        Ok(Err(status)) if status.code() == tonic::Code::OutOfRange => Err(Reason::TooManyBytes),
        Ok(Err(_)) => Err(Reason::Disconnected),
        Err(_) => Err(Reason::Stalled),
    }
}
