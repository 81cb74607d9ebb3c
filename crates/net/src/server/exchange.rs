//! What calls and the round loop hand to each other: models out, updates and incidents in.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use prost::bytes::Bytes;

use crate::reason::Reason;
use crate::wire::numbers::{self, VectorDigest};

/// A model that devices can fetch: its bytes are made once, and sent to all without a copy of their own.
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

/// An update that is whole and checked.
pub(crate) struct Arrival {
    pub slot: usize,
    pub what: Result<ReceivedUpdate, Reason>,
}

pub(crate) struct ReceivedUpdate {
    pub delta: Vec<f32>,
    pub digest: VectorDigest,
    pub train_loss: f64,
    /// From the grant to the first byte, and from there to the last.
    pub took_secs: [f64; 2],
    /// Of the server's memory: given back when the update is used.
    pub memory: tokio::sync::OwnedSemaphorePermit,
}
