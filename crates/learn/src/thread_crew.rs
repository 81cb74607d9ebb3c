//! A crew of threads.
//!
//! The calling thread is one of the workers: with one worker there is no other thread, and while the round loop waits for
//! an update, it trains one. A worker holds one model and its buffers. The memory of updates is used again, so there
//! is as much of it as there are workers and updates that wait for their turn.

use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fedflip_fleet::{Metrics, ModelVector};

use crate::crew::{Crew, Trained};
use crate::encoding::Encoding;
use crate::error::LearnError;
use crate::learner::{Learner, TrainKey, pieces};
use crate::metrics::{self, Metric, Sums};

/// Calls `body` with a crew of `threads` threads, the calling thread included.
pub fn with_crew<L: Learner, R>(learner: &L, threads: usize, body: impl FnOnce(&mut dyn Crew) -> R) -> R {
    let shared = Shared::default();
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        // The workers leave also if the body panics.
        let _dismissal = Dismissal(&shared);
        for _ in 1..threads {
            let (shared, sender) = (&shared, sender.clone());
            let spawned =
                std::thread::Builder::new().spawn_scoped(scope, move || work(learner, shared, &sender));
            if spawned.is_err() {
                // The system allows no more threads; the others do the work.
                break;
            }
        }
        drop(sender);
        let (own, sums, total) = (learner.worker(), Vec::new(), Sums::default());
        body(&mut ThreadCrew { learner, shared: &shared, results, own, outstanding: 0, sums, total })
    })
}

/// A crew of threads; [`with_crew`] makes one.
pub struct ThreadCrew<'a, L: Learner> {
    learner: &'a L,
    shared: &'a Shared,
    results: Receiver<Done>,
    /// The buffers of the calling thread.
    own: L::Worker,
    /// Jobs that were begun and whose result nobody has taken.
    outstanding: usize,
    /// Memory for the sums of pieces, and of a whole evaluation.
    sums: Vec<Sums>,
    total: Sums,
}

enum Job {
    Train { model: Arc<ModelVector>, key: TrainKey, encoding: Encoding },
    Score { model: Arc<ModelVector>, piece: usize, samples: Range<usize>, sums: Sums },
    Loss { model: Arc<ModelVector>, place: usize, device: usize },
}

enum Done {
    Trained(Trained),
    Scored { piece: usize, sums: Result<Sums, LearnError> },
    Loss { place: usize, loss: Result<f64, LearnError> },
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    /// Memory of earlier updates, to use again.
    spare: Mutex<Vec<Vec<f32>>>,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    dismissed: bool,
}

impl<L: Learner> Crew for ThreadCrew<'_, L> {
    fn devices(&self) -> usize {
        self.learner.devices()
    }

    fn params_len(&self) -> usize {
        self.learner.params_len()
    }

    fn metrics(&self) -> &[Metric] {
        self.learner.metrics()
    }

    fn relative_cost(&self, device: usize) -> u64 {
        self.learner.relative_cost(device)
    }

    fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> Result<(), LearnError> {
        self.begin(keys.iter().map(|&key| Job::Train { model: Arc::clone(model), key, encoding }));
        Ok(())
    }

    fn next_trained(&mut self) -> Result<Option<Trained>, LearnError> {
        while self.outstanding > 0 {
            if let Done::Trained(trained) = self.next()? {
                return Ok(Some(trained));
            }
        }
        Ok(None)
    }

    fn recycle(&mut self, delta: Vec<f32>) {
        locked(&self.shared.spare).push(delta);
    }

    fn losses(&mut self, model: &Arc<ModelVector>, devices: &[usize]) -> Result<Vec<f64>, LearnError> {
        let job = |(place, &device)| Job::Loss { model: Arc::clone(model), place, device };
        self.begin(devices.iter().enumerate().map(job));
        let mut losses = vec![None; devices.len()];
        for _ in 0..devices.len() {
            if let Done::Loss { place, loss } = self.next()? {
                losses[place] = Some(loss);
            }
        }
        losses.into_iter().map(|loss| loss.ok_or_else(lost)?).collect()
    }

    fn relative_loss_time(&self, device: usize) -> f64 {
        self.learner.relative_loss_time(device)
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        let samples = self.learner.test_samples();
        let mut memory = std::mem::take(&mut self.sums);
        memory.resize_with(pieces(samples).count(), Sums::default);
        let mut scored = vec![None; memory.len()];
        let job = |((piece, samples), mut sums): (_, Sums)| {
            sums.reset();
            Job::Score { model: Arc::clone(model), piece, samples, sums }
        };
        self.begin(pieces(samples).enumerate().zip(memory).map(job));
        for _ in 0..scored.len() {
            if let Done::Scored { piece, sums } = self.next()? {
                scored[piece] = Some(sums);
            }
        }
        // In the order of the pieces: floating-point sums depend on it.
        self.total.reset();
        for sums in scored {
            let sums = sums.ok_or_else(lost)??;
            self.total.merge(&sums);
            self.sums.push(sums);
        }
        metrics::evaluated(self.learner.metrics(), &self.total)
    }
}

impl<L: Learner> ThreadCrew<'_, L> {
    fn begin(&mut self, jobs: impl Iterator<Item = Job>) {
        let mut queue = locked(&self.shared.queue);
        let before = queue.jobs.len();
        queue.jobs.extend(jobs);
        self.outstanding += queue.jobs.len() - before;
        drop(queue);
        self.shared.ready.notify_all();
    }

    /// Takes a result that is ready, does a job that nobody does, or waits for another thread.
    fn next(&mut self) -> Result<Done, LearnError> {
        self.outstanding = self.outstanding.saturating_sub(1);
        if let Ok(done) = self.results.try_recv() {
            return Ok(done);
        }
        let job = locked(&self.shared.queue).jobs.pop_front();
        match job {
            Some(job) => Ok(perform(self.learner, self.shared, &mut self.own, job)),
            None => self.results.recv().map_err(|_| lost()),
        }
    }
}

fn work<L: Learner>(learner: &L, shared: &Shared, results: &Sender<Done>) {
    let mut worker = learner.worker();
    loop {
        let mut queue = locked(&shared.queue);
        let job = loop {
            if queue.dismissed {
                return;
            }
            match queue.jobs.pop_front() {
                Some(job) => break job,
                None => queue = shared.ready.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(queue);
        if results.send(perform(learner, shared, &mut worker, job)).is_err() {
            return;
        }
    }
}

/// Does a job. A learner that panics costs the job and the worker's buffers, which are made again.
fn perform<L: Learner>(learner: &L, shared: &Shared, worker: &mut L::Worker, job: Job) -> Done {
    match job {
        Job::Train { model, key, encoding } => {
            let mut delta = locked(&shared.spare).pop().unwrap_or_default();
            delta.resize(learner.params_len(), 0.0);
            let train_loss =
                guarded(learner, worker, |worker| learner.train(worker, model.as_slice(), key, &mut delta));
            if train_loss.is_ok() {
                encoding.round_trip(&mut delta, &mut key.rounding());
            }
            Done::Trained(Trained { device: key.device, delta, train_loss })
        }
        Job::Score { model, piece, samples, mut sums } => {
            let scored = guarded(learner, worker, |worker| {
                learner.score(worker, model.as_slice(), samples, &mut sums)
            });
            Done::Scored { piece, sums: scored.map(|()| sums) }
        }
        Job::Loss { model, place, device } => {
            let loss = guarded(learner, worker, |worker| learner.loss(worker, model.as_slice(), device));
            Done::Loss { place, loss }
        }
    }
}

fn guarded<L: Learner, T>(
    learner: &L,
    worker: &mut L::Worker,
    job: impl FnOnce(&mut L::Worker) -> Result<T, LearnError>,
) -> Result<T, LearnError> {
    // Buffers that a panic has left behind are not used again.
    catch_unwind(AssertUnwindSafe(|| job(worker))).unwrap_or_else(|panic| {
        *worker = learner.worker();
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(LearnError::WorkerLost { problem: format!("a worker panicked: {text}") })
    })
}

fn lost() -> LearnError {
    LearnError::WorkerLost { problem: "a worker left without a result".to_owned() }
}

/// Dismisses the workers when it is dropped.
struct Dismissal<'a>(&'a Shared);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        locked(&self.0.queue).dismissed = true;
        self.0.ready.notify_all();
    }
}

/// No code panics while it holds one of these locks, so the content is good.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
