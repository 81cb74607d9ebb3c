//! What a report is about, in a title and a sentence.

use crate::collection::Collection;
use crate::numbers::counted;
use crate::run_view::RunView;

/// The title that somebody gave, or tasks and targets.
pub(super) fn title(collection: &Collection, given: Option<&str>) -> String {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return given.to_owned();
    }
    let mut titles: Vec<String> = collection
        .groups
        .iter()
        .filter(|group| !group.schemes.is_empty())
        .map(|group| match group.target() {
            Some(_) => format!("{} to {}", group.task(), group.target_words()),
            None => group.task().to_owned(),
        })
        .collect();
    titles.sort_unstable();
    titles.dedup();
    if titles.is_empty() { "Pilots".to_owned() } else { titles.join(", ") }
}

/// How many runs there are, and the numbers that all of them share.
pub(super) fn sentence(collection: &Collection) -> String {
    let runs: usize = collection.groups.iter().map(|group| group.runs().count()).sum();
    let pilots: usize = collection.groups.iter().map(|group| group.pilots.len()).sum();
    let shared = |number: fn(&RunView) -> usize| {
        let first = collection.all_runs().next().map(number)?;
        collection.all_runs().all(|run| number(run) == first).then_some(first)
    };
    let mut text = counted(runs, "run");
    if pilots > 0 {
        text += &format!(" and {}", counted(pilots, "pilot"));
    }
    if let Some(devices) = shared(|run| run.header.devices) {
        text += &format!(", {}", counted(devices, "device"));
    }
    if let Some(parameters) = shared(|run| run.header.parameters) {
        text += &format!(", a model of {}", counted(parameters, "parameter"));
    }
    text + "."
}
