//! The workers, and the work they share.
//!
//! The calling thread is one of them: with one worker there is no other thread, and while the round loop
//! waits for an update it trains one. A worker holds one model and its buffers; the memory of updates goes
//! round, so there is as much of it as there are workers and updates that wait for their turn.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fedflip_engine::EngineError;
use fedflip_fleet::ModelVector;
use fedflip_learn::learner::pieces;
use fedflip_learn::{Encoding, LearnError, Learner, Metrics, Score, TrainKey};

/// Workers for a learner, for as long as `body` runs.
pub fn with_crew<L: Learner, R>(learner: &L, threads: usize, body: impl FnOnce(&mut Crew<'_, L>) -> R) -> R {
    let shared = Shared::default();
    let (sender, results) = mpsc::channel();
    std::thread::scope(|scope| {
        // Whatever happens from here on, the workers go home.
        let _dismissal = Dismissal(&shared);
        for _ in 1..threads {
            let (shared, sender) = (&shared, sender.clone());
            let spawned =
                std::thread::Builder::new().spawn_scoped(scope, move || work(learner, shared, sender));
            if spawned.is_err() {
                // The system allows no more: those who are there do the work.
                break;
            }
        }
        drop(sender);
        body(&mut Crew { learner, shared: &shared, results, own: learner.worker(), outstanding: 0 })
    })
}

/// Workers that train and score.
pub struct Crew<'a, L: Learner> {
    learner: &'a L,
    shared: &'a Shared,
    results: Receiver<Done>,
    own: L::Worker,
    /// Tasks that were begun and whose result nobody has seen.
    outstanding: usize,
}

/// What a worker is asked to do.
enum Task {
    Train { model: Arc<ModelVector>, key: TrainKey, encoding: Encoding },
    Score { model: Arc<ModelVector>, piece: usize, samples: Range<usize> },
}

/// What came of it.
enum Done {
    Trained(Trained),
    Scored {
        piece: usize,
        score: Result<Score, LearnError>,
    },
    /// The worker is gone, and its task with it.
    Died,
}

/// What came of a device's training.
pub(crate) struct Trained {
    pub device: usize,
    pub delta: Vec<f32>,
    pub train_loss: Result<f64, LearnError>,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    ready: Condvar,
    /// Memory for updates.
    spare: Mutex<Vec<Vec<f32>>>,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    dismissed: bool,
}

impl<L: Learner> Crew<'_, L> {
    /// Who is trained.
    pub fn learner(&self) -> &L {
        self.learner
    }

    /// Begins training on some devices, the first one first; updates are as they come out of their encoding.
    pub(crate) fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: impl Iterator<Item = TrainKey>,
    ) {
        self.begin(keys.map(|key| Task::Train { model: Arc::clone(model), key, encoding }));
    }

    /// Waits for one of them, and trains meanwhile. None if there is nothing to wait for.
    pub(crate) fn next_trained(&mut self) -> Option<Trained> {
        loop {
            match self.next()? {
                Done::Trained(trained) => return Some(trained),
                Done::Scored { .. } => {}
                Done::Died => return None,
            }
        }
    }

    /// Takes memory back.
    pub(crate) fn recycle(&self, delta: Vec<f32>) {
        locked(&self.shared.spare).push(delta);
    }

    /// Scores a model on all test samples.
    pub fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, EngineError> {
        let total = self.learner.test_samples();
        let task = |(piece, samples)| Task::Score { model: Arc::clone(model), piece, samples };
        self.begin(pieces(total).enumerate().map(task));
        let mut scores = vec![None; pieces(total).count()];
        for _ in 0..scores.len() {
            match self.next() {
                Some(Done::Scored { piece, score }) => scores[piece] = Some(score),
                _ => return Err(worker_died()),
            }
        }
        // In the order of the pieces, whoever scored them.
        let mut sum = Score::default();
        for score in scores {
            sum += score.ok_or_else(worker_died)??;
        }
        Ok(sum.metrics(total)?)
    }

    fn begin(&mut self, tasks: impl Iterator<Item = Task>) {
        let mut queue = locked(&self.shared.queue);
        let before = queue.tasks.len();
        queue.tasks.extend(tasks);
        self.outstanding += queue.tasks.len() - before;
        drop(queue);
        self.shared.ready.notify_all();
    }

    /// What is ready, or what the calling thread makes ready, or what it has to wait for. None if nothing is
    /// outstanding, or if those who were at it are gone.
    fn next(&mut self) -> Option<Done> {
        self.outstanding = self.outstanding.checked_sub(1)?;
        if let Ok(done) = self.results.try_recv() {
            return Some(done);
        }
        let task = locked(&self.shared.queue).tasks.pop_front();
        match task {
            Some(task) => Some(perform(self.learner, self.shared, &mut self.own, task)),
            // Others are at the rest.
            None => self.results.recv().ok(),
        }
    }
}

fn work<L: Learner>(learner: &L, shared: &Shared, results: Sender<Done>) {
    let results = Obituary(results);
    let mut worker = learner.worker();
    loop {
        let mut queue = locked(&shared.queue);
        let task = loop {
            if queue.dismissed {
                return;
            }
            match queue.tasks.pop_front() {
                Some(task) => break task,
                None => queue = shared.ready.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        };
        drop(queue);
        if results.0.send(perform(learner, shared, &mut worker, task)).is_err() {
            return;
        }
    }
}

fn perform<L: Learner>(learner: &L, shared: &Shared, worker: &mut L::Worker, task: Task) -> Done {
    match task {
        Task::Train { model, key, encoding } => {
            let mut delta = locked(&shared.spare).pop().unwrap_or_default();
            delta.resize(learner.params_len(), 0.0);
            let train_loss = learner.train(worker, model.as_slice(), key, &mut delta);
            if train_loss.is_ok() {
                encoding.round_trip(&mut delta, &mut key.rounding());
            }
            Done::Trained(Trained { device: key.device, delta, train_loss })
        }
        Task::Score { model, piece, samples } => {
            Done::Scored { piece, score: learner.score(worker, model.as_slice(), samples) }
        }
    }
}

/// Says so when its worker panics: whoever waits for the result must not wait for ever.
struct Obituary(Sender<Done>);

impl Drop for Obituary {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // If nobody listens, nobody waits.
            let _ = self.0.send(Done::Died);
        }
    }
}

/// What to say when a result will not come.
pub(crate) fn worker_died() -> EngineError {
    EngineError::World { problem: "a worker has died".to_owned() }
}

/// Sends the workers home, also if the body panics.
struct Dismissal<'a>(&'a Shared);

impl Drop for Dismissal<'_> {
    fn drop(&mut self) {
        locked(&self.0.queue).dismissed = true;
        self.0.ready.notify_all();
    }
}

/// A worker that panicked has left the queue as good as it was.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
