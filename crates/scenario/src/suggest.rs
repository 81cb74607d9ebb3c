//! A scenario for files of the user's own: what the files say, and sensible defaults for the rest.

use std::path::Path;

use fedflip_learn::task::{ParamValue, Task};
use fedflip_samples::inspect::LabelSummary;
use fedflip_samples::{Inspection, SamplesError, files};

use super::error::ScenarioError;
use super::own::{described, described_text};
use super::value::Value;
use super::{Preset, Scenario};

/// The most devices of a fleet that is made for files without devices.
const DEVICES_MAX: usize = 100;
/// The number of samples for which another device is worth its while.
const SAMPLES_PER_DEVICE: usize = 64;

/// Files, and what the user has decided about them.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Files of training samples, as the scenario will name them.
    pub train: &'a [String],
    /// Files of test samples.
    pub test: &'a [String],
    /// The network; one that suits the samples if nothing is said.
    pub model: Option<&'a str>,
    /// Relative names start here.
    pub folder: &'a Path,
}

impl Scenario {
    /// A commented scenario for files of the user's own.
    pub fn template_own(task: Task, preset: Preset, request: &Request<'_>) -> Result<String, SuggestError> {
        let mut settings = Vec::new();
        let names = |names: &[String]| Value::List(names.iter().map(Value::text).collect());
        settings.push(("data.train", names(request.train)));
        if !request.test.is_empty() {
            settings.push(("data.test", names(request.test)));
        }
        let paths = files::found(request.folder, request.train)?;
        let (params, samples, holders, inspected) = match files::are_texts(&paths) {
            true => {
                let texts = files::read_texts(&paths)?;
                let symbols: usize = texts.iter().map(|text| text.chars().count()).sum();
                let holders = (texts.len() > 1).then_some(texts.len());
                (described_text(), symbols, holders, None)
            }
            false => {
                let table = files::read(&paths)?;
                let found = table.inspect();
                let holders = found.devices.as_ref().map(Vec::len);
                (described(&table), table.len(), holders, Some(found))
            }
        };
        let model = request.model.map_or_else(|| suited(&params, inspected.is_none()), str::to_owned);
        settings.push(("task.model", Value::text(&model)));
        let params = params.into_iter().map(|(name, value)| (format!("task.{name}"), value_of(value)));
        settings.extend(inspected.iter().flat_map(numbers));
        settings.extend(sharing(samples, holders, inspected.as_ref()));
        if model == "lstm" {
            settings.push(("train.learning_rate", Value::Number(0.8)));
        }
        let settings = settings.into_iter().map(|(key, value)| (key.to_owned(), value));
        let overrides: Vec<String> =
            settings.chain(params).map(|(key, value)| format!("{key}={value}")).collect();
        Ok(Self::template_with(task, preset, &overrides, request.folder)?)
    }
}

/// Why no scenario can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    #[error(transparent)]
    Samples(#[from] SamplesError),
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// A small image gets a small convolutional network, a text the LSTM, and everything else one hidden layer.
fn suited(params: &[(&str, ParamValue<'_>)], is_text: bool) -> String {
    let square = params.iter().any(|(_, value)| match value {
        ParamValue::Sizes(sizes) => match *sizes.as_slice() {
            [height, width] | [height, width, _] => height == width && height.is_multiple_of(4),
            _ => false,
        },
        _ => false,
    });
    match (is_text, square) {
        (true, _) => "lstm",
        (_, true) => "cnn",
        _ => "mlp",
    }
    .to_owned()
}

fn value_of(value: ParamValue<'_>) -> Value {
    match value {
        ParamValue::Flag(flag) => Value::Flag(flag),
        ParamValue::Count(count) => Value::count(count),
        ParamValue::Number(number) => Value::Number(number),
        ParamValue::Choice(name) => Value::text(name),
        ParamValue::Sizes(sizes) => Value::List(sizes.as_slice().iter().copied().map(Value::count).collect()),
    }
}

/// The numbers that normalise the values, and targets that fit the labels.
fn numbers(found: &Inspection) -> Vec<(&'static str, Value)> {
    let list = |numbers: &[f64]| Value::List(numbers.iter().map(|n| Value::Number(rounded(*n, 5))).collect());
    let mut settings = vec![("data.mean", list(&found.mean)), ("data.std", list(&found.std))];
    match &found.labels {
        // Half of what a model loses that knows nothing.
        LabelSummary::Classes(counts) => {
            let loss = 0.5 * (counts.len().max(2) as f64).ln();
            settings.push(("pilot.loss", Value::Number(rounded(loss, 2))));
        }
        LabelSummary::Numbers { std, .. } => {
            settings.push(("stop.metric", Value::text("rmse")));
            // A model that explains half of the variance.
            settings.push(("stop.at", Value::Number(rounded(0.7 * std, 2))));
            // Gradients of a squared error grow with the numbers.
            settings.push(("train.learning_rate", Value::Number(rounded(0.05 / std.max(1.0), 2))));
            settings.push(("pilot.loss", Value::Number(rounded(0.5 * std * std, 2).max(1e-9))));
        }
    }
    settings
}

/// Whoever holds the samples is a device; samples that nobody holds are shared among up to a hundred.
fn sharing(
    samples: usize,
    holders: Option<usize>,
    inspected: Option<&Inspection>,
) -> Vec<(&'static str, Value)> {
    if let Some(holders) = holders {
        return vec![("data.sharing", Value::text("by-device")), ("fleet.devices", Value::count(holders))];
    }
    let devices = (samples / SAMPLES_PER_DEVICE).clamp(1, DEVICES_MAX);
    let has_classes = inspected.is_none_or(|found| matches!(found.labels, LabelSummary::Classes(_)));
    let mut settings = vec![("fleet.devices", Value::count(devices))];
    if has_classes {
        settings.push(("data.min_samples", Value::count((samples / devices / 2).clamp(1, 32))));
    } else {
        settings.push(("data.sharing", Value::text("iid")));
    }
    settings
}

/// A number with so many significant digits.
fn rounded(number: f64, digits: usize) -> f64 {
    format!("{number:.*e}", digits - 1).parse().unwrap_or(number)
}
