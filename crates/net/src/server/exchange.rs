//! The data that calls and the round loop exchange: models go out, updates come in.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use prost::bytes::Bytes;

use super::hub::ServerState;
use crate::reason::Reason;
use crate::wire::numbers::{self, VectorDigest};
use crate::wire::v1;

/// A model that devices can fetch. Its bytes are made once and shared by all downloads.
#[derive(Clone)]
pub(crate) struct OfferedModel {
    pub digest: VectorDigest,
    pub bytes: Bytes,
    model: Arc<ModelVector>,
}

impl OfferedModel {
    pub(crate) fn new(model: &Arc<ModelVector>) -> Self {
        let bytes = numbers::to_bytes(model.as_slice());
        Self { digest: numbers::digest_of_bytes(&bytes), bytes: bytes.into(), model: Arc::clone(model) }
    }

    pub(crate) fn is(&self, model: &Arc<ModelVector>) -> bool {
        Arc::ptr_eq(&self.model, model)
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
    /// The times from the grant to the first byte, and from the first byte to the last.
    pub took_secs: [f64; 2],
    /// The permit for the memory of the update, returned when the update is used.
    pub memory: tokio::sync::OwnedSemaphorePermit,
}

impl ServerState {
    /// Tells all devices that the run is over; they may fetch its model.
    pub(crate) fn finish(&mut self, model: Option<OfferedModel>) {
        self.finished = true;
        self.current = None;
        self.model = model;
        for slot in 0..self.members.len() {
            self.tell_finished(slot);
        }
    }

    /// Tells a device that the run is over.
    pub(super) fn tell_finished(&mut self, slot: usize) {
        let digest = self.model.as_ref().map(|model| Bytes::copy_from_slice(&model.digest));
        let finished = v1::to_device::Finished { digest: digest.unwrap_or_default() };
        self.tell(slot, v1::to_device::What::Finished(finished));
    }
}
