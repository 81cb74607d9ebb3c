//! What every [`Crew`] promises, as a check that any implementation can run.
//!
//! An implementation calls [`check`] from one of its tests, with a function that makes a crew for a given
//! [`ContractLearner`]. A crew whose workers live in other processes makes the same learner there from its [`Fault`].

use std::ops::Range;
use std::sync::Arc;

use fedflip_fleet::ModelVector;

use super::{Crew, Trained};
use crate::encoding::Encoding;
use crate::error::LearnError;
use crate::learner::{Learner, SCORED_TOGETHER, TrainKey};
use crate::metrics::{self, METRICS, Metric, Sums};

const DEVICES: usize = 17;
const PARAMETERS: usize = 5;
/// The device whose training fails where there is a fault.
const FAULTY: usize = 6;
/// The message of the foreign failure.
const MESSAGE: &str = "somebody else's code failed";

/// What goes wrong in a [`ContractLearner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault at all.
    None,
    /// The worker that trains one of the devices panics.
    Panic,
    /// Training on one of the devices, and every evaluation, fails in code that is not part of fedflip.
    Foreign,
}

/// A learner with known results: updates are numbers that follow from the model and the key.
#[derive(Clone, Copy, Debug)]
pub struct ContractLearner {
    /// The fault that the crew has to survive.
    pub fault: Fault,
}

impl Learner for ContractLearner {
    type Worker = ();

    fn devices(&self) -> usize {
        DEVICES
    }

    fn samples(&self, device: usize) -> usize {
        device + 1
    }

    fn params_len(&self) -> usize {
        PARAMETERS
    }

    fn relative_loss_time(&self, device: usize) -> f64 {
        device as f64 / 5.0
    }

    fn initial_model(&self, _seed: u64) -> ModelVector {
        ModelVector::new((0..PARAMETERS).map(|at| at as f32 / 3.0).collect())
    }

    fn worker(&self) {}

    #[expect(clippy::panic, reason = "a worker that is lost is one of the faults")]
    fn train(&self, _: &mut (), model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        // Trainings that begin early end late.
        (key.device..DEVICES).for_each(|_| std::thread::yield_now());
        match self.fault {
            Fault::Panic if key.device == FAULTY => panic!("a worker of the contract is lost"),
            Fault::Foreign if key.device == FAULTY => return Err(foreign()),
            _ => {}
        }
        for (at, (update, parameter)) in update.iter_mut().zip(model).enumerate() {
            *update = parameter * (key.device + 1) as f32 / 7.0 + (at as u64 * key.round) as f32 / 9.0;
        }
        Ok((key.device as f64 + 1.0) / 3.0)
    }

    fn loss(&self, _: &mut (), model: &[f32], device: usize) -> Result<f64, LearnError> {
        (device..DEVICES).for_each(|_| std::thread::yield_now());
        match self.fault {
            Fault::Foreign if device >= FAULTY => Err(foreign()),
            _ => Ok(f64::from(model[device % PARAMETERS]) + device as f64 / 11.0),
        }
    }

    /// Several pieces, the last of which is not full.
    fn test_samples(&self) -> usize {
        5 * SCORED_TOGETHER + 3
    }

    fn metrics(&self) -> &[Metric] {
        &METRICS[..2]
    }

    fn score(
        &self,
        _: &mut (),
        model: &[f32],
        samples: Range<usize>,
        sums: &mut Sums,
    ) -> Result<(), LearnError> {
        if self.fault == Fault::Foreign {
            return Err(foreign());
        }
        let loss = |sample: usize| f64::from(model[sample % PARAMETERS]) + 1.0 / (sample as f64 + 3.0);
        sums.add(metrics::COUNT, samples.len() as f64);
        sums.add(metrics::CORRECT, samples.clone().filter(|sample| sample % 3 == 0).count() as f64);
        sums.add(metrics::LOSS, samples.map(loss).sum());
        Ok(())
    }
}

fn foreign() -> LearnError {
    LearnError::Foreign { message: MESSAGE.to_owned(), trace: String::new() }
}

/// Checks an implementation: `with_crew` makes a crew for a learner and calls the body with it, once. The error says which
/// promise is broken.
pub fn check(
    mut with_crew: impl FnMut(ContractLearner, &mut dyn FnMut(&mut dyn Crew)),
) -> Result<(), String> {
    for (fault, promise) in [
        (Fault::None, results_do_not_depend_on_order as fn(&mut dyn Crew, ContractLearner) -> _),
        (Fault::None, several_models_are_trained_at_a_time),
        (Fault::Foreign, a_foreign_failure_surfaces),
        (Fault::Panic, a_lost_worker_is_reported),
    ] {
        let learner = ContractLearner { fault };
        let mut kept: Result<(), String> = Err("the crew's body was not called".to_owned());
        with_crew(learner, &mut |crew| kept = promise(crew, learner));
        kept?;
    }
    Ok(())
}

/// Whatever the order of the keys and of the completions, updates and evaluations are the same bytes.
fn results_do_not_depend_on_order(crew: &mut dyn Crew, learner: ContractLearner) -> Result<(), String> {
    if [crew.devices(), crew.params_len()] != [DEVICES, PARAMETERS] {
        return Err("the crew does not tell its learner's size".to_owned());
    }
    let model = Arc::new(learner.initial_model(0));
    let times = |device| (crew.relative_loss_time(device), learner.relative_loss_time(device));
    if let Some(device) = (0..DEVICES).find(|&device| times(device).0 != times(device).1) {
        return Err(format!("the loss of device {device} takes another time than the learner's"));
    }
    let forward: Vec<usize> = (0..DEVICES).collect();
    let backward: Vec<usize> = (0..DEVICES).rev().collect();
    for (round, devices) in [(1, forward), (2, backward.clone()), (3, backward)] {
        for (device, trained) in trainings(crew, &model, round, &devices)?.into_iter().enumerate() {
            let key = TrainKey::new(0, round, device);
            let mut delta = vec![0.0; PARAMETERS];
            let train_loss = learner.train(&mut (), model.as_slice(), key, &mut delta);
            if trained != (Trained { device, delta, train_loss }) {
                return Err(format!("device {device} has another update in round {round}: {trained:?}"));
            }
            crew.recycle(trained.delta);
        }
        let losses = devices.iter().map(|&device| learner.loss(&mut (), model.as_slice(), device));
        let (found, wanted) = (crew.losses(&model, &devices), losses.collect());
        if found != wanted {
            return Err(format!("the losses of devices are {found:?}, where the learner has {wanted:?}"));
        }
        let (found, wanted) = (crew.evaluate(&model), learner.evaluate(&mut (), model.as_slice()));
        if found != wanted {
            return Err(format!("an evaluation gives {found:?}, where the learner gives {wanted:?}"));
        }
    }
    Ok(())
}

/// Trainings may begin while those of another model are outstanding, and each starts from its own model.
fn several_models_are_trained_at_a_time(crew: &mut dyn Crew, learner: ContractLearner) -> Result<(), String> {
    let models = [learner.initial_model(0), ModelVector::new(vec![0.5; PARAMETERS])].map(Arc::new);
    let key = |device: usize| TrainKey::new(0, 1 + device as u64, device);
    for (turn, model) in models.iter().enumerate() {
        let keys: Vec<TrainKey> = (turn..DEVICES).step_by(models.len()).map(key).collect();
        crew.train(model, Encoding::default(), &keys).map_err(|error| error.to_string())?;
    }
    let mut trained_devices = 0;
    while let Some(trained) = crew.next_trained().map_err(|error| error.to_string())? {
        let (device, mut delta) = (trained.device, vec![0.0; PARAMETERS]);
        let model = models[device % models.len()].as_slice();
        let train_loss = learner.train(&mut (), model, key(device), &mut delta);
        if trained != (Trained { device, delta, train_loss }) {
            return Err(format!("device {device} did not start from its own model: {trained:?}"));
        }
        trained_devices += 1;
    }
    match trained_devices {
        DEVICES => Ok(()),
        found => Err(format!("of {DEVICES} devices with two models, {found} were trained")),
    }
}

/// An error of other code reaches the caller with its message, and costs the other devices nothing.
fn a_foreign_failure_surfaces(crew: &mut dyn Crew, learner: ContractLearner) -> Result<(), String> {
    let model = Arc::new(learner.initial_model(0));
    let devices: Vec<usize> = (0..DEVICES).collect();
    for trained in trainings(crew, &model, 1, &devices)? {
        let carries = |error: &LearnError| matches!(error, LearnError::Foreign { message, .. } if message.contains(MESSAGE));
        let as_promised = match &trained.train_loss {
            Ok(_) => trained.device != FAULTY,
            Err(error) => trained.device == FAULTY && carries(error),
        };
        if !as_promised {
            return Err(format!("with a foreign failure, device {} has {trained:?}", trained.device));
        }
    }
    match crew.losses(&model, &devices) {
        Err(LearnError::Foreign { message, .. }) if message.contains(MESSAGE) => {}
        other => return Err(format!("losses that fail in foreign code are {other:?}")),
    }
    match crew.evaluate(&model) {
        Err(LearnError::Foreign { message, .. }) if message.contains(MESSAGE) => Ok(()),
        other => Err(format!("an evaluation that fails in foreign code gives {other:?}")),
    }
}

/// A worker that panics is an error of its device or of the crew, and nobody waits for it.
fn a_lost_worker_is_reported(crew: &mut dyn Crew, learner: ContractLearner) -> Result<(), String> {
    let model = Arc::new(learner.initial_model(0));
    let keys: Vec<TrainKey> = (0..DEVICES).map(|device| TrainKey::new(0, 1, device)).collect();
    crew.train(&model, Encoding::default(), &keys).map_err(|error| error.to_string())?;
    for _ in 0..DEVICES {
        match crew.next_trained() {
            Err(_) | Ok(Some(Trained { train_loss: Err(_), .. })) => return Ok(()),
            Ok(Some(_)) => {}
            Ok(None) => return Err("a lost worker is passed over in silence".to_owned()),
        }
    }
    Err("a lost worker has an update".to_owned())
}

/// The trainings of a round in device order.
fn trainings(
    crew: &mut dyn Crew,
    model: &Arc<ModelVector>,
    round: u64,
    devices: &[usize],
) -> Result<Vec<Trained>, String> {
    let keys: Vec<TrainKey> = devices.iter().map(|&device| TrainKey::new(0, round, device)).collect();
    crew.train(model, Encoding::default(), &keys).map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    while let Some(trained) = crew.next_trained().map_err(|error| error.to_string())? {
        found.push(trained);
    }
    found.sort_by_key(|trained| trained.device);
    if found.iter().map(|trained| trained.device).ne(0..DEVICES) {
        return Err(format!("not every device was trained once: {} results", found.len()));
    }
    Ok(found)
}
