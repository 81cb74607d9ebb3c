//! A device's part in a round: fetch the model, train, send what was learnt.

use std::sync::{Arc, Mutex, PoisonError};

use tonic::Status;

use super::talk::Talk;
use super::trainer::{Trained, Trainer};
use crate::wire::v1;

/// What the device remembers from round to round: enough that nothing is fetched or computed twice.
#[derive(Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Remembered>>);

#[derive(Default)]
struct Remembered {
    model: Option<(Vec<u8>, Arc<Vec<f32>>)>,
    /// Of which round, seed and model; for when the grant comes again.
    update: Option<(Occasion, Trained)>,
}

/// Round, seed and model of a training: with the device, all that decides its update.
type Occasion = (u64, u64, Vec<u8>);

impl Memory {
    fn with<T>(&self, look: impl FnOnce(&mut Remembered) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn model(&self, digest: &[u8]) -> Option<Arc<Vec<f32>>> {
        self.with(|remembered| {
            remembered.model.as_ref().filter(|(known, _)| known == digest).map(|(_, model)| Arc::clone(model))
        })
    }
}

/// How a part in a round ended, where it did not end well.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server said no, or the line broke.
    Call(Status),
    /// The device cannot train: the server ought to know.
    Training(String),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Call(status)
    }
}

/// What a device needs for its part.
#[derive(Clone)]
pub(super) struct Work {
    pub talk: Talk,
    pub trainer: Arc<Trainer>,
    pub memory: Memory,
    /// One fetch at a time: the second finds what the first has brought.
    pub fetching: Arc<tokio::sync::Mutex<()>>,
}

impl Work {
    /// Fetches a model, if it is not there yet.
    pub(super) async fn fetch(&mut self, digest: &[u8]) -> Result<Arc<Vec<f32>>, Status> {
        let _turn = self.fetching.lock().await;
        if let Some(model) = self.memory.model(digest) {
            return Ok(model);
        }
        let model = Arc::new(self.talk.fetch(digest, self.trainer.parameters()).await?);
        self.memory.with(|remembered| remembered.model = Some((digest.to_vec(), Arc::clone(&model))));
        Ok(model)
    }

    /// From the grant to the server's receipt.
    pub(super) async fn take_part(mut self, grant: v1::Grant) -> Result<Trained, Failed> {
        let trained = self.trained(&grant).await?;
        self.talk.upload(&grant, &trained).await?;
        Ok(trained)
    }

    async fn trained(&mut self, grant: &v1::Grant) -> Result<Trained, Failed> {
        let key = (grant.round, grant.seed, grant.digest.to_vec());
        let known = self.memory.with(|remembered| {
            remembered.update.as_ref().filter(|(known, _)| *known == key).map(|(_, trained)| trained.clone())
        });
        if let Some(trained) = known {
            return Ok(trained);
        }
        let model = self.fetch(&grant.digest).await?;
        let trainer = Arc::clone(&self.trainer);
        let (seed, round) = (grant.seed, grant.round);
        let trained = tokio::task::spawn_blocking(move || trainer.train(&model, seed, round)).await;
        let trained = trained
            .map_err(|error| Failed::Training(error.to_string()))?
            .map_err(|error| Failed::Training(error.to_string()))?;
        self.memory.with(|remembered| remembered.update = Some((key, trained.clone())));
        Ok(trained)
    }
}
