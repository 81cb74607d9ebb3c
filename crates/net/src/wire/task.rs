//! Tasks in messages: a task's name, its parameters and a digest.
//!
//! A device builds its learner from this message alone, with the checks of a scenario: a server can only ask for a task
//! that fedflip has. The digest covers the computations of both sides, so that a device of another version refuses
//! instead of training something else.

use fedflip_fleet::DEVICES_MAX;
use fedflip_learn::LearnError;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::own::OwnData;
use fedflip_learn::partition::Dirichlet;
use fedflip_learn::sgd::{LocalOptions, SgdSettings, Steps};
use fedflip_learn::task::{
    DIMENSIONS_MAX, ExternalTask, ParamValue, Sharing, Sizes, Source, Task, TaskSettings,
};

use super::external;
use super::limits::TASK_NAME_BYTES_MAX;
use super::numbers::{VectorDigest, digest_of_bytes};
use super::v1;
use super::v1::task::Sharing as SharingMessage;
use super::v1::task_param::Value;

/// Devices do not look at the test samples of a data set, so one is enough. Devices that evaluate use all samples that they
/// hold out, whatever this number.
const TEST_SAMPLES_MAX: usize = 1;

/// Why a device cannot train the task of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TaskMismatch {
    /// A field is missing, or its number is far out of range.
    #[error("its task is incomplete")]
    Incomplete,
    #[error("this version of fedflip has no task of that name")]
    UnknownTask,
    /// The task of this version has other parameters, or other ranges of them.
    #[error("its task has other parameters than in this version of fedflip")]
    OtherParams,
    /// This version would compute other updates for the same settings.
    #[error("this version of fedflip would train its task differently (the digests differ)")]
    OtherDigest,
    #[error("its task is external, and this agent has no program that trains it")]
    External,
}

/// A task as a server offers it to devices.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "a server and an agent have one each")]
pub enum OfferedTask {
    /// A task of fedflip's table, and how its data are shared.
    BuiltIn(TaskSettings),
    /// A task that only programs on devices can train.
    External(ExternalTask),
}

impl OfferedTask {
    pub fn name(&self) -> &'static str {
        match self {
            Self::BuiltIn(settings) => settings.task.name(),
            Self::External(_) => Task::external().name(),
        }
    }

    /// Whether devices have data of their own, of which only they know the number of samples.
    pub fn is_on_devices(&self) -> bool {
        match self {
            Self::BuiltIn(settings) => matches!(settings.task.source(), Source::Own),
            Self::External(_) => true,
        }
    }

    /// The tensors of the model by name.
    pub fn params(&self) -> Result<Vec<(String, ParamSpec)>, LearnError> {
        match self {
            Self::BuiltIn(settings) => Ok(settings.task.network()?.params()),
            Self::External(task) => Ok(task.params().to_vec()),
        }
    }
}

/// The message of an offered task; none if a number does not fit.
pub fn offer(offered: &OfferedTask) -> Option<v1::Task> {
    match offered {
        OfferedTask::BuiltIn(settings) => message(settings),
        OfferedTask::External(task) => Some(external::message(task)),
    }
}

/// The task of a message, if this version would compute the same as the server's.
pub fn offered(message: &v1::Task) -> Result<OfferedTask, TaskMismatch> {
    match &message.external {
        Some(_) => external::task(message).map(OfferedTask::External),
        None => settings(message).map(OfferedTask::BuiltIn),
    }
}

/// SHA-256 of the canonical text; none for settings without a network.
fn digest(settings: &TaskSettings) -> Option<VectorDigest> {
    settings.canonical().ok().map(|text| digest_of_bytes(text.as_bytes()))
}

/// The message of a task; none if a number does not fit.
pub fn message(settings: &TaskSettings) -> Option<v1::Task> {
    let sharing = match &settings.sharing {
        &Sharing::Dirichlet(Dirichlet { concentration, min_samples }) => {
            let min_samples = min_samples as u64;
            SharingMessage::Dirichlet(v1::task::Dirichlet { concentration, min_samples })
        }
        Sharing::Iid => SharingMessage::Iid(v1::task::Iid {}),
        Sharing::ByRole => SharingMessage::ByRole(v1::task::ByRole {}),
        Sharing::ByDevice => SharingMessage::ByDevice(v1::task::ByDevice {}),
        // A count per device of the fleet is no message for a device.
        Sharing::Fleet(_) => return None,
    };
    let params = settings.task.params().iter().map(|(param, value)| {
        let value = match value {
            ParamValue::Flag(flag) => Value::Flag(flag),
            ParamValue::Count(count) => Value::Count(count as u64),
            ParamValue::Number(number) => Value::Number(number),
            ParamValue::Choice(name) => Value::Choice(name.to_owned()),
            ParamValue::Sizes(sizes) => {
                let sizes = sizes.as_slice().iter().map(|size| *size as u64).collect();
                Value::Sizes(v1::task_param::Sizes { sizes })
            }
        };
        v1::TaskParam { name: param.name.to_owned(), value: Some(value) }
    });
    let (iterations, epochs) = match settings.sgd.steps {
        Steps::Iterations(steps) => (steps, 0),
        Steps::Epochs(epochs) => (0, epochs),
    };
    let LocalOptions { momentum, weight_decay, proximal } = settings.sgd.options;
    Some(v1::Task {
        name: settings.task.name().to_owned(),
        params: params.collect(),
        digest: digest(settings)?.to_vec().into(),
        sharing: Some(sharing),
        devices: settings.devices.try_into().ok()?,
        data_seed: settings.data_seed,
        learning_rate: settings.sgd.learning_rate,
        batch: settings.sgd.batch.try_into().ok()?,
        iterations: iterations.try_into().ok()?,
        epochs: epochs.try_into().ok()?,
        momentum,
        weight_decay,
        proximal,
        validation: settings.validation,
        mean: settings.own.mean.clone(),
        std: settings.own.std.clone(),
        columns: settings.own.columns.clone(),
        alphabet: settings.own.alphabet.clone(),
        external: None,
    })
}

/// The settings of a message, if this version would compute the same as the server's.
pub fn settings(message: &v1::Task) -> Result<TaskSettings, TaskMismatch> {
    let settings = stated(message)?;
    match digest(&settings) {
        Some(digest) if digest[..] == message.digest[..] => Ok(settings),
        _ => Err(TaskMismatch::OtherDigest),
    }
}

/// The settings of a message with any digest. More devices than a fleet holds are refused, because synthetic data need
/// memory for each device; the ranges of sharing and SGD are checked when a learner is built.
pub fn stated(message: &v1::Task) -> Result<TaskSettings, TaskMismatch> {
    let incomplete = || TaskMismatch::Incomplete;
    let sharing = match message.sharing.as_ref().ok_or_else(incomplete)? {
        SharingMessage::Dirichlet(dirichlet) => Sharing::Dirichlet(Dirichlet {
            concentration: dirichlet.concentration,
            min_samples: dirichlet.min_samples.try_into().map_err(|_| incomplete())?,
        }),
        SharingMessage::Iid(_) => Sharing::Iid,
        SharingMessage::ByRole(_) => Sharing::ByRole,
        SharingMessage::ByDevice(_) => Sharing::ByDevice,
    };
    let devices = usize::try_from(message.devices).ok().filter(|devices| *devices <= DEVICES_MAX);
    Ok(TaskSettings {
        task: task(message)?,
        devices: devices.ok_or_else(incomplete)?,
        sharing,
        test_samples_max: TEST_SAMPLES_MAX,
        data_seed: message.data_seed,
        validation: message.validation,
        own: OwnData {
            mean: message.mean.clone(),
            std: message.std.clone(),
            columns: message.columns.clone(),
            alphabet: message.alphabet.clone(),
            ..OwnData::default()
        },
        sgd: sgd(message)?,
    })
}

/// How the devices train.
fn sgd(message: &v1::Task) -> Result<SgdSettings, TaskMismatch> {
    let &v1::Task { learning_rate, momentum, weight_decay, proximal, .. } = message;
    let steps = match (message.iterations as usize, message.epochs as usize) {
        (steps, 0) => Steps::Iterations(steps),
        (0, epochs) => Steps::Epochs(epochs),
        _ => return Err(TaskMismatch::Incomplete),
    };
    let options = LocalOptions { momentum, weight_decay, proximal };
    Ok(SgdSettings { learning_rate, batch: message.batch as usize, steps, options })
}

/// The task of this version with the parameters of the message, of which none may be missing.
fn task(message: &v1::Task) -> Result<Task, TaskMismatch> {
    if message.name.is_empty() {
        return Err(TaskMismatch::Incomplete);
    }
    if message.name.len() > TASK_NAME_BYTES_MAX {
        return Err(TaskMismatch::UnknownTask);
    }
    let mut task = Task::by_name(&message.name).map_err(|_| TaskMismatch::UnknownTask)?;
    let declared = task.row().params;
    if message.params.len() != declared.len() {
        return Err(TaskMismatch::OtherParams);
    }
    for (param, declared) in message.params.iter().zip(declared) {
        let value = match param.value.as_ref().ok_or(TaskMismatch::Incomplete)? {
            Value::Flag(flag) => ParamValue::Flag(*flag),
            Value::Count(count) => {
                ParamValue::Count(usize::try_from(*count).map_err(|_| TaskMismatch::OtherParams)?)
            }
            Value::Number(number) => ParamValue::Number(*number),
            Value::Choice(name) => ParamValue::Choice(name),
            Value::Sizes(list) => {
                let sizes = list.sizes.iter().map(|size| usize::try_from(*size));
                let sizes = sizes.take(DIMENSIONS_MAX + 1).collect::<Result<Vec<usize>, _>>();
                let sizes = sizes.ok().and_then(|sizes| Sizes::new(&sizes));
                ParamValue::Sizes(sizes.ok_or(TaskMismatch::OtherParams)?)
            }
        };
        if param.name != declared.name || task.set(declared.name, value).is_err() {
            return Err(TaskMismatch::OtherParams);
        }
    }
    Ok(task)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        let wide = Task::by_name("mnist-cnn").unwrap().with("wide", ParamValue::Flag(true)).unwrap();
        let batch = ("norm", ParamValue::Choice("batch"));
        let batch = Task::by_name("cifar10-mobilenet").unwrap().with(batch.0, batch.1).unwrap();
        for task in Task::all().chain([wide, batch]) {
            let there = TaskSettings::paper(task, 7);
            let back = settings(&message(&there).unwrap()).unwrap();
            assert_eq!(back, TaskSettings { test_samples_max: TEST_SAMPLES_MAX, ..there.clone() });
        }
        let mut local = TaskSettings::paper(Task::by_name("synthetic").unwrap(), 7);
        local.sgd.steps = Steps::Epochs(3);
        local.sgd.options = LocalOptions { momentum: 0.9, weight_decay: 1e-4, proximal: 0.1 };
        let back = settings(&message(&local).unwrap()).unwrap();
        assert_eq!(back.sgd, local.sgd, "devices train with the same options");
        let fleet = |devices| message(&TaskSettings::paper(Task::by_name("synthetic").unwrap(), devices));
        assert!(settings(&fleet(20_000_000).unwrap()).is_ok());
        assert_eq!(settings(&fleet(20_000_001).unwrap()), Err(TaskMismatch::Incomplete));
    }

    #[test]
    fn what_this_version_would_compute_differently_is_refused() {
        let good = message(&TaskSettings::paper(Task::by_name("synthetic").unwrap(), 7)).unwrap();
        assert_eq!(settings(&v1::Task::default()), Err(TaskMismatch::Incomplete));
        let changed = |change: fn(&mut v1::Task)| {
            let mut message = good.clone();
            change(&mut message);
            settings(&message).unwrap_err()
        };
        assert_eq!(changed(|task| task.name = "synthetic-2".repeat(9_999)), TaskMismatch::UnknownTask);
        assert_eq!(changed(|task| task.name.clear()), TaskMismatch::Incomplete);
        assert_eq!(changed(|task| task.sharing = None), TaskMismatch::Incomplete);
        assert_eq!(changed(|task| task.params[0].value = None), TaskMismatch::Incomplete);
        assert_eq!(changed(|task| drop(task.params.pop())), TaskMismatch::OtherParams);
        assert_eq!(changed(|task| task.params.swap(0, 1)), TaskMismatch::OtherParams);
        assert_eq!(
            changed(|task| task.params = vec![task.params[0].clone(); 9_999]),
            TaskMismatch::OtherParams
        );
        assert_eq!(
            changed(|task| task.params[0].value = Some(Value::Count(4_097))),
            TaskMismatch::OtherParams,
            "out of range"
        );
        assert_eq!(
            changed(|task| task.params[0].value = Some(Value::Flag(true))),
            TaskMismatch::OtherParams,
            "another kind"
        );
        assert_eq!(
            changed(|task| task.params[0].value = Some(Value::Count(1))),
            TaskMismatch::OtherDigest,
            "another network"
        );
        assert_eq!(changed(|task| task.digest.truncate(31)), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.data_seed += 1), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.learning_rate = f32::NAN), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.batch += 1), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.momentum = 0.9), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.weight_decay = f32::NAN), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.proximal = 0.1), TaskMismatch::OtherDigest);
        assert_eq!(changed(|task| task.epochs = 1), TaskMismatch::Incomplete, "epochs beside iterations");
    }
}
