//! Settings as a text from which two programs can tell whether they would compute the same.

use std::fmt::Write;

use crate::error::LearnError;
use crate::partition::Dirichlet;
use crate::sgd::Steps;

use super::settings::{Sharing, TaskSettings};

/// Raise this number when the same settings give other updates than before.
const VERSION: u32 = 2;

impl TaskSettings {
    /// A text of everything that decides a device's updates: the task and its parameters, the network's
    /// parameters with their shapes, sharing, seed and SGD. Settings of an evaluation do not count.
    pub fn canonical(&self) -> Result<String, LearnError> {
        let network = self.task.network()?;
        let mut text = format!("version {VERSION}\ntask {:?}\n", self.task.name());
        // Writing to a string cannot fail.
        for (param, value) in self.task.params().iter() {
            let _ = writeln!(text, "param {} {value:?}", param.name);
        }
        for (name, spec) in network.params() {
            let how = if spec.trained { "trained" } else { "statistic" };
            let _ = writeln!(text, "network {name} {:?} {how}", spec.shape);
        }
        let _ = write!(text, "sharing {}", self.sharing.name());
        match &self.sharing {
            Sharing::Dirichlet(Dirichlet { concentration, min_samples }) => {
                let _ = write!(text, " {concentration:?} {min_samples}");
            }
            Sharing::Fleet(counts) => {
                let _ = write!(text, " {counts:?}");
            }
            Sharing::Iid | Sharing::ByRole | Sharing::ByDevice => {}
        }
        let _ = writeln!(text, "\ndevices {}\ndata_seed {}", self.devices, self.data_seed);
        // Texts of settings without these are as they were before there were any.
        if self.validation > 0.0 {
            let _ = writeln!(text, "validation {:?}", self.validation);
        }
        if !(self.own.mean.is_empty() && self.own.std.is_empty()) {
            let _ = writeln!(text, "normalise {:?} {:?}", self.own.mean, self.own.std);
        }
        if !self.own.columns.is_empty() {
            let _ = writeln!(text, "columns {:?}", self.own.columns);
        }
        if !self.own.alphabet.is_empty() {
            let _ = writeln!(text, "alphabet {:?}", self.own.alphabet);
        }
        let sgd = self.sgd;
        let _ = match sgd.steps {
            Steps::Iterations(steps) => {
                writeln!(text, "sgd {:?} {} {steps}", sgd.learning_rate, sgd.batch)
            }
            Steps::Epochs(epochs) => {
                writeln!(text, "sgd {:?} {} epochs {epochs}", sgd.learning_rate, sgd.batch)
            }
        };
        if !sgd.options.is_plain() {
            let _ = writeln!(text, "{:?}", sgd.options);
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{ParamValue, Task};

    #[test]
    fn all_that_decides_an_update_is_there() {
        let settings = TaskSettings::paper(Task::by_name("synthetic").unwrap(), 7);
        let text = settings.canonical().unwrap();
        assert_eq!(
            text,
            "version 2\ntask \"synthetic\"\nparam hidden Count(0)\nparam model_spread Number(0.5)\n\
             param data_spread Number(0.5)\nnetwork fc.weight [10, 60] trained\n\
             network fc.bias [10] trained\nsharing dirichlet 0.8 32\ndevices 7\ndata_seed 1\n\
             sgd 0.01 32 10\n"
        );
        let mut others: [TaskSettings; 15] = std::array::from_fn(|_| settings.clone());
        others[0].task.set("model_spread", ParamValue::Number(0.25)).unwrap();
        others[1].task.set("hidden", ParamValue::Count(1)).unwrap();
        others[2].sharing = Sharing::Iid;
        others[3].devices = 8;
        others[4].data_seed = 2;
        others[5].sgd.learning_rate = 0.02;
        others[6].sgd.steps = Steps::Iterations(11);
        others[7].validation = 0.1;
        others[8].own.mean = vec![0.5];
        others[9].own.columns = vec!["age".to_owned()];
        others[10].own.alphabet = "abc".to_owned();
        others[11].sgd.steps = Steps::Epochs(10);
        others[12].sgd.options.momentum = 0.9;
        others[13].sgd.options.weight_decay = 1e-4;
        others[14].sgd.options.proximal = 0.1;
        for other in others {
            assert_ne!(other.canonical().unwrap(), text, "{other:?}");
        }
        let evaluated = TaskSettings { test_samples_max: 1, ..settings.clone() };
        assert_eq!(evaluated.canonical().unwrap(), text);
    }
}
