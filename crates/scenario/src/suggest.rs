//! A scenario for files of the user's own: what the files say, and sensible defaults for the rest.

use std::path::{Path, PathBuf};

use fedflip_learn::loss::Loss;
use fedflip_learn::own::{alphabet_of, reads_codes};
use fedflip_learn::task::{ParamValue, Task};
use fedflip_samples::inspect::{Channels, LabelSummary};
use fedflip_samples::{Inspection, SamplesError, Table, files};

use super::error::ScenarioError;
use super::keys::value_of;
use super::own::{Decided, Described, described, described_text};
use super::value::Value;
use super::{Preset, Scenario};

/// The most devices of a fleet that is made for files without devices.
const DEVICES_MAX: usize = 100;
/// The number of samples for which another device is worth its while.
const SAMPLES_PER_DEVICE: usize = 64;

/// The network for texts, and what it can reach on most of them.
const TEXT_MODEL: &str = "lstm";
const TEXT_ACCURACY: f64 = 0.4;
const TEXT_PILOT_LOSS: f64 = 2.6;

/// Files, and what the user has decided about them.
#[derive(Clone, Copy, Debug)]
pub struct OwnTemplate<'a> {
    /// Files of training samples, as the scenario will name them.
    pub train: &'a [String],
    /// Files of test samples.
    pub test: &'a [String],
    /// The network; one that suits the samples if nothing is said.
    pub model: Option<&'a str>,
    /// The loss; what the labels look like decides if nothing is said.
    pub loss: Option<&'a str>,
    /// The share of the training samples to hold out.
    pub validation: Option<f64>,
    /// Relative names start here.
    pub folder: &'a Path,
}

/// A scenario for files of the user's own.
#[derive(Clone, Debug)]
pub struct OwnSuggestion {
    /// The scenario as TOML with comments.
    pub text: String,
    /// What is allowed and probably not meant.
    pub notes: Vec<String>,
}

impl Scenario {
    /// A commented scenario for files of the user's own.
    pub fn template_own(
        task: Task,
        preset: Preset,
        wanted: &OwnTemplate<'_>,
    ) -> Result<OwnSuggestion, SuggestError> {
        let names = |names: &[String]| Value::List(names.iter().map(Value::text).collect());
        let mut settings = vec![("data.train", names(wanted.train))];
        if !wanted.test.is_empty() {
            settings.push(("data.test", names(wanted.test)));
        }
        let paths = files::found(wanted.folder, wanted.train)?;
        let found = match files::are_texts(&paths) {
            true => of_texts(&paths, wanted)?,
            false => of_table(files::read(&paths)?, &paths, wanted)?,
        };
        settings.extend(wanted.validation.map(|share| ("data.validation", Value::Number(share))));
        settings.push(("task.model", Value::text(&found.model)));
        settings.extend(found.settings);
        if reads_codes(&found.model) {
            settings.push(("train.learning_rate", Value::Number(0.8)));
        }
        let Described { params, columns, sharing } = found.described;
        settings.extend(sharing);
        if !columns.is_empty() {
            settings.push(("task.columns", names(&columns)));
        }
        let params = params.into_iter().map(|(name, value)| (format!("task.{name}"), value_of(value)));
        let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value));
        let overrides: Vec<String> =
            settings.chain(params).map(|(key, value)| format!("{key}={value}")).collect();
        let text = Self::template_with(task, preset, &overrides, wanted.folder)?;
        Ok(OwnSuggestion { text, notes: found.notes })
    }
}

/// The settings that follow from the files.
struct Suggested {
    model: String,
    described: Described,
    settings: Vec<(&'static str, Value)>,
    notes: Vec<String>,
}

/// Every text can be a device; the alphabet is that of the texts.
fn of_texts(paths: &[PathBuf], wanted: &OwnTemplate<'_>) -> Result<Suggested, SuggestError> {
    let texts = files::read_texts(paths)?;
    let alphabet = alphabet_of(texts.iter().map(String::as_str));
    let mut described = described_text(&alphabet, &texts);
    // Characters are classes: another loss is refused at its key.
    if let Some(loss) = wanted.loss.and_then(Loss::by_name) {
        described.params.push(("loss", ParamValue::Choice(loss.row().name)));
    }
    let mut settings = vec![("task.alphabet", Value::text(alphabet))];
    // What a small model of characters reaches: it knows more than half of the information of a character.
    settings.push(("stop.at", Value::Number(TEXT_ACCURACY)));
    settings.push(("pilot.loss", Value::Number(TEXT_PILOT_LOSS)));
    Ok(Suggested {
        model: wanted.model.unwrap_or(TEXT_MODEL).to_owned(),
        described,
        settings,
        notes: Vec::new(),
    })
}

fn of_table(
    mut table: Table,
    paths: &[PathBuf],
    wanted: &OwnTemplate<'_>,
) -> Result<Suggested, SuggestError> {
    table.labels = match wanted.loss.and_then(Loss::by_name) {
        Some(loss) if loss.row().classifies => {
            table.labels.into_classes().map_err(|problem| problem.in_file(&paths[0]))?
        }
        Some(_) => table.labels.into_numbers(),
        None => table.labels,
    };
    let inspected = table.inspect();
    let model = wanted.model.map_or_else(|| suited(&inspected), str::to_owned);
    let decided = Decided { loss: wanted.loss, reads_codes: reads_codes(&model), ..Decided::default() };
    let mut settings = targets(&inspected.labels);
    if !decided.reads_codes {
        settings.extend(normalisation(&inspected));
    }
    let many = inspected.many_classes();
    let many = many.map(|many| format!("{many}; if the labels are numbers, choose the loss squared-error"));
    let is_mixed = paths.len() > 1 && inspected.devices.is_none();
    let devices = is_mixed.then(|| {
        format!(
            "the {} files do not name devices, so their samples are mixed: to make every file a device, add an array or \
             a column device to each",
            paths.len()
        )
    });
    let notes = many.filter(|_| wanted.loss.is_none()).into_iter().chain(devices).collect();
    Ok(Suggested { model, described: described(&table, decided), settings, notes })
}

/// Why no scenario can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    #[error(transparent)]
    Samples(#[from] SamplesError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// A small image gets a small convolutional network, and everything else one hidden layer.
fn suited(found: &Inspection) -> String {
    let sides = match (&found.shape[..], found.channels) {
        (&[height, width], _)
        | (&[_, height, width], Some(Channels::First))
        | (&[height, width, _], Some(Channels::Last)) => Some([height, width]),
        _ => None,
    };
    let is_square = sides.is_some_and(|[height, width]| height == width && height.is_multiple_of(4));
    if is_square { "cnn" } else { "mlp" }.to_owned()
}

/// The numbers that normalise the values.
fn normalisation(found: &Inspection) -> [(&'static str, Value); 2] {
    let list = |numbers: &[f64]| Value::List(numbers.iter().map(|n| Value::Number(rounded(*n, 5))).collect());
    [("data.mean", list(&found.mean)), ("data.std", list(&found.std))]
}

/// Targets that fit the labels.
fn targets(labels: &LabelSummary) -> Vec<(&'static str, Value)> {
    let loss = |loss: f64| ("pilot.loss", Value::Number(rounded(loss, 2).clamp(1e-9, 1e15)));
    match labels {
        // Half of what a model loses that knows nothing.
        LabelSummary::Classes(counts) => vec![loss(0.5 * (counts.len().max(2) as f64).ln())],
        LabelSummary::Numbers { std, .. } => vec![
            ("stop.metric", Value::text("rmse")),
            // A model that explains half of the variance.
            ("stop.at", Value::Number(rounded(0.7 * std, 2).clamp(1e-9, 1e15))),
            // Gradients of a squared error grow with the numbers.
            ("train.learning_rate", Value::Number(rounded(0.05 / std.max(1.0), 2).max(1e-30))),
            loss(0.5 * std * std),
        ],
    }
}

/// Whoever holds the samples is a device; samples that nobody holds are shared among up to a hundred.
pub(super) fn sharing(
    samples: usize,
    holders: Option<usize>,
    has_classes: bool,
) -> Vec<(&'static str, Value)> {
    if let Some(holders) = holders {
        return vec![("data.sharing", Value::text("by-device")), ("fleet.devices", Value::count(holders))];
    }
    let devices = (samples / SAMPLES_PER_DEVICE).clamp(1, DEVICES_MAX);
    let mut settings = vec![("fleet.devices", Value::count(devices))];
    if has_classes {
        settings.push(("data.min_samples", Value::count((samples / devices / 2).clamp(1, 32))));
    } else {
        settings.push(("data.sharing", Value::text("iid")));
    }
    settings
}

/// Writes a number with a given number of significant digits.
fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}
