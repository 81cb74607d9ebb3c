//! Samples of a user's own in memory: training and test samples, and how they are shared.

use crate::partition::{self, Partition, PartitionError};
use crate::partitioned::SampleStore;
use crate::task::{Params, Sharing, TaskError};

use fedflip_samples::files;

use super::OwnData;
use super::normalise::Normalise;
use super::split::SplitSamples;

/// Training and test samples. Positions count first those for training, then those for testing.
pub struct OwnSamples {
    train: SplitSamples,
    test: Option<SplitSamples>,
    normalise: Normalise,
    sample_len: usize,
}

/// The digests of files of the user's own, in hexadecimal; none where there are no files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDigests {
    /// Of the training samples.
    pub train: Option<String>,
    /// Of the test samples.
    pub test: Option<String>,
}

/// Training samples by device, and whose they are.
pub struct Shared {
    /// Who has which sample.
    pub partition: Partition,
    /// For each device the names under which the data have its samples; empty if the data do not decide.
    pub holders: Vec<Vec<String>>,
}

impl OwnSamples {
    /// Reads the files and checks that their samples are what the parameters of the task declare.
    pub fn read(data: &OwnData, params: &Params) -> Result<Self, TaskError> {
        let normalise = Normalise::new(params, &data.mean, &data.std)?;
        let sample_len = params.sizes("shape").elements();
        if data.train.is_empty() {
            return Err(TaskError::NoFiles);
        }
        let train = SplitSamples::read(&data.train, params, data, &data.columns, None)?;
        let test = match data.test.is_empty() {
            true => None,
            false => {
                let file = files::expanded(&data.train)?.into_iter().next();
                Some(SplitSamples::read(&data.test, params, data, train.columns(), file.as_deref())?)
            }
        };
        Ok(Self { train, test, normalise, sample_len })
    }

    /// The positions of the training samples.
    pub fn train_positions(&self) -> Vec<u32> {
        self.train.positions(0)
    }

    /// The positions of the test samples.
    pub fn test_positions(&self) -> Vec<u32> {
        let first = self.train.end() as u32;
        self.test.as_ref().map_or(Vec::new(), |test| test.positions(first))
    }

    /// The digests of the samples, by which a run knows its data again.
    pub fn digests(&self) -> OwnDigests {
        let hex = |split: &SplitSamples| split.digest().as_str().to_owned();
        OwnDigests { train: Some(hex(&self.train)), test: self.test.as_ref().map(hex) }
    }

    /// Takes the end of every training text out, so that no window of it is trained on; returns the positions. None for
    /// samples that do not overlap: these are drawn after they are shared.
    pub fn hold_out_text(&mut self, share: f64) -> Option<Vec<u32>> {
        match &mut self.train {
            SplitSamples::Table(_) => None,
            SplitSamples::Text(texts) => Some(texts.text.hold_out(share)),
        }
    }

    /// Shares the training samples among devices. `fleet` are their names, if these are known.
    pub fn partition(
        &self,
        sharing: &Sharing,
        (devices, fleet): (usize, &[String]),
        seed: u64,
    ) -> Result<Shared, PartitionError> {
        let positions = self.train_positions();
        let partition = match sharing {
            Sharing::Iid => partition::iid(positions, devices, seed),
            Sharing::Fleet(counts) => partition::by_counts(positions, counts, seed),
            Sharing::Dirichlet(recipe) => {
                let labelled: Option<Vec<(u32, u32)>> =
                    positions.into_iter().map(|at| Some((at, self.train.class(at as usize)?))).collect();
                partition::dirichlet(labelled.ok_or(PartitionError::NoClasses)?, devices, *recipe, seed)
            }
            // A role is whoever holds a text.
            Sharing::ByDevice | Sharing::ByRole => return self.by_device(devices, fleet),
        }?;
        Ok(Shared { partition, holders: Vec::new() })
    }

    /// By the names of the fleet where these are known, and by position otherwise.
    fn by_device(&self, devices: usize, fleet: &[String]) -> Result<Shared, PartitionError> {
        let held = self.train.holders().ok_or(PartitionError::NoHolders)?;
        let places = match fleet.is_empty() {
            true => partition::places_in_turn(held.names.len(), devices)?,
            false => partition::places_by_name(&held.names, fleet)?,
        };
        let partition = partition::by_device(held.of_samples, &places, devices)?;
        let mut holders = vec![Vec::new(); devices];
        for (name, place) in held.names.into_iter().zip(places) {
            holders[place].push(name);
        }
        Ok(Shared { partition, holders })
    }
}

impl SampleStore for OwnSamples {
    fn sample_len(&self) -> usize {
        self.sample_len
    }

    fn write(&self, positions: &[u32], features: &mut [f32], labels: &mut [f32]) {
        let train_end = self.train.end();
        for ((&position, row), label) in
            positions.iter().zip(features.chunks_exact_mut(self.sample_len)).zip(labels)
        {
            let position = position as usize;
            let (split, at) = match &self.test {
                Some(test) if position >= train_end => (test, position - train_end),
                _ => (&self.train, position),
            };
            match split {
                SplitSamples::Table(table) => self.normalise.write(&table.features, at, row),
                SplitSamples::Text(texts) => texts.text.write(at, row),
            }
            *label = split.label(at);
        }
    }
}
