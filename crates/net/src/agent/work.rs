//! A device's part in a round: it fetches the model, trains and uploads its update.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fedflip_learn::{Encoding, LearnError, TrainKey};
use tokio::time::Instant;
use tonic::{Code, Status};

use super::backoff::Backoff;
use super::session::AgentState;
use super::talk::Talk;
use super::trainer::{Trained, Trainer, emulated_until};
use crate::coin::Toss;
use crate::wire::v1;

/// The device's memory from round to round, so that nothing is fetched or computed twice.
#[derive(Clone, Default)]
pub(super) struct Memory {
    remembered: Arc<Mutex<Remembered>>,
    /// One training at a time, until it is remembered.
    training: Arc<Mutex<()>>,
    /// One fetch at a time: the second finds the model that the first has fetched.
    fetching: Arc<tokio::sync::Mutex<()>>,
}

#[derive(Default)]
struct Remembered {
    model: Option<(Vec<u8>, Arc<Vec<f32>>)>,
    /// The newest update and its occasion, in case that the grant comes again.
    update: Option<(Occasion, Ready)>,
    /// An emulated, slower device does one training after the other, even if some updates are not needed any more.
    busy_until: Option<Instant>,
}

/// An update and the time of its completion, which is later than its computation if a slower device is emulated.
#[derive(Clone, Debug)]
struct Ready {
    trained: Trained,
    at: Instant,
}

/// Run and round, seed, model and encoding: together with the device they determine the bytes of an update.
type Occasion = (Toss, u64, Vec<u8>, Encoding);

impl Memory {
    fn with<T>(&self, look: impl FnOnce(&mut Remembered) -> T) -> T {
        look(&mut self.remembered.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn model(&self, digest: &[u8]) -> Option<Arc<Vec<f32>>> {
        self.with(|remembered| {
            remembered.model.as_ref().filter(|(known, _)| known == digest).map(|(_, model)| Arc::clone(model))
        })
    }

    fn update(&self, occasion: &Occasion) -> Option<Ready> {
        self.with(|remembered| {
            let (_, ready) = remembered.update.as_ref().filter(|(known, _)| known == occasion)?;
            Some(ready.clone())
        })
    }

    /// Trains on the calling thread, unless that has been done. The update of a training is remembered even if nobody waits
    /// for it any more.
    fn train_once(
        &self,
        occasion: Occasion,
        train: impl FnOnce() -> Result<Trained, LearnError>,
    ) -> Result<Ready, LearnError> {
        let _turn = self.training.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = self.update(&occasion) {
            return Ok(ready);
        }
        let now = Instant::now();
        let begins = self.with(|remembered| remembered.busy_until).map_or(now, |until| until.max(now));
        let trained = train()?;
        let ready = Ready { at: begins + trained.took, trained };
        self.with(|remembered| {
            remembered.busy_until = Some(ready.at);
            remembered.update = Some((occasion, ready.clone()));
        });
        Ok(ready)
    }
}

/// Why a part in a round failed.
#[derive(Debug)]
pub(super) enum Failed {
    /// The server refused, or the connection broke.
    Call(Status),
    /// The device cannot do its part, and tells the server.
    Unable(String),
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self::Call(status)
    }
}

#[derive(Clone)]
pub(super) struct Work {
    pub talk: Talk,
    pub trainer: Arc<Trainer>,
    /// The device's slot decides its share of the data.
    pub slot: usize,
    pub encoding: Encoding,
    /// The encoding of the models of rounds.
    pub download_encoding: Encoding,
    pub state: AgentState,
}

impl Work {
    /// Fetches the model of a round, unless the device has it.
    pub(super) async fn fetch(&mut self, digest: &[u8]) -> Result<Arc<Vec<f32>>, Status> {
        self.fetch_encoded(digest, self.download_encoding).await
    }

    /// Fetches a model that is sent as it is, unless the device has it.
    pub(super) async fn fetch_plain(&mut self, digest: &[u8]) -> Result<Arc<Vec<f32>>, Status> {
        self.fetch_encoded(digest, Encoding::F32).await
    }

    async fn fetch_encoded(&mut self, digest: &[u8], encoding: Encoding) -> Result<Arc<Vec<f32>>, Status> {
        let memory = self.state.memory.clone();
        let _turn = memory.fetching.lock().await;
        if let Some(model) = memory.model(digest) {
            return Ok(model);
        }
        let model = Arc::new(self.talk.fetch(digest, encoding, self.trainer.parameters()).await?);
        memory.with(|remembered| remembered.model = Some((digest.to_vec(), Arc::clone(&model))));
        Ok(model)
    }

    /// The sums of the device's held-out samples; none if it has no such samples, or cannot evaluate the model.
    pub(super) async fn evaluated(mut self, digest: &[u8]) -> Result<Vec<v1::evaluated::Sum>, Failed> {
        let unable = |problem: String| Failed::Unable(problem);
        let model = self.fetch_plain(digest).await?;
        let trainer = Arc::clone(&self.trainer);
        let evaluated = self.state.compute.run(move || trainer.evaluate(&model)).await;
        let evaluated = evaluated.map_err(|error| unable(error.to_string()))?;
        let evaluated = evaluated.map_err(|error| unable(error.to_string()))?;
        evaluated.ok_or_else(|| unable("the sums are not finite, or too many".to_owned()))
    }

    /// Takes part from the grant to the server's receipt. An attempt that fails is repeated until the round is over.
    pub(super) async fn take_part(mut self, toss: Toss, grant: v1::Grant) -> Result<Trained, Failed> {
        let after = |millis: u32| Instant::now() + Duration::from_millis(u64::from(millis));
        let (deadline, upload_from) = (after(grant.deadline_millis), after(grant.upload_after_millis));
        let mut backoff = Backoff::default();
        loop {
            let status = match self.attempt(toss, &grant, upload_from).await {
                Err(Failed::Call(status)) if may_pass(status.code()) => status,
                done => return done,
            };
            let wait = self.state.waits.next(&mut backoff);
            if Instant::now() + wait >= deadline {
                return Err(Failed::Unable(status.message().to_owned()));
            }
            tokio::time::sleep(wait).await;
        }
    }

    async fn attempt(
        &mut self,
        toss: Toss,
        grant: &v1::Grant,
        upload_from: Instant,
    ) -> Result<Trained, Failed> {
        let Ready { trained, at } = self.trained(toss, grant).await?;
        emulated_until(at).await;
        tokio::time::sleep_until(upload_from).await;
        self.talk.upload(grant, &trained).await?;
        Ok(trained)
    }

    async fn trained(&mut self, toss: Toss, grant: &v1::Grant) -> Result<Ready, Failed> {
        let encoding = self.encoding;
        let occasion = (toss, grant.seed, grant.digest.to_vec(), encoding);
        if let Some(ready) = self.state.memory.update(&occasion) {
            return Ok(ready);
        }
        let model = self.fetch(&grant.digest).await?;
        let (trainer, memory) = (Arc::clone(&self.trainer), self.state.memory.clone());
        let key = TrainKey::new(grant.seed, grant.round, self.slot);
        let training = move || memory.train_once(occasion, || trainer.train(&model, key, encoding));
        let ready = self.state.compute.run(training).await;
        ready
            .map_err(|error| Failed::Unable(error.to_string()))?
            .map_err(|error| Failed::Unable(error.to_string()))
    }
}

/// Whether the same call may succeed a moment later.
fn may_pass(code: Code) -> bool {
    matches!(
        code,
        Code::ResourceExhausted | Code::DeadlineExceeded | Code::DataLoss | Code::Cancelled | Code::Unknown
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn train(memory: &Memory, run: u8, round: u8, took: Duration) -> (Ready, bool) {
        let mut trains = false;
        let occasion = (Toss { run: [run; 16], round: round.into() }, 7, vec![1], Encoding::F32);
        let ready = memory.train_once(occasion, || {
            trains = true;
            let bytes = vec![run + round].into();
            Ok(Trained { bytes, digest: Default::default(), train_loss: 0.0, samples: 0, took })
        });
        (ready.unwrap(), trains)
    }

    #[test]
    fn nothing_is_trained_twice() {
        let (memory, mut trainings) = (Memory::default(), 0);
        for (run, round, expected) in [(0, 1, 1), (0, 1, 1), (0, 2, 2), (0, 2, 2), (9, 2, 11)] {
            let (ready, trains) = train(&memory, run, round, Duration::ZERO);
            assert_eq!(ready.trained.bytes[0], expected);
            trainings += usize::from(trains);
        }
        assert_eq!(trainings, 3);
    }

    #[test]
    fn an_emulated_device_trains_for_one_round_after_the_other() {
        let (memory, long) = (Memory::default(), Duration::from_secs(60));
        let (first, _) = train(&memory, 0, 1, long);
        let (again, _) = train(&memory, 0, 1, long);
        let (second, _) = train(&memory, 0, 2, long);
        assert_eq!(first.at, again.at, "a grant that comes again changes nothing");
        assert_eq!(second.at, first.at + long, "the second training waits for the first");
    }
}
