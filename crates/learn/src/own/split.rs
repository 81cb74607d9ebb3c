//! The samples of one split, training or test, checked against what the task declares.

use std::path::{Path, PathBuf};

use crate::loss::Loss;
use crate::task::{Params, TaskError};
use fedflip_samples::{DataDigest, Features, Labels, Table, files};

use super::OwnData;
use super::alphabet::Alphabet;
use super::models::model;
use super::text::Text;

/// Samples of one split.
pub(super) enum SplitSamples {
    Table(Table),
    Text(NamedText),
}

/// The texts of all files, with the name of each file.
pub(super) struct NamedText {
    pub(super) text: Text,
    /// For each text the name of its file.
    names: Vec<String>,
    digest: DataDigest,
}

/// Who holds the samples.
pub(super) struct Holders {
    pub(super) names: Vec<String>,
    /// Positions of samples, each with the place of its holder among the names.
    pub(super) of_samples: Vec<(u32, u32)>,
}

impl SplitSamples {
    /// Reads the files that paths and patterns stand for, whose features are to be in the order of `columns`, if that is not empty.
    /// The columns are those that the task declares, or those of a file of training samples.
    pub(super) fn read(
        paths: &[PathBuf],
        params: &Params,
        data: &OwnData,
        columns: &[String],
        train: Option<&Path>,
    ) -> Result<Self, TaskError> {
        let paths = &files::expanded(paths)?[..];
        if files::are_texts(paths) {
            return Self::read_texts(paths, params, data);
        }
        let mut table = files::read(paths)?;
        if table.len() > u32::MAX as usize / 2 {
            return Err(TaskError::TooManySamples { samples: table.len() });
        }
        table.arrange(columns).map_err(|columns| match train {
            Some(train) => columns.between(&paths[0], train).into(),
            None => TaskError::Columns { file: paths[0].clone(), columns },
        })?;
        checked(table, &paths[0], params).map(Self::Table)
    }

    fn read_texts(paths: &[PathBuf], params: &Params, data: &OwnData) -> Result<Self, TaskError> {
        if !model(params)?.reads_codes {
            let declared = format!("{:?}, which does not read text", params.choice("model"));
            return Err(not_as_declared(&paths[0], "the model for a text", "\"lstm\"".to_owned(), declared));
        }
        let alphabet = Alphabet::new(&data.alphabet)?;
        for (what, name) in [("the number of classes", "classes"), ("the number of symbols", "symbols")] {
            check(&paths[0], what, &alphabet.symbols(), &params.count(name))?;
        }
        let texts = files::read_texts(paths)?;
        // Positions are counted in u32, and no text has more symbols than bytes.
        let symbols_max = texts.iter().map(String::len).sum();
        if symbols_max > u32::MAX as usize / 2 {
            return Err(TaskError::TooManySamples { samples: symbols_max });
        }
        let stem = |path: &PathBuf| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let window = params.sizes("shape").elements();
        let text = Text::new(texts.iter().map(String::as_str), window, &alphabet);
        if text.windows().iter().all(std::ops::Range::is_empty) {
            return Err(TaskError::TextTooShort { file: paths[0].clone(), window });
        }
        let digest = DataDigest::of_texts(texts.iter().map(String::as_str));
        Ok(Self::Text(NamedText { text, names: paths.iter().map(stem).collect(), digest }))
    }

    /// The digest of the samples.
    pub(super) fn digest(&self) -> DataDigest {
        match self {
            Self::Table(table) => table.digest(),
            Self::Text(texts) => texts.digest.clone(),
        }
    }

    /// The names of the features, if the files have them.
    pub(super) fn columns(&self) -> &[String] {
        match self {
            Self::Table(table) => &table.columns,
            Self::Text(_) => &[],
        }
    }

    /// One past the last position.
    pub(super) fn end(&self) -> usize {
        match self {
            Self::Table(table) => table.len(),
            Self::Text(texts) => texts.text.len(),
        }
    }

    pub(super) fn positions(&self, first: u32) -> Vec<u32> {
        match self {
            Self::Table(table) => (first..first + table.len() as u32).collect(),
            Self::Text(texts) => {
                let windows = texts.text.windows().iter();
                windows.flat_map(|range| range.start + first..range.end + first).collect()
            }
        }
    }

    pub(super) fn label(&self, at: usize) -> f32 {
        match self {
            Self::Table(Table { labels: Labels::Classes(classes), .. }) => classes[at] as f32,
            Self::Table(Table { labels: Labels::Numbers(numbers), .. }) => numbers[at],
            Self::Text(texts) => f32::from(texts.text.label(at)),
        }
    }

    /// The class of a sample; none if labels are numbers.
    pub(super) fn class(&self, at: usize) -> Option<u32> {
        match self {
            Self::Table(Table { labels: Labels::Classes(classes), .. }) => Some(classes[at]),
            Self::Table(_) => None,
            Self::Text(texts) => Some(texts.text.label(at).into()),
        }
    }

    /// Who holds which sample, if the files say so: a file of text is a holder of its own.
    pub(super) fn holders(&self) -> Option<Holders> {
        match self {
            Self::Table(table) => {
                let devices = table.devices.as_ref()?;
                let of_samples = (0..).zip(devices.of_samples.iter().copied()).collect();
                Some(Holders { names: devices.names.clone(), of_samples })
            }
            Self::Text(texts) => {
                let windows = (0..)
                    .zip(texts.text.windows())
                    .flat_map(|(holder, range)| range.clone().map(move |position| (position, holder)));
                Some(Holders { names: texts.names.clone(), of_samples: windows.collect() })
            }
        }
    }
}

/// The table with labels for the loss that the task declares, if it is as declared.
fn checked(mut table: Table, file: &Path, params: &Params) -> Result<Table, TaskError> {
    let shape = params.sizes("shape");
    check(file, "the shape of a sample", &table.sample_shape(), &shape.as_slice().to_vec())?;
    let kind = match table.features {
        Features::Bytes(_) => "bytes",
        Features::Floats(_) => "floats",
    };
    check(file, "the type of values", &kind, &params.choice("values"))?;
    let classifies = Loss::by_name(params.choice("loss")).is_none_or(|loss| loss.row().classifies);
    table.labels = match classifies {
        true => table.labels.into_classes().map_err(|problem| problem.in_file(file))?,
        false => table.labels.into_numbers(),
    };
    if let Labels::Classes(classes) = &table.labels {
        let (most, declared) =
            (classes.iter().max().map_or(0, |most| *most as usize), params.count("classes"));
        if most >= declared {
            check(file, "the number of classes", &(most + 1), &declared)?;
        }
    }
    if model(params)?.reads_codes {
        check_codes(&table.features, file, params.count("symbols"))?;
    }
    Ok(table)
}

/// Codes of symbols are whole numbers below the number of symbols.
fn check_codes(features: &Features, file: &Path, symbols: usize) -> Result<(), TaskError> {
    let wrong = match features {
        Features::Bytes(codes) => {
            codes.iter().find(|code| usize::from(**code) >= symbols).map(ToString::to_string)
        }
        Features::Floats(codes) => {
            let is_code = |code: f32| code.fract() == 0.0 && (0.0..symbols as f32).contains(&code);
            codes.iter().find(|code| !is_code(**code)).map(ToString::to_string)
        }
    };
    match wrong {
        None => Ok(()),
        Some(found) => {
            let declared = format!("codes from 0 to {} (task.symbols = {symbols})", symbols - 1);
            Err(not_as_declared(file, "a value", found, declared))
        }
    }
}

fn check<T: PartialEq + std::fmt::Debug>(
    file: &Path,
    what: &'static str,
    found: &T,
    declared: &T,
) -> Result<(), TaskError> {
    match found == declared {
        true => Ok(()),
        false => Err(not_as_declared(file, what, format!("{found:?}"), format!("{declared:?}"))),
    }
}

fn not_as_declared(file: &Path, what: &'static str, found: String, declared: String) -> TaskError {
    TaskError::NotAsDeclared { file: file.to_owned(), what, found, declared }
}
