//! One row of the table of tasks: data, network, metrics and defaults in one place.

use crate::error::LearnError;
use crate::network::Network;
use crate::synthetic::Spread;
use fedflip_datasets::SetSpec;

use super::params::{Param, Params};

/// A scenario key and its value as TOML text, such as `("server.optimiser", "\"adam\"")`.
pub type Setting = (&'static str, &'static str);

/// Builds an untrained network from a task's parameters.
pub type BuildNetwork = fn(&Params) -> Result<Network<f32>, LearnError>;

/// All that is known about a task; nothing else in the program asks which task it has.
#[derive(Debug)]
pub struct TaskRow {
    /// The name in scenarios, on the wire and in records.
    pub name: &'static str,
    /// One line for lists of tasks.
    pub about: &'static str,
    /// The parameters below `[task]`, at most [`super::PARAMS_MAX`].
    pub params: &'static [Param],
    /// Where the samples come from.
    pub source: fn(&Params) -> Source,
    /// The names of the ways in which samples may be shared among devices (see [`super::Sharing::name`]).
    /// Empty if every device generates its own samples.
    pub sharings: &'static [&'static str],
    /// The network that devices train.
    pub network: BuildNetwork,
    /// The network whose size and work stand for this task's when a fleet's times are made; none if the task's
    /// own network does.
    pub costed_as: Option<BuildNetwork>,
    /// The metrics of an evaluation, the most important one first.
    pub metrics: fn(&Params) -> &'static [&'static str],
    /// The scenario's defaults that differ between tasks: the paper's values, or measured ones where the paper
    /// has none.
    pub defaults: &'static [Setting],
    /// What the preset `tuned` sets for this task, as docs/results.md measured it.
    pub tuned: fn(&Params) -> &'static [Setting],
}

/// Where a task's samples come from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Source {
    /// Every device generates its own samples.
    Synthetic(Spread),
    /// The files of a known data set.
    DataSet(&'static SetSpec),
    /// Files of the user's own.
    Own,
}

impl TaskRow {
    /// The row's default for a scenario key, as TOML text.
    pub fn default(&self, key: &str) -> Option<&'static str> {
        self.defaults.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    /// The same for a key whose value is a number.
    pub fn default_number(&self, key: &str) -> Option<f64> {
        self.default(key)?.parse().ok()
    }

    /// Whether the row declares a parameter.
    pub fn has_param(&self, name: &str) -> bool {
        self.params.iter().any(|param| param.name == name)
    }
}
