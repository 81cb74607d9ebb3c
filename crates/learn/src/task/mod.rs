//! Tasks: data, network, metrics and defaults as one value.
//!
//! | name | data | model | learning rate | target |
//! |---|---|---|---|---|
//! | `synthetic` | Synthetic(α, β), generated | softmax regression, or one hidden layer | 0.01 | 70 % |
//! | `mnist-cnn` | MNIST | CNN of 21,840 parameters, `wide`: 1.66 M | 0.01 | 95 % |
//! | `fashion-cnn` | Fashion-MNIST | the same | 0.01 | 80 % |
//! | `cifar10-mobilenet` | CIFAR-10 | MobileNet v1, `width` 0.25 to 1, group or batch norm | 0.01 | 60 % |
//! | `shakespeare-lstm` | Shakespeare | two LSTM layers of 256 | 0.8 | 48 % |
//! | `own` | files of your own | softmax, mlp, cnn, mobilenet or lstm | 0.05 | 90 % |
//!
//! Batches of 32, 10 local iterations and Dirichlet(0.8) are the paper's for all of them. The rates and targets of
//! MNIST, CIFAR-10 and Shakespeare are the paper's too; the paper has no `synthetic`, no `fashion-cnn` and no `own`.
//!
//! # Layout
//!
//! - here: a task, which is a row and the values of the row's parameters.
//! - [`row`]: what a row of the table holds; `builtin`: the table.
//! - [`params`]: parameters, their ranges and their values.
//! - [`settings`]: how a task is shared among devices and trained; [`canonical`]: the same as text for digests.
//! - [`external`]: the task that only programs on devices can train.
//! - [`error`]: why a task cannot be built.

use std::fmt;
use std::str::FromStr;

use crate::error::LearnError;
use crate::network::Network;

mod builtin;
pub mod canonical;
pub mod error;
pub mod external;
pub mod params;
pub mod row;
pub mod settings;

pub(crate) use builtin::{NORM, WIDTH, norm};
pub use error::TaskError;
pub use external::ExternalTask;
pub use params::{DIMENSIONS_MAX, PARAMS_MAX, Param, ParamKind, ParamValue, Params, Sizes};
pub use row::{BuildNetwork, Setting, Source, TaskRow};
pub use settings::{Learners, Sharing, SharingReport, TaskSettings};

/// A row of the table of tasks with the values of its parameters.
#[derive(Clone, Copy)]
pub struct Task {
    row: &'static TaskRow,
    params: Params,
}

impl Task {
    /// A row with the defaults of its parameters. The row need not be a built-in one.
    pub fn new(row: &'static TaskRow) -> Self {
        Self { row, params: Params::defaults(row.params) }
    }

    /// Every task of the table with the defaults of its parameters.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        builtin::ROWS.iter().copied().map(Self::new)
    }

    /// The names in the table.
    pub fn names() -> impl Iterator<Item = &'static str> + Clone {
        builtin::ROWS.iter().map(|row| row.name)
    }

    /// The task of the table that has this name.
    pub fn by_name(name: &str) -> Result<Self, TaskError> {
        let found = Self::all().find(|task| task.name() == name);
        found.ok_or_else(|| TaskError::Unknown { name: name.to_owned() })
    }

    /// The same task with another value of a parameter.
    pub fn with(mut self, name: &str, value: ParamValue<'_>) -> Result<Self, TaskError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Sets a parameter to a value within the range that the row declares.
    pub fn set(&mut self, name: &str, value: ParamValue<'_>) -> Result<(), TaskError> {
        self.params.set(name, value)
    }

    /// The row in the table.
    pub fn row(&self) -> &'static TaskRow {
        self.row
    }

    /// The values of the parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// The name in scenarios, on the wire and in records.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// Where the samples come from.
    pub fn source(&self) -> Source {
        (self.row.source)(&self.params)
    }

    /// Builds the network of the task, without training it.
    pub fn network(&self) -> Result<Network<f32>, LearnError> {
        (self.row.network)(&self.params)
    }

    /// The network by which a fleet's times are made: see [`TaskRow::costed_as`].
    pub fn costed_network(&self) -> Result<Network<f32>, LearnError> {
        (self.row.costed_as.unwrap_or(self.row.network))(&self.params)
    }

    /// Whether the model holds running statistics, which are no parameters that SGD moves: only plain sums of
    /// their changes are means and variances again.
    pub fn has_running_statistics(&self) -> bool {
        self.network().is_ok_and(|network| network.params().iter().any(|(_, spec)| !spec.trained))
    }

    /// The names of the metrics of an evaluation, the most important one first.
    pub fn metrics(&self) -> &'static [&'static str] {
        (self.row.metrics)(&self.params)
    }

    /// What the preset `tuned` sets for this task.
    pub fn tuned(&self) -> &'static [Setting] {
        (self.row.tuned)(&self.params)
    }
}

/// Rows are compared by place: two rows of one name are two tasks.
impl PartialEq for Task {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.row, other.row) && self.params == other.params
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.row.name, self.params)
    }
}

/// By name, with the defaults of the parameters.
impl FromStr for Task {
    type Err = TaskError;

    fn from_str(name: &str) -> Result<Self, TaskError> {
        Self::by_name(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, params: &[(&str, ParamValue<'_>)]) -> Task {
        let set = |task: Task, (name, value): &(&str, ParamValue<'_>)| task.with(name, *value).unwrap();
        params.iter().fold(Task::by_name(name).unwrap(), set)
    }

    #[test]
    fn names_lead_to_tasks_and_back() {
        for name in Task::names() {
            let task: Task = name.parse().unwrap();
            assert_eq!(task.name(), name);
            task.network().unwrap();
        }
        let error = Task::by_name("mnist_cnn").unwrap_err();
        assert!(error.hint().starts_with("did you mean mnist-cnn?"), "{}", error.hint());
    }

    #[test]
    fn networks_have_the_parameters_of_the_table() {
        let len = |name: &str, params: &[_]| task(name, params).network().unwrap().params_len();
        assert_eq!(len("synthetic", &[]), 610);
        assert_eq!(len("synthetic", &[("hidden", ParamValue::Count(32))]), 61 * 32 + 33 * 10);
        assert_eq!(len("mnist-cnn", &[]), 21_840);
        assert_eq!(len("fashion-cnn", &[("wide", ParamValue::Flag(true))]), 1_663_370);
        assert_eq!(len("shakespeare-lstm", &[]), 819_920);
        let mobilenet = |width| Task::by_name("cifar10-mobilenet").unwrap().with("width", width);
        mobilenet(ParamValue::Number(0.25)).unwrap().network().unwrap();
        for width in [0.2, 1.1, f64::NAN] {
            assert!(mobilenet(ParamValue::Number(width)).is_err());
        }
        assert!(task("synthetic", &[]).with("hidden", ParamValue::Count(1 << 40)).is_err());
        let costed = task("synthetic", &[]).costed_network().unwrap();
        assert_eq!(costed.params_len(), 21_840, "synthetic data stand for the paper's CNN");
    }

    #[test]
    fn only_batch_norm_has_running_statistics() {
        let batch = task("cifar10-mobilenet", &[("norm", ParamValue::Choice("batch"))]);
        assert!(batch.has_running_statistics());
        assert!(Task::all().all(|task| !task.has_running_statistics()));
        let adam = ("server.optimiser", "\"adam\"");
        assert!(task("cifar10-mobilenet", &[]).tuned().contains(&adam));
        assert!(!batch.tuned().contains(&adam));
    }

    #[test]
    fn a_row_need_not_be_built_in() {
        static OWN: TaskRow = TaskRow {
            name: "own",
            about: "a softmax regression on ten numbers",
            params: &[],
            source: |_| Source::Synthetic(crate::synthetic::Spread { model: 0.0, data: 0.0 }),
            sharings: &[],
            network: |_| Ok(crate::models::mlp::mlp(crate::synthetic::FEATURES, 0, 10)),
            costed_as: None,
            metrics: |_| &["accuracy"],
            defaults: &[],
            tuned: |_| &[],
        };
        let own = Task::new(&OWN);
        let (_, report) = TaskSettings::paper(own, 3).learner(std::path::Path::new("nowhere")).unwrap();
        assert!(report.fewest >= 50);
        assert_eq!(own.costed_network().unwrap().params_len(), own.network().unwrap().params_len());
        assert_ne!(own, Task::by_name("synthetic").unwrap());
    }
}
