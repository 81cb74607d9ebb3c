//! Whether sections and keys exist, and what was meant where they do not.

use fedflip_fleet::nearest;
use fedflip_learn::task::Task;

use super::entries::{Entry, HEADING};
use super::error::{KeyError, short};
use super::keys::{self, SECTIONS};

pub(super) fn refuse(entry: &Entry, problem: String, hint: String) -> KeyError {
    KeyError { place: entry.place.clone(), key: entry_path(entry), problem, hint }
}

/// The section exists, and is not itself given a value.
pub(super) fn section(entry: &Entry) -> Result<(), KeyError> {
    let is_section = |name: &str| SECTIONS.iter().any(|(known, _)| *known == name);
    if entry.section.is_empty() && !entry.key.is_empty() && is_section(&entry.key) {
        let hint = format!("write a heading [{}] and its keys below", entry.key);
        return Err(refuse(entry, format!("{} is a section", entry.key), hint));
    }
    if is_section(&entry.section) {
        return Ok(());
    }
    let names = || SECTIONS.iter().map(|(name, _)| *name).filter(|name| !name.is_empty());
    let all = names().map(|name| format!("[{name}]")).collect::<Vec<_>>().join(", ");
    let hint = match nearest(&entry.section, names()) {
        Some(name) => format!("did you mean [{name}]? The sections are {all}"),
        None => format!("the sections are {all}"),
    };
    Err(refuse(entry, format!("there is no section {}", short(&entry.section)), hint))
}

/// What others call some keys, where the nearest name would be another key.
const SYNONYMS: &[(&str, &str)] = &[
    ("data.alpha", "data.concentration"),
    ("data.dirichlet_alpha", "data.concentration"),
    ("data.partition", "data.sharing"),
    ("train.lr", "train.learning_rate"),
    ("train.batch_size", "train.batch"),
    ("train.local_epochs", "train.epochs"),
    ("train.mu", "train.proximal"),
    ("train.proximal_mu", "train.proximal"),
    ("train.steps", "train.iterations"),
    ("plan.noise", "plan.variance"),
    ("plan.quiet_noise", "plan.quiet_variance"),
    ("server.lr", "server.step"),
    ("server.learning_rate", "server.step"),
    ("fleet.bandwidth", "fleet.bandwidth_mbps"),
];

fn entry_path(entry: &Entry) -> String {
    match (entry.section.as_str(), entry.key.as_str()) {
        ("", key) => key.to_owned(),
        (section, "") => section.to_owned(),
        (section, key) => format!("{section}.{key}"),
    }
}

/// The key exists in its section, and this task has it.
pub(super) fn key(entry: &Entry, task: Task) -> Result<(), KeyError> {
    let Entry { section, key: name, .. } = entry;
    if entry.value == HEADING {
        return Ok(());
    }
    if let Some(key) = keys::all().find(|key| key.is(section, name)) {
        if key.is_of(task) {
            return Ok(());
        }
        let hint = format!("leave it out: the task is {}", task.name());
        return Err(refuse(entry, format!("{} is for {}", key.path(), key.tasks().join(" and ")), hint));
    }
    let place = if section.is_empty() { "above the sections".to_owned() } else { format!("in [{section}]") };
    let problem = format!("there is no key {} {place}", short(name));
    if let Some((_, right)) = SYNONYMS.iter().find(|(wrong, _)| *wrong == entry_path(entry)) {
        return Err(refuse(entry, problem, format!("did you mean {right}?")));
    }
    // Most wrong keys are right ones in the wrong place, or misspelt.
    let places: Vec<String> =
        keys::all().filter(|key| key.name == name && key.is_of(task)).map(keys::Key::whereabouts).collect();
    if !places.is_empty() {
        return Err(refuse(entry, problem, format!("it belongs {}", places.join(" or "))));
    }
    let own = || keys::of(section, task).map(|key| key.name);
    let all = own().collect::<Vec<_>>().join(", ");
    let hint = match nearest(name, own()) {
        Some(near) => format!("did you mean {near}? The keys here are {all}"),
        None => {
            let near = nearest(name, keys::all().filter(|key| key.is_of(task)).map(|key| key.name));
            match near.and_then(|near| keys::all().find(|key| key.name == near)) {
                Some(key) => format!("did you mean {}? It belongs {}", key.name, key.whereabouts()),
                None => format!("the keys here are {all}"),
            }
        }
    };
    Err(refuse(entry, problem, hint))
}
