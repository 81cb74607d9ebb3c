//! What is learnt, there and back.
//!
//! A device builds its learner from this message alone, by the same checks as a scenario's: a server can ask
//! for no more than a task that fedflip has.

use fedflip_fleet::DEVICES_MAX;
use fedflip_learn::models::mobilenet::Norm;
use fedflip_learn::partition::Dirichlet;
use fedflip_learn::sgd::SgdSettings;
use fedflip_learn::synthetic::Spread;
use fedflip_learn::task::{Sharing, Task, TaskSettings};

use super::v1;
use super::v1::task::{Kind, Sharing as SharingMessage};

/// Devices never evaluate, and the least is enough.
const TEST_SAMPLES_MAX: usize = 1;

/// As a message; none if a number does not fit one.
pub fn message(settings: &TaskSettings) -> Option<v1::Task> {
    let kind = match settings.task {
        Task::Synthetic { spread, hidden } => Kind::Synthetic(v1::task::Synthetic {
            model_spread: spread.model,
            data_spread: spread.data,
            hidden: hidden.try_into().ok()?,
        }),
        Task::MnistCnn { wide } => Kind::MnistCnn(v1::task::Cnn { wide }),
        Task::FashionCnn { wide } => Kind::FashionCnn(v1::task::Cnn { wide }),
        Task::Cifar10Mobilenet { width, norm } => {
            Kind::Cifar10Mobilenet(v1::task::Mobilenet { width, batch_norm: norm == Norm::Batch })
        }
        Task::ShakespeareLstm => Kind::ShakespeareLstm(v1::task::Lstm {}),
    };
    let sharing = match settings.sharing {
        Sharing::Dirichlet(Dirichlet { concentration, min_samples }) => {
            let min_samples = min_samples as u64;
            SharingMessage::Dirichlet(v1::task::Dirichlet { concentration, min_samples })
        }
        Sharing::Iid => SharingMessage::Iid(v1::task::Iid {}),
        Sharing::ByRole => SharingMessage::ByRole(v1::task::ByRole {}),
    };
    Some(v1::Task {
        kind: Some(kind),
        sharing: Some(sharing),
        devices: settings.devices.try_into().ok()?,
        data_seed: settings.data_seed,
        learning_rate: settings.sgd.learning_rate,
        batch: settings.sgd.batch.try_into().ok()?,
        iterations: settings.sgd.iterations.try_into().ok()?,
    })
}

/// From a message; none if something is missing, or if there are more devices than a fleet holds: made-up data
/// cost memory by the device. Other ranges are checked by whoever makes a learner of it.
pub fn settings(message: &v1::Task) -> Option<TaskSettings> {
    let task = match message.kind.as_ref()? {
        Kind::Synthetic(synthetic) => Task::Synthetic {
            spread: Spread { model: synthetic.model_spread, data: synthetic.data_spread },
            hidden: synthetic.hidden as usize,
        },
        Kind::MnistCnn(cnn) => Task::MnistCnn { wide: cnn.wide },
        Kind::FashionCnn(cnn) => Task::FashionCnn { wide: cnn.wide },
        Kind::Cifar10Mobilenet(mobilenet) => Task::Cifar10Mobilenet {
            width: mobilenet.width,
            norm: if mobilenet.batch_norm { Norm::Batch } else { Norm::Group },
        },
        Kind::ShakespeareLstm(_) => Task::ShakespeareLstm,
    };
    let sharing = match message.sharing.as_ref()? {
        SharingMessage::Dirichlet(dirichlet) => Sharing::Dirichlet(Dirichlet {
            concentration: dirichlet.concentration,
            min_samples: dirichlet.min_samples.try_into().ok()?,
        }),
        SharingMessage::Iid(_) => Sharing::Iid,
        SharingMessage::ByRole(_) => Sharing::ByRole,
    };
    Some(TaskSettings {
        task,
        devices: usize::try_from(message.devices).ok().filter(|devices| *devices <= DEVICES_MAX)?,
        sharing,
        test_samples_max: TEST_SAMPLES_MAX,
        data_seed: message.data_seed,
        sgd: SgdSettings {
            learning_rate: message.learning_rate,
            batch: message.batch as usize,
            iterations: message.iterations as usize,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for name in Task::NAMES {
            let there = TaskSettings::paper(name.parse().unwrap(), 7);
            let back = settings(&message(&there).unwrap()).unwrap();
            assert_eq!(back, TaskSettings { test_samples_max: TEST_SAMPLES_MAX, ..there });
        }
        assert_eq!(settings(&v1::Task::default()), None);
        let paper = message(&TaskSettings::paper("synthetic".parse().unwrap(), 7)).unwrap();
        assert!(settings(&v1::Task { devices: 20_000_000, ..paper }).is_some());
        assert_eq!(settings(&v1::Task { devices: 20_000_001, ..paper }), None);
    }
}
