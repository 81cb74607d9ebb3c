//! From keys, values and places to a scenario, or to a refusal that says where and what would be right.

use std::path::Path;

use fedflip_fleet::units::plain;
use fedflip_fleet::{FleetError, Gflop};
use fedflip_learn::task::Task;

use super::check::{self, refuse};
use super::costs;
use super::defaults;
use super::entries::Entry;
use super::error::{KeyError, Place, Refusal};
use super::in_memory::InMemory;
use super::initial;
use super::keys::{self, Key};
use super::server::Kind;
use super::value::Given;
use super::{FleetSource, Preset, Scenario, Stop, Update};
use super::{evaluate, own, target};
use crate::error::ScenarioError;

/// Of several values for one key the last counts: `--set` comes after the file.
pub(super) fn resolve(
    given: Vec<Entry>,
    file: &str,
    (folder, memory): (&Path, &InMemory),
    default_preset: Preset,
) -> Result<Scenario, ScenarioError> {
    let whole_file = Place::File { file: file.to_owned(), line: None };
    given.iter().try_for_each(check::section)?;
    let task = task(&given, &whole_file)?;
    for entry in &given {
        check::key(entry, task)?;
    }
    let mut scenario = Scenario::paper(task)?;
    let given =
        Keys { given: one_fleet(one_length(target::last(last_preset(given))?)?, &scenario)?, folder, memory };
    given.set(&mut scenario, |key| key.section == "task")?;
    given.set(&mut scenario, |key| key.section == "data")?;
    own::declare(&mut scenario, &given)?;
    scenario.stop = Stop::of(scenario.task);
    let preset = match given.entry("", "preset") {
        Some(entry) => {
            let value = Given { value: &entry.value, folder, memory };
            Preset::of(&value).map_err(|refusal| refusal.at(entry.place.clone(), "preset"))?
        }
        None => default_preset,
    };
    expand(preset, &mut scenario, &whole_file)?;
    given.set(&mut scenario, |key| !["task", "data"].contains(&key.section))?;
    own::check_sharing(&scenario, &given, &whole_file)?;
    evaluate::check(&scenario, &given, &whole_file)?;
    let times_are_given =
        matches!(scenario.fleet, FleetSource::File { .. }) || given.has("fleet", "payload_mbit");
    if times_are_given && !given.has("update", "encoding") {
        // Fewer bits would be rounded for nothing: no upload gets shorter.
        scenario.update = Update::default();
    }
    check_server(&scenario, &given, &whole_file)?;
    initial::check(&scenario, &given, &whole_file)?;
    target::check(&scenario, &given, &whole_file)?;
    follow(&mut scenario, &given, &whole_file)?;
    costs::follow(&mut scenario, &given).map_err(|error| follows(error, &whole_file))?;
    costs::check(&scenario, &given, &whole_file)?;
    Ok(scenario)
}

/// The entries of a file and of the overrides.
pub(super) struct Keys<'a> {
    given: Vec<Entry>,
    folder: &'a Path,
    memory: &'a InMemory,
}

impl Keys<'_> {
    /// The entry that counts for a key.
    pub(super) fn entry(&self, section: &str, name: &str) -> Option<&Entry> {
        self.given.iter().rev().find(|entry| entry.section == section && entry.key == name)
    }

    pub(super) fn has(&self, section: &str, name: &str) -> bool {
        self.entry(section, name).is_some()
    }

    /// Where a key stands; the whole file if it does not.
    pub(super) fn place(&self, section: &str, name: &str, whole_file: &Place) -> Place {
        self.entry(section, name).map_or(whole_file, |entry| &entry.place).clone()
    }

    /// Sets those of the given keys that are `among` the wanted ones, in the order of the table.
    fn set(&self, scenario: &mut Scenario, among: impl Fn(&Key) -> bool) -> Result<(), KeyError> {
        for key in keys::all().filter(|key| among(key)) {
            let Some(entry) = self.entry(key.section, key.name) else { continue };
            let value = Given { value: &entry.value, folder: self.folder, memory: self.memory };
            key.set(scenario, &value).map_err(|refusal| refusal.at(entry.place.clone(), &key.path()))?;
        }
        Ok(())
    }
}

/// Sets the keys of a preset.
fn expand(preset: Preset, scenario: &mut Scenario, whole_file: &Place) -> Result<(), KeyError> {
    for (path, value) in preset.keys(scenario.task) {
        let Some(key) = keys::all().find(|key| key.path() == path) else { continue };
        let given = Given::plain(&value);
        key.set(scenario, &given).map_err(|refusal| refusal.at(whole_file.clone(), path))?;
    }
    Ok(())
}

/// Payload and work follow from other values unless they are given.
fn follow(scenario: &mut Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), ScenarioError> {
    let (task, train, update) = (scenario.task, scenario.train, scenario.update);
    // It was checked before.
    let external = scenario.external().ok().flatten();
    let FleetSource::Generated(fleet) = &mut scenario.fleet else { return Ok(()) };
    if !given.has("fleet", "payload_mbit") {
        fleet.payload =
            defaults::payload(task, external.as_ref(), update).map_err(|error| follows(error, whole_file))?;
    }
    // Of two amounts of work the one that is not given is none beside the other.
    if !given.has("fleet", "work_gflop") && !given.has("fleet", "sample_work_gflop") {
        (fleet.work, fleet.sample_work) =
            defaults::work(task, external.as_ref(), train).map_err(|error| follows(error, whole_file))?;
    } else if !given.has("fleet", "work_gflop") {
        fleet.work = Gflop::ZERO;
    }
    fleet.hardware().checked().map_err(|error| times_out_of_range(&error, given, whole_file))?;
    Ok(())
}

/// A preset among the overrides takes back what the file says of the keys that presets set: `fedflip scenario new`
/// prints them all.
fn last_preset(mut given: Vec<Entry>) -> Vec<Entry> {
    let is_set = |entry: &Entry| entry.place.is_over_file();
    if given.iter().any(|entry| is_set(entry) && entry.section.is_empty() && entry.key == "preset") {
        given.retain(|entry| is_set(entry) || !Preset::sets(&entry.section, &entry.key));
    }
    given
}

/// The running means and variances of batch norm are not learnt by gradients. Only a plain sum of their changes gives means
/// and variances again, so other server rules are refused.
fn check_server(scenario: &Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), KeyError> {
    if scenario.server.kind == Kind::None || !scenario.task.has_running_statistics() {
        return Ok(());
    }
    let refusal = Refusal {
        problem: "cannot be used with task.norm = \"batch\", whose running variances it would drive below 0"
            .to_owned(),
        hint: "take task.norm = \"group\", or leave the optimiser out".to_owned(),
    };
    Err(refusal.at(given.place("server", "optimiser", whole_file), "server.optimiser"))
}

fn task(given: &[Entry], whole_file: &Place) -> Result<Task, KeyError> {
    match given.iter().rev().find(|entry| entry.section == "task" && entry.key == "name") {
        Some(entry) => {
            let value = Given::plain(&entry.value);
            keys::task_of(&value).map_err(|refusal| refusal.at(entry.place.clone(), "task.name"))
        }
        None => Err(KeyError {
            place: whole_file.clone(),
            key: "task.name".to_owned(),
            problem: "the task is missing".to_owned(),
            hint: format!(
                "write a heading [task] and below it name = NAME; the tasks are {}",
                Task::names().collect::<Vec<_>>().join(", ")
            ),
        }),
    }
}

/// Training has a number of steps or of passes. An override of the one takes back what the file says of the other.
fn one_length(mut given: Vec<Entry>) -> Result<Vec<Entry>, KeyError> {
    let is = |entry: &Entry, key: &str| entry.section == "train" && entry.key == key;
    let is_set = |entry: &Entry, key: &str| entry.place.is_over_file() && is(entry, key);
    for [set, taken_back] in [["epochs", "iterations"], ["iterations", "epochs"]] {
        if given.iter().any(|entry| is_set(entry, set)) {
            given.retain(|entry| entry.place.is_over_file() || !is(entry, taken_back));
        }
    }
    match given.iter().rfind(|entry| is(entry, "epochs")) {
        Some(epochs) if given.iter().any(|entry| is(entry, "iterations")) => Err(refuse(
            epochs,
            "train.epochs is given together with train.iterations".to_owned(),
            "leave out one of the two: epochs are passes through a device's own samples, iterations are the same \
             number of steps on every device"
                .to_owned(),
        )),
        _ => Ok(given),
    }
}

/// The keys of `[fleet]` that a fleet file replaces.
pub const GENERATED_FLEET: [&str; 5] =
    ["devices", "types", "payload_mbit", "work_gflop", "sample_work_gflop"];

/// A fleet is read or generated. An override of the one takes back what the file says of the other, and a file takes the
/// place of keys with their default values, as `fedflip scenario new` prints them.
fn one_fleet(mut given: Vec<Entry>, defaults: &Scenario) -> Result<Vec<Entry>, KeyError> {
    let is_file = |entry: &Entry| entry.section == "fleet" && entry.key == "file";
    let is_generated =
        |entry: &Entry| entry.section == "fleet" && GENERATED_FLEET.contains(&entry.key.as_str());
    let is_set = |entry: &Entry| entry.place.is_over_file();
    let file_set = given.iter().any(|entry| is_set(entry) && is_file(entry));
    let generated_set = given.iter().any(|entry| is_set(entry) && is_generated(entry));
    given.retain(|entry| {
        is_set(entry) || !(file_set && is_generated(entry) || generated_set && is_file(entry))
    });
    if !given.iter().any(is_file) {
        return Ok(given);
    }
    let is_default = |entry: &Entry| {
        let key = keys::all().find(|key| key.is(&entry.section, &entry.key));
        key.and_then(|key| key.get(defaults))
            .is_some_and(|value| value.to_string() == entry.value.to_string())
    };
    given.retain(|entry| !(is_generated(entry) && is_default(entry)));
    match given.iter().find(|entry| is_generated(entry)) {
        Some(entry) => Err(refuse(
            entry,
            format!("fleet.{} is given together with fleet.file", entry.key),
            "leave out one of the two: a fleet file has its own devices and their times".to_owned(),
        )),
        None => Ok(given),
    }
}

/// The error of a default that follows from other values and is out of range.
fn follows(error: ScenarioError, whole_file: &Place) -> ScenarioError {
    let ScenarioError::OutOfRange { key, value, wanted } = error else { return error };
    let refusal = Refusal {
        problem: format!("{}, which follows from [task] and [train], is out of range", plain(value)),
        hint: format!("it must be {wanted}: set it, or lower train.batch, train.iterations or train.epochs"),
    };
    refusal.at(whole_file.clone(), key).into()
}

/// An error of the fleet's generator, with the key that it is about.
fn times_out_of_range(error: &FleetError, given: &Keys<'_>, whole_file: &Place) -> ScenarioError {
    let FleetError::Recipe { what, problem, .. } = error else { return error.clone().into() };
    let name = if *what == "payload-mbit" { "payload_mbit" } else { "work_gflop" };
    let refusal = Refusal {
        problem: format!("as a time, {problem}"),
        hint: "a device computes and sends for 0 to 1e9 seconds in a round (and, if not 0, at least 1e-9)"
            .to_owned(),
    };
    refusal.at(given.place("fleet", name, whole_file), &format!("fleet.{name}")).into()
}
