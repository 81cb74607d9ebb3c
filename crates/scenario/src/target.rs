//! The target of a run: one value, however many keys name it.

use fedflip_fleet::{Direction, Display, MetricInfo};
use fedflip_learn::metrics;
use fedflip_record::{Target, TargetMode};

use super::Scenario;
use super::check::refuse;
use super::entries::Entry;
use super::error::{KeyError, Place};
use super::resolve::Keys;
use super::value::Value;

const SHORT: [&str; 2] = ["target_accuracy", "target_loss"];
const LONG: [&str; 3] = ["metric", "at", "mode"];

/// Removes the keys that later ones replace. Overrides come after the file. Within a file, two targets are refused.
pub(super) fn last(mut given: Vec<Entry>) -> Result<Vec<Entry>, KeyError> {
    let is_one_of =
        |entry: &Entry, keys: &[&str]| entry.section == "stop" && keys.contains(&entry.key.as_str());
    let is_short = |entry: &Entry| is_one_of(entry, &SHORT);
    let is_long = |entry: &Entry| is_one_of(entry, &LONG);
    let in_file = || given.iter().filter(|entry| !entry.place.is_over_file());
    if let Some(short) = in_file().find(|entry| is_short(entry))
        && let Some(other) =
            in_file().find(|entry| is_long(entry) || is_short(entry) && entry.key != short.key)
    {
        let problem = format!("stop.{} is a second target beside stop.{}", other.key, short.key);
        return Err(refuse(other, problem, "a run has one target: leave one of the two out".to_owned()));
    }
    // A value and a mode in the file belong to the file's metric.
    if given.iter().any(|entry| entry.place.is_over_file() && is_one_of(entry, &["metric"])) {
        given.retain(|entry| entry.place.is_over_file() || !is_one_of(entry, &["at", "mode"]));
    }
    let last = given.iter().rposition(|entry| is_short(entry) || is_long(entry));
    let Some(last) = last else { return Ok(given) };
    // A new value or mode alone is one of the metric that the file's shorthand names.
    let has_metric = given.iter().any(|entry| is_one_of(entry, &["metric"]));
    if is_long(&given[last])
        && !has_metric
        && let Some(short) = given.iter().rposition(is_short)
    {
        let metric = given[short].key.trim_start_matches("target_").to_owned();
        let at = Entry { key: "at".to_owned(), ..given[short].clone() };
        given[short] = Entry { key: "metric".to_owned(), value: Value::text(metric), ..at.clone() };
        given.insert(short, at);
    }
    if is_short(&given[last]) {
        let kept = given[last].key.clone();
        given.retain(|entry| !is_long(entry) && (!is_short(entry) || entry.key == kept));
    } else {
        given.retain(|entry| !is_short(entry));
    }
    Ok(given)
}

/// Refuses a value or a mode that the metric cannot have.
pub(super) fn check(scenario: &Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), KeyError> {
    let Target { metric, at, mode } = &scenario.stop.target;
    let usual = Scenario::paper(scenario.task).map(|usual| usual.stop.target.metric);
    if metric.is_empty() {
        return match given.entry("stop", "at").or_else(|| given.entry("stop", "mode")) {
            Some(entry) => {
                let hint = "write metric = NAME below [stop]: a metric that the program evaluates".to_owned();
                Err(refuse(entry, format!("stop.{} is given without stop.metric", entry.key), hint))
            }
            None => Ok(()),
        };
    }
    if at.is_nan() {
        let problem =
            format!("stop.at is missing: fedflip cannot know which {metric} is good for these data");
        let hint =
            format!("write a heading [stop] and below it at = NUMBER, the {metric} at which the run ends");
        return Err(KeyError { place: whole_file.clone(), key: "stop.at".to_owned(), problem, hint });
    }
    if let Some(entry) = given.entry("stop", "metric")
        && !given.has("stop", "at")
        && usual.is_ok_and(|usual| usual != *metric)
    {
        let hint = format!("give stop.at as well: the {metric} at which the run ends");
        return Err(refuse(entry, format!("stop.metric is {metric:?}, and stop.at is missing"), hint));
    }
    let Some(MetricInfo { better, display, .. }) = metrics::metric(metric).map(|metric| &metric.info) else {
        return Ok(());
    };
    if let Some(entry) = given.entry("stop", "at")
        && *display == Display::Share
        && !(1e-9..=1.0).contains(at)
    {
        let hint = format!("it must be a share from 1e-9 to 1: 70 % {metric} is 0.7");
        return Err(refuse(entry, format!("stop.at is {at}, and {metric} is a share"), hint));
    }
    let (wanted, comparison) = match better {
        Direction::Larger => (TargetMode::Max, "larger"),
        Direction::Smaller => (TargetMode::Min, "smaller"),
    };
    match given.entry("stop", "mode") {
        Some(entry) if *mode != wanted => {
            let problem =
                format!("this mode does not suit {metric}, of which {comparison} values are better");
            Err(refuse(entry, problem, "leave stop.mode out: it follows from the metric".to_owned()))
        }
        _ => Ok(()),
    }
}
