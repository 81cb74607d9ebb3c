//! The keys of `[task]`.

use fedflip_learn::models::mobilenet::Norm;
use fedflip_learn::task::Task;

use super::{Key, key, name_of};
use crate::error::Refusal;
use crate::value::{Given, Value};

const CNN: &[&str] = &["mnist-cnn", "fashion-cnn"];
const MOBILENET: &[&str] = &["cifar10-mobilenet"];
const SYNTHETIC: &[&str] = &["synthetic"];

const NORMS: [(&str, Norm); 2] = [("group", Norm::Group), ("batch", Norm::Batch)];

pub(super) static KEYS: &[Key] = &[
    key(
        "task",
        "name",
        "synthetic, mnist-cnn, fashion-cnn, cifar10-mobilenet or shakespeare-lstm",
        |s| Some(Value::text(s.task.name())),
        |s, v| task_of(v).map(|task| s.task = task),
    ),
    key(
        "task",
        "wide",
        "the network of 1.66 million parameters instead of 21,840",
        |s| match s.task {
            Task::MnistCnn { wide } | Task::FashionCnn { wide } => Some(Value::Flag(wide)),
            _ => None,
        },
        |s, v| {
            let given = v.flag()?;
            if let Task::MnistCnn { wide } | Task::FashionCnn { wide } = &mut s.task {
                *wide = given;
            }
            Ok(())
        },
    )
    .only(CNN),
    key(
        "task",
        "width",
        "of all layers, 1 being MobileNet's own",
        |s| if let Task::Cifar10Mobilenet { width, .. } = s.task { Some(Value::Number(width)) } else { None },
        |s, v| {
            let given = v.number(0.25..=1.0, "a number from 0.25 to 1")?;
            if let Task::Cifar10Mobilenet { width, .. } = &mut s.task {
                *width = given;
            }
            Ok(())
        },
    )
    .only(MOBILENET),
    key(
        "task",
        "norm",
        "what follows each convolution: group or batch normalisation",
        |s| if let Task::Cifar10Mobilenet { norm, .. } = s.task { name_of(&NORMS, &norm) } else { None },
        |s, v| {
            let given = v.choice(&NORMS)?;
            if let Task::Cifar10Mobilenet { norm, .. } = &mut s.task {
                *norm = given;
            }
            Ok(())
        },
    )
    .only(MOBILENET),
    key(
        "task",
        "hidden",
        "units of the hidden layer; 0 is softmax regression",
        |s| if let Task::Synthetic { hidden, .. } = s.task { Some(Value::count(hidden)) } else { None },
        |s, v| {
            let given = v.count(0..=4096)?;
            if let Task::Synthetic { hidden, .. } = &mut s.task {
                *hidden = given;
            }
            Ok(())
        },
    )
    .only(SYNTHETIC),
    key(
        "task",
        "model_spread",
        "α of Synthetic(α, β): how much the devices' true models differ",
        |s| {
            if let Task::Synthetic { spread, .. } = s.task { Some(Value::Number(spread.model)) } else { None }
        },
        |s, v| {
            let given = v.number(0.0..=1e6, "a number from 0 to 1e6")?;
            if let Task::Synthetic { spread, .. } = &mut s.task {
                spread.model = given;
            }
            Ok(())
        },
    )
    .only(SYNTHETIC),
    key(
        "task",
        "data_spread",
        "β of Synthetic(α, β): how much the devices' data differ",
        |s| if let Task::Synthetic { spread, .. } = s.task { Some(Value::Number(spread.data)) } else { None },
        |s, v| {
            let given = v.number(0.0..=1e6, "a number from 0 to 1e6")?;
            if let Task::Synthetic { spread, .. } = &mut s.task {
                spread.data = given;
            }
            Ok(())
        },
    )
    .only(SYNTHETIC),
];

/// A task by its name, with the defaults of its other settings.
pub(crate) fn task_of(v: &Given<'_>) -> Result<Task, Refusal> {
    let name = v.choice(&Task::NAMES.map(|name| (name, name)))?;
    name.parse().map_err(|_| v.refuse("is no task", "one of them"))
}
