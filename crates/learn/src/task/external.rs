//! The task whose network fedflip does not know: programs on devices train it, and a server adds up named tensors.

use std::fmt::Write;

use crate::error::LearnError;
use crate::layer::{Init, ParamSpec};
use crate::synthetic::Spread;
use crate::task::{Source, Task, TaskError, TaskRow};

/// The longest text of settings, in bytes.
pub const SETTINGS_BYTES_MAX: usize = 64 << 10;
/// The most tensors of a model.
pub const TENSORS_MAX: usize = 4096;
/// The most bytes of all names together.
pub const NAMES_BYTES_MAX: usize = 96 << 10;
/// The most dimensions of a tensor.
const DIMENSIONS_MAX: usize = 8;
/// The most parameters of a model: 4 GB of f32.
const PARAMETERS_MAX: usize = 1_000_000_000;

/// The row of the task. The table of tasks does not have it, because nothing here can train it.
static ROW: TaskRow = TaskRow {
    name: "external",
    about: "a model that programs on devices train; fedflip only knows its tensors",
    params: &[],
    // Nobody asks: there is no network to train on samples.
    source: |_| Source::Synthetic(Spread { model: 0.0, data: 0.0 }),
    sharings: &[],
    network: |_| Err(LearnError::NoNetwork),
    costed_as: None,
    metrics: |_| &[],
    // α and β are those of a small network, so that there is a plan; the target is never looked at.
    defaults: &[
        ("stop.target_accuracy", "1"),
        ("record.evaluate_every", "1"),
        ("plan.alpha", "28.474"),
        ("plan.beta", "2.2043"),
        ("pilot.loss", "1"),
    ],
    tuned: |_| &[],
};

impl Task {
    /// The external task. Its tensors and settings are an [`ExternalTask`].
    pub fn external() -> Self {
        Self::new(&ROW)
    }

    /// Whether programs on devices train it, and nothing here can.
    pub fn is_external(&self) -> bool {
        self.row().is_external()
    }
}

impl TaskRow {
    /// Whether it is the row of the external task.
    pub fn is_external(&self) -> bool {
        std::ptr::eq(self, &ROW)
    }
}

/// All that devices are told about an external task.
#[derive(Clone, Debug, PartialEq)]
pub struct ExternalTask {
    settings: String,
    params: Vec<(String, ParamSpec)>,
}

impl ExternalTask {
    /// Checks the sizes of the settings, a TOML text, and of the tensors, which are names with shapes.
    pub fn new(settings: String, tensors: Vec<(String, Vec<usize>)>) -> Result<Self, TaskError> {
        let refuse = |problem: String| Err(TaskError::External { problem });
        if settings.len() > SETTINGS_BYTES_MAX {
            return refuse(format!("its settings are longer than {SETTINGS_BYTES_MAX} bytes"));
        }
        if tensors.is_empty() || tensors.len() > TENSORS_MAX {
            return refuse(format!(
                "its model has {} tensors, where 1 to {TENSORS_MAX} are possible",
                tensors.len()
            ));
        }
        if tensors.iter().map(|(name, _)| name.len()).sum::<usize>() > NAMES_BYTES_MAX {
            return refuse(format!("the names of its tensors are longer than {NAMES_BYTES_MAX} bytes"));
        }
        let mut names: Vec<&str> = tensors.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(format!("two of its tensors are called {:?}", pair[0]));
        }
        let mut parameters = 0_usize;
        for (name, shape) in &tensors {
            let len = shape.iter().try_fold(1_usize, |len, &side| len.checked_mul(side));
            let total = len.and_then(|len| parameters.checked_add(len));
            match total.filter(|total| *total <= PARAMETERS_MAX && shape.len() <= DIMENSIONS_MAX) {
                Some(total) => parameters = total,
                None => return refuse(format!("its tensor {name:?} is too large")),
            }
        }
        if parameters == 0 {
            return refuse("its model has no parameters".to_owned());
        }
        let spec = |shape: Vec<usize>| ParamSpec::trained("tensor", &shape, Init::Constant(0.0));
        let params = tensors.into_iter().map(|(name, shape)| (name, spec(shape))).collect();
        Ok(Self { settings, params })
    }

    /// The scenario's `[task.settings]` as TOML.
    pub fn settings(&self) -> &str {
        &self.settings
    }

    /// The tensors by name, in the order in which a model holds their numbers.
    pub fn params(&self) -> &[(String, ParamSpec)] {
        &self.params
    }

    /// The number of parameters of the model.
    pub fn params_len(&self) -> usize {
        self.params.iter().map(|(_, spec)| spec.len()).sum()
    }

    /// A text of everything that decides a device's updates.
    pub fn canonical(&self) -> String {
        let mut text = "version 1\nexternal\n".to_owned();
        for (name, spec) in &self.params {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "tensor {name:?} {:?}", spec.shape);
        }
        text + &self.settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensors(shapes: &[(&str, &[usize])]) -> Result<ExternalTask, TaskError> {
        let tensors = shapes.iter().map(|(name, shape)| ((*name).to_owned(), shape.to_vec()));
        ExternalTask::new("rate = 0.1\n".to_owned(), tensors.collect())
    }

    #[test]
    fn sizes_are_bounded() {
        let good = tensors(&[("w", &[3, 2]), ("b", &[]), ("none", &[0])]).unwrap();
        assert_eq!(good.params_len(), 7);
        for (shapes, words) in [
            (&[][..], "0 tensors"),
            (&[("w", &[0][..])], "no parameters"),
            (&[("w", &[1 << 40, 1 << 40])], "\"w\" is too large"),
            (&[("w", &[2_000_000_000])], "\"w\" is too large"),
            (&[("w", &[1; 9])], "\"w\" is too large"),
            (&[("w", &[1]), ("v", &[1]), ("w", &[1])], "called \"w\""),
        ] {
            let error = tensors(shapes).unwrap_err();
            assert!(error.to_string().contains(words) && !error.hint().is_empty(), "{error}");
        }
        let long = ExternalTask::new(" ".repeat(SETTINGS_BYTES_MAX + 1), vec![("w".to_owned(), vec![1])]);
        assert!(long.unwrap_err().to_string().contains("65536 bytes"));
    }

    #[test]
    fn the_text_tells_tasks_apart() {
        let [one, other, third] = [&[("w", &[3, 2][..])], &[("w", &[2, 3])], &[("v", &[3, 2])]]
            .map(|shapes| tensors(shapes).unwrap());
        assert_ne!(one.canonical(), other.canonical());
        assert_ne!(one.canonical(), third.canonical());
    }

    #[test]
    fn nothing_here_can_train_it() {
        let task = Task::external();
        assert!(task.is_external() && Task::all().all(|task| !task.is_external()));
        let refused = crate::task::TaskSettings::paper(task, 3).learner(std::path::Path::new("nowhere"));
        let error = refused.err().expect("a refusal");
        assert!(error.to_string().contains("external") && error.hint().contains("Learner"), "{error}");
    }
}
