//! Samples of a user's own in memory, checked against what the task declares.

use std::path::{Path, PathBuf};

use crate::partition::{self, Partition, PartitionError};
use crate::partitioned::SampleStore;
use crate::task::{Params, Sharing, TaskError};
use fedflip_samples::files;
use fedflip_samples::{Features, Labels, Table};

use super::OwnData;
use super::normalise::Normalise;
use super::text::Text;

/// Training and test samples. Positions count first those for training, then those for testing.
pub struct OwnSamples {
    train: Part,
    test: Option<Part>,
    normalise: Normalise,
    sample_len: usize,
}

enum Part {
    Table(Table),
    Text(Text),
}

impl OwnSamples {
    /// Reads the files and checks that their samples are what the parameters of the task declare.
    pub fn read(data: &OwnData, params: &Params) -> Result<Self, TaskError> {
        let normalise = Normalise::new(params, &data.mean, &data.std)?;
        let sample_len = params.sizes("shape").elements();
        if data.train.is_empty() {
            return Err(TaskError::NoFiles);
        }
        let train = Part::read(&data.train, params)?;
        let test = (!data.test.is_empty()).then(|| Part::read(&data.test, params)).transpose()?;
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

    /// Shares the training samples among devices.
    pub fn partition(
        &self,
        sharing: &Sharing,
        devices: usize,
        seed: u64,
    ) -> Result<Partition, PartitionError> {
        let positions = self.train_positions();
        match sharing {
            Sharing::Iid => partition::iid(positions, devices, seed),
            Sharing::Fleet(counts) => partition::by_counts(positions, counts, seed),
            Sharing::Dirichlet(recipe) => {
                let labelled: Option<Vec<(u32, u32)>> =
                    positions.into_iter().map(|at| Some((at, self.train.class(at as usize)?))).collect();
                partition::dirichlet(labelled.ok_or(PartitionError::NoClasses)?, devices, *recipe, seed)
            }
            // A role is whoever holds a text.
            Sharing::ByDevice | Sharing::ByRole => {
                let (held, holders) = self.train.held().ok_or(PartitionError::NoHolders)?;
                partition::by_device(held, holders, devices)
            }
        }
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
            let (part, at) = match &self.test {
                Some(test) if position >= train_end => (test, position - train_end),
                _ => (&self.train, position),
            };
            match part {
                Part::Table(table) => self.normalise.write(&table.features, at, row),
                Part::Text(text) => text.write(at, row),
            }
            *label = part.label(at);
        }
    }
}

impl Part {
    fn read(paths: &[PathBuf], params: &Params) -> Result<Self, TaskError> {
        if files::are_texts(paths) {
            let texts = files::read_texts(paths)?;
            let window = params.sizes("shape").elements();
            check(
                &paths[0],
                "the number of classes",
                &fedflip_datasets::alphabet::SYMBOLS,
                &declared(params),
            )?;
            // Positions are counted in u32, and no text has more symbols than bytes.
            let symbols_max = texts.iter().map(String::len).sum();
            if symbols_max > u32::MAX as usize / 2 {
                return Err(TaskError::TooManySamples { samples: symbols_max });
            }
            return Ok(Self::Text(Text::new(texts.iter().map(String::as_str), window)));
        }
        let table = files::read(paths)?;
        if table.len() > u32::MAX as usize / 2 {
            return Err(TaskError::TooManySamples { samples: table.len() });
        }
        check_table(&table, &paths[0], params)?;
        Ok(Self::Table(table))
    }

    /// One past the last position.
    fn end(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Text(text) => text.len(),
        }
    }

    fn positions(&self, first: u32) -> Vec<u32> {
        match self {
            Self::Table(table) => (first..first + table.len() as u32).collect(),
            Self::Text(text) => {
                text.windows().iter().flat_map(|range| range.start + first..range.end + first).collect()
            }
        }
    }

    fn label(&self, at: usize) -> f32 {
        match self {
            Self::Table(Table { labels: Labels::Classes(classes), .. }) => classes[at] as f32,
            Self::Table(Table { labels: Labels::Numbers(numbers), .. }) => numbers[at],
            Self::Text(text) => f32::from(text.label(at)),
        }
    }

    /// The class of a sample; none if labels are numbers.
    fn class(&self, at: usize) -> Option<u32> {
        match self {
            Self::Table(Table { labels: Labels::Classes(classes), .. }) => Some(classes[at]),
            Self::Table(_) => None,
            Self::Text(text) => Some(text.label(at).into()),
        }
    }

    /// Samples with their holders, and the number of holders: a file of text is a holder of its own.
    fn held(&self) -> Option<(Vec<(u32, u32)>, usize)> {
        match self {
            Self::Table(table) => {
                let devices = table.devices.as_ref()?;
                Some(((0..).zip(devices.of_samples.iter().copied()).collect(), devices.names.len()))
            }
            Self::Text(text) => {
                let windows = (0..)
                    .zip(text.windows())
                    .flat_map(|(holder, range)| range.clone().map(move |position| (position, holder)));
                Some((windows.collect(), text.windows().len()))
            }
        }
    }
}

fn declared(params: &Params) -> usize {
    params.count("classes")
}

fn check_table(table: &Table, file: &Path, params: &Params) -> Result<(), TaskError> {
    let shape = params.sizes("shape");
    check(file, "the shape of a sample", &table.sample_shape(), &shape.as_slice().to_vec())?;
    let kind = match table.features {
        Features::Bytes(_) => "bytes",
        Features::Floats(_) => "floats",
    };
    check(file, "the type of values", &kind, &params.choice("values"))?;
    let loss = params.choice("loss");
    match &table.labels {
        Labels::Numbers(_) => check(file, "the loss for such labels", &"squared-error", &loss),
        Labels::Classes(classes) => {
            check(file, "the loss for such labels", &"cross-entropy", &loss)?;
            let most = classes.iter().max().map_or(0, |most| *most as usize);
            if most < declared(params) {
                Ok(())
            } else {
                check(file, "the number of classes", &(most + 1), &declared(params))
            }
        }
    }
}

fn check<T: PartialEq + std::fmt::Debug>(
    file: &Path,
    what: &'static str,
    found: &T,
    declared: &T,
) -> Result<(), TaskError> {
    if found == declared {
        return Ok(());
    }
    Err(TaskError::NotAsDeclared {
        file: file.to_owned(),
        what,
        found: format!("{found:?}"),
        declared: format!("{declared:?}"),
    })
}
