//! The data that calls and the round loop exchange: models go out, updates come in.

use std::sync::Arc;

use fedflip_fleet::{ModelVector, StreamKey};
use fedflip_learn::Encoding;
use prost::bytes::Bytes;
use tokio::time::Instant;

use super::hub::ServerState;
use super::round::Current;
use crate::coin::Toss;
use crate::reason::Reason;
use crate::wire::numbers::{self, VectorDigest};

/// A model that devices can fetch. Its bytes are made once and shared by all downloads.
#[derive(Clone)]
pub(crate) struct OfferedModel {
    pub digest: VectorDigest,
    pub bytes: Bytes,
    model: Arc<ModelVector>,
    encoding: Encoding,
}

impl OfferedModel {
    /// Offers the numbers of a model without rounding them.
    pub(crate) fn new(model: &Arc<ModelVector>) -> Self {
        Self::of_bytes(numbers::to_bytes(model.as_slice()), model, Encoding::F32)
    }

    /// With its numbers rounded by the stream of its round, as in the simulated world.
    pub(crate) fn encoded(model: &Arc<ModelVector>, encoding: Encoding, key: StreamKey) -> Self {
        let mut bytes = Vec::new();
        encoding.encode(model.as_slice(), &mut key.shared(), &mut bytes);
        Self::of_bytes(bytes, model, encoding)
    }

    fn of_bytes(bytes: Vec<u8>, model: &Arc<ModelVector>, encoding: Encoding) -> Self {
        let digest = numbers::digest_of_bytes(&bytes);
        Self { digest, bytes: bytes.into(), model: Arc::clone(model), encoding }
    }

    /// Whether these are the bytes of a model as it is. Rounded ones are of one round alone.
    pub(crate) fn is(&self, model: &Arc<ModelVector>) -> bool {
        self.encoding == Encoding::F32 && Arc::ptr_eq(&self.model, model)
    }
}

/// A device's update, complete and checked, or the reason why there is none.
pub(crate) struct Arrival {
    pub slot: usize,
    pub what: Result<ReceivedUpdate, Reason>,
}

pub(crate) struct ReceivedUpdate {
    pub delta: Vec<f32>,
    pub digest: VectorDigest,
    pub train_loss: f64,
    /// The time of the first byte.
    pub began: Instant,
    /// The times from the grant to the first byte, and from the first byte to the last.
    pub took_secs: [f64; 2],
    /// The permit for the memory of the update, returned when the update is used.
    pub memory: tokio::sync::OwnedSemaphorePermit,
}

impl ServerState {
    /// Notes that a device fetches a model. Returns the round, if the model is that of the round in progress.
    pub(crate) fn begin_transfer(&mut self, slot: usize, digest: &[u8]) -> Option<Toss> {
        let current = self.current.as_mut().filter(|current| current.digest[..] == *digest)?;
        current.transfer(slot)?.begin(Instant::now());
        Some(current.toss)
    }

    /// Notes that the connection of a device has taken the last byte of a round's model.
    pub(crate) fn sent_model(&mut self, slot: usize, toss: Toss) {
        if let Some(transfer) = self.round_named(toss).and_then(|current| current.transfer(slot)) {
            transfer.sent(Instant::now());
        }
    }

    /// Notes that a device says that it has the model of a round.
    pub(crate) fn received_model(&mut self, slot: usize, toss: Toss) {
        if let Some(transfer) = self.round_named(toss).and_then(|current| current.transfer(slot)) {
            transfer.received(Instant::now());
        }
    }

    fn round_named(&mut self, toss: Toss) -> Option<&mut Current> {
        self.current.as_mut().filter(|current| current.is(toss))
    }

    /// Ends the run: all devices are told, also those that attend later, and may fetch its model.
    pub(crate) fn finish(&mut self, model: Option<OfferedModel>) {
        self.finished = true;
        self.current = None;
        self.model = model;
        for slot in 0..self.members.len() {
            self.tell_finished(slot);
        }
    }
}
