//! What a run takes from its scenario: the learner's settings, the fleet, and what its folder keeps.

use std::sync::Arc;

use fedflip_fleet::{Fleet, FleetError, Samples, csv_file};
use fedflip_learn::LearnError;
use fedflip_learn::sgd::SgdSettings;
use fedflip_learn::task::TaskSettings;

use super::{FleetSource, Scenario};
use crate::error::CliError;

/// What a run folder calls the fleet that its scenario names.
pub(crate) const FLEET_FILE: &str = "fleet.csv";

/// As a run folder keeps it, whole wherever the folder is moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub toml: String,
    /// The file [`FLEET_FILE`] beside it, which the TOML then names.
    pub fleet_csv: Option<Vec<u8>>,
}

impl Scenario {
    /// How many devices there are.
    pub(crate) fn devices(&self) -> usize {
        match &self.fleet {
            FleetSource::MadeUp(made_up) => made_up.devices,
            FleetSource::File { fleet, .. } => fleet.len(),
        }
    }

    /// What the learner needs to know.
    pub(crate) fn task_settings(&self) -> TaskSettings {
        TaskSettings {
            task: self.task,
            devices: self.devices(),
            sharing: self.data.sharing,
            test_samples_max: self.data.test_samples_max,
            data_seed: self.data.seed,
            sgd: SgdSettings {
                learning_rate: self.train.learning_rate as f32,
                batch: self.train.batch,
                iterations: self.train.iterations,
            },
        }
    }

    /// The fleet whose device n holds `samples[n]` of the learner's data. A fleet file's own counts give way:
    /// a device's say in the model is what it really holds.
    pub(crate) fn fleet(&self, samples: &[usize]) -> Result<Fleet, CliError> {
        let devices = self.devices();
        if samples.len() != devices {
            return Err(FleetError::SampleCounts { given: samples.len(), devices }.into());
        }
        if let Some(device) = samples.iter().position(|&count| count == 0) {
            return Err(LearnError::NoSamples { device }.into());
        }
        match &self.fleet {
            FleetSource::MadeUp(made_up) => {
                let counts: Vec<u64> = samples.iter().map(|&count| count as u64).collect();
                Ok(made_up.hardware().fleet(&counts)?)
            }
            FleetSource::File { fleet, .. } => {
                let counts = samples.iter().map(|&count| Samples::new(count as f64));
                let counts = counts.collect::<Result<Vec<Samples>, _>>();
                Ok(fleet.with_samples(&counts.map_err(CliError::flag("samples"))?)?)
            }
        }
    }

    /// For a run folder.
    pub(crate) fn stored(&self) -> Stored {
        let FleetSource::File { fleet, .. } = &self.fleet else {
            return Stored { toml: self.to_toml(), fleet_csv: None };
        };
        let source = FleetSource::File { name: FLEET_FILE.to_owned(), fleet: Arc::clone(fleet) };
        let mut csv = Vec::new();
        // Memory takes whatever is written to it.
        let _ = csv_file::write(fleet, &mut csv);
        Stored { toml: Self { fleet: source, ..self.clone() }.to_toml(), fleet_csv: Some(csv) }
    }
}
