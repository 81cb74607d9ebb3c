//! What a run takes from its scenario: the learner's settings, the fleet, and what its folder keeps.

use std::sync::Arc;

use fedflip_fleet::{Fleet, FleetError, Samples, Weights, csv_file};
use fedflip_learn::LearnError;
use fedflip_learn::own::OwnDigests;
use fedflip_learn::task::TaskSettings;
use fedflip_plan::Scheme;
use fedflip_record::Target;
use fedflip_record::folder::WEIGHTS;

use super::{Evaluator, FleetSource, InitialModel, Scenario};
use crate::error::ScenarioError;
use crate::keys::{self, Key};

impl Scenario {
    /// The number of devices.
    pub fn devices(&self) -> usize {
        match &self.fleet {
            FleetSource::Generated(generated) => generated.devices,
            FleetSource::File { fleet, .. } => fleet.len(),
        }
    }

    /// The settings of the learner.
    pub fn task_settings(&self) -> TaskSettings {
        TaskSettings {
            task: self.task,
            devices: self.devices(),
            sharing: self.sharing(),
            validation: match self.evaluate.place {
                Evaluator::Server => self.data.validation,
                Evaluator::Devices => self.evaluate.holdout,
            },
            own: self.own_data(),
            test_samples_max: self.data.test_samples_max,
            data_seed: self.data.seed,
            sgd: self.train.sgd(),
        }
    }

    /// The chance that a device evaluates a model; none if the server does.
    pub fn device_evaluation(&self) -> Option<f64> {
        (self.evaluate.place == Evaluator::Devices).then_some(self.evaluate.probability)
    }

    /// The fleet whose device n holds `samples[n]`, as [`Self::fleet`] makes it. `holders` are the names under which the
    /// data have the samples of each device: a generated fleet takes over those that stand for one device each.
    pub fn named_fleet(&self, samples: &[usize], holders: &[Vec<String>]) -> Result<Fleet, ScenarioError> {
        let names: Option<Vec<&str>> = holders.iter().map(|names| only(names)).collect();
        let (FleetSource::Generated(generated), Some(names)) = (&self.fleet, names) else {
            return self.fleet(samples);
        };
        if names.len() != samples.len() {
            return self.fleet(samples);
        }
        self.checked_counts(samples)?;
        let counts: Vec<u64> = samples.iter().map(|&count| count as u64).collect();
        let named = generated.hardware().fleet(&counts)?.renamed(&names)?;
        Ok(self.data.weights.weigh(named)?)
    }

    fn checked_counts(&self, samples: &[usize]) -> Result<(), ScenarioError> {
        let devices = self.devices();
        if samples.len() != devices {
            return Err(FleetError::SampleCounts { given: samples.len(), devices }.into());
        }
        match samples.iter().position(|&count| count == 0) {
            Some(device) => Err(LearnError::NoSamples { device }.into()),
            None => Ok(()),
        }
    }

    /// The fleet whose device n holds `samples[n]` of the learner's data. These counts replace those of a fleet file, because
    /// the weight of a device is its share of the data that are really trained on. Where the scenario gives other
    /// weights, these stand in the place of the counts.
    pub fn fleet(&self, samples: &[usize]) -> Result<Fleet, ScenarioError> {
        self.checked_counts(samples)?;
        let fleet = match &self.fleet {
            FleetSource::Generated(generated) => {
                let counts: Vec<u64> = samples.iter().map(|&count| count as u64).collect();
                generated.hardware().fleet(&counts)?
            }
            FleetSource::File { fleet, .. } => {
                let counts = samples.iter().map(|&count| Samples::new(count as f64));
                let counts = counts.collect::<Result<Vec<Samples>, _>>();
                fleet.with_samples(&counts.map_err(ScenarioError::out_of_range("samples"))?)?
            }
        };
        Ok(self.data.weights.weigh(fleet)?)
    }

    /// The target of a run. An external task has one only if it is given: often nobody evaluates its model.
    pub fn target(&self) -> Option<&Target> {
        Some(&self.stop.target).filter(|target| !target.metric.is_empty())
    }

    /// When a run ends.
    pub fn engine_stop(&self) -> fedflip_engine::Stop {
        let stop = &self.stop;
        fedflip_engine::Stop {
            target: self.target().cloned(),
            rounds_max: stop.rounds_max,
            secs_max: stop.virtual_hours_max.map(|hours| 3600.0 * hours),
        }
    }

    /// The keys that are set although real devices have no use for them.
    pub fn unused_on_devices(&self) -> Result<Vec<String>, ScenarioError> {
        let default = Self::paper(self.task)?;
        // A value that follows from others may differ from the default although nobody set it.
        let said = keys::all().filter(|key| key.simulated && !key.follows());
        let said = said.filter(|key| key.get(self) != key.get(&default));
        Ok(said.map(Key::path).collect())
    }

    /// The same scenario for samples with these digests.
    #[must_use]
    pub fn with_digests(&self, digests: &OwnDigests) -> Self {
        let mut scenario = self.clone();
        scenario.data.own.digests.clone_from(digests);
        scenario
    }

    /// The text from which a worker elsewhere makes the same learner, and the fleet as CSV if a file has it. Files that decide
    /// only cohorts, weights or the first model stay where the run is.
    pub fn for_workers(&self) -> (String, Option<Vec<u8>>) {
        let mut scenario = self.clone();
        scenario.plan.scheme = Scheme::Full;
        scenario.initial = None;
        scenario.data.weights = Weights::default();
        let fleet = match &self.fleet {
            FleetSource::Generated(_) => None,
            FleetSource::File { fleet, .. } => {
                let mut bytes = Vec::new();
                // Memory takes whatever is written to it.
                let _ = csv_file::write(fleet, &mut bytes);
                Some(bytes)
            }
        };
        (scenario.stored(), fleet)
    }

    /// The text for a run folder. Names of the user's own files become absolute. A fleet file, files of probabilities and weights and a first model are replaced by the copies in the
    /// folder, so that the folder can be moved. The cap on real time is left out: it belongs to a session and not to the run.
    pub fn stored(&self) -> String {
        let mut stored = self.clone();
        if let FleetSource::File { name, .. } = &mut stored.fleet {
            fedflip_record::folder::FLEET.clone_into(name);
        }
        if let Some(given) = stored.plan.scheme.given() {
            stored.plan.scheme = Scheme::File(given.renamed(fedflip_record::folder::PLAN));
        }
        if let Some(initial) = &stored.initial {
            let copy = InitialModel { name: InitialModel::COPY.to_owned(), ..InitialModel::clone(initial) };
            stored.initial = Some(Arc::new(copy));
        }
        if let Weights::Given(given) = &mut stored.data.weights {
            WEIGHTS.clone_into(&mut given.name);
        }
        let own = &mut stored.data.own;
        for name in own.train.iter_mut().chain(&mut own.test) {
            let path = own.folder.join(&*name);
            // Without a working directory, a name stays relative.
            *name = std::path::absolute(&path).unwrap_or(path).to_string_lossy().into_owned();
        }
        stored.stop.real_hours_max = None;
        stored.to_toml()
    }
}

/// The only name of a device; none if it has several or none.
fn only(names: &[String]) -> Option<&str> {
    if let [name] = names { Some(name) } else { None }
}
