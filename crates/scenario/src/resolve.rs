//! From keys, values and places to a scenario, or to a refusal that says where and what would be right.

use std::path::Path;

use fedflip_fleet::units::plain;
use fedflip_fleet::{FleetError, nearest};
use fedflip_learn::task::Task;
use fedflip_plan::Scheme;

use super::defaults;
use super::entries::{Entry, HEADING};
use super::error::{KeyError, Place, Refusal, short};
use super::keys::{self, Key, SECTIONS};
use super::server::Kind;
use super::value::Given;
use super::{FleetSource, Scenario, Update};
use crate::error::ScenarioError;

/// What a fleet file takes the place of.
const MADE_UP: [&str; 4] = ["devices", "types", "payload_mbit", "work_gflop"];

/// Of several values for one key the last counts: `--set` comes after the file.
pub(super) fn resolve(mut given: Vec<Entry>, file: &str, folder: &Path) -> Result<Scenario, ScenarioError> {
    let whole_file = Place::File { file: file.to_owned(), line: None };
    given.iter().try_for_each(check_section)?;
    let task = task(&given, &whole_file)?;
    for entry in &given {
        check_key(entry, task)?;
    }
    one_fleet(&mut given)?;

    let entry_of = |key: &Key| given.iter().rev().find(|entry| key.is(&entry.section, &entry.key));
    let set = |scenario: &mut Scenario, keys: Vec<&Key>| -> Result<(), KeyError> {
        for key in keys {
            let Some(entry) = entry_of(key) else { continue };
            let value = Given { value: &entry.value, folder };
            key.set(scenario, &value).map_err(|refusal| refusal.at(entry.place.clone(), &key.path()))?;
        }
        Ok(())
    };
    let (deciding, others): (Vec<&Key>, Vec<&Key>) =
        keys::all().partition(|key| key.section == "task" || key.is("plan", "scheme"));
    let mut scenario = Scenario::paper(task)?;
    set(&mut scenario, deciding)?;
    scenario.follow_scheme();
    set(&mut scenario, others)?;
    let is_given =
        |section: &str, name: &str| given.iter().any(|entry| entry.section == section && entry.key == name);
    let times_are_given =
        matches!(scenario.fleet, FleetSource::File { .. }) || is_given("fleet", "payload_mbit");
    if times_are_given && !is_given("update", "encoding") {
        // Fewer bits would be rounded for nothing: no upload gets shorter.
        scenario.update = Update::paper();
    }

    if scenario.plan.scheme == Scheme::Auto {
        // What there is of [server] is known by now.
        if !is_given("plan", "noise") {
            scenario.plan.noise = scenario.follows_noise();
        }
        if !is_given("plan", "quiet_noise") {
            scenario.plan.quiet_noise = scenario.follows_quiet_noise();
        }
    }
    if scenario.plan.quiet_noise.is_none() {
        scenario.plan.quiet_every = defaults::QUIET_EVERY;
    }

    check_server(&scenario, &given, &whole_file)?;

    let (task, train, update) = (scenario.task, scenario.train, scenario.update);
    if let FleetSource::MadeUp(made_up) = &mut scenario.fleet {
        if !is_given("fleet", "payload_mbit") {
            made_up.payload = defaults::payload(task, update).map_err(|error| follows(error, &whole_file))?;
        }
        if !is_given("fleet", "work_gflop") {
            made_up.work = defaults::work(task, train).map_err(|error| follows(error, &whole_file))?;
        }
        made_up.hardware().checked().map_err(|error| times_out_of_range(&error, &given, whole_file))?;
    }
    Ok(scenario)
}

/// Running means and variances of batch norm are no parameters that anything is learnt of: only plain sums of their
/// changes are means and variances again.
fn check_server(scenario: &Scenario, given: &[Entry], whole_file: &Place) -> Result<(), KeyError> {
    if scenario.server.kind == Kind::None || !scenario.task.has_running_statistics() {
        return Ok(());
    }
    let entry = given.iter().rev().find(|entry| entry.section == "server" && entry.key == "optimiser");
    let refusal = Refusal {
        problem: "does not go with task.norm = \"batch\", whose running variances it would drive below 0"
            .to_owned(),
        hint: "take task.norm = \"group\", or leave the optimiser out".to_owned(),
    };
    Err(refusal.at(entry.map_or(whole_file.clone(), |entry| entry.place.clone()), "server.optimiser"))
}

fn refuse(entry: &Entry, problem: String, hint: String) -> KeyError {
    KeyError { place: entry.place.clone(), problem, hint }
}

fn task(given: &[Entry], whole_file: &Place) -> Result<Task, KeyError> {
    match given.iter().rev().find(|entry| entry.section == "task" && entry.key == "name") {
        Some(entry) => {
            let value = Given { value: &entry.value, folder: Path::new("") };
            keys::task_of(&value).map_err(|refusal| refusal.at(entry.place.clone(), "task.name"))
        }
        None => Err(KeyError {
            place: whole_file.clone(),
            problem: "the task is missing".to_owned(),
            hint: format!(
                "write a heading [task] and below it name = NAME; the tasks are {}",
                Task::names().collect::<Vec<_>>().join(", ")
            ),
        }),
    }
}

/// The section exists, and is not itself given a value.
fn check_section(entry: &Entry) -> Result<(), KeyError> {
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

/// The key exists in its section, and this task has it.
fn check_key(entry: &Entry, task: Task) -> Result<(), KeyError> {
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
    // Most wrong keys are right ones in the wrong place, or misspelt.
    if let Some(key) = keys::all().find(|key| key.name == name && key.is_of(task)) {
        return Err(refuse(entry, problem, format!("it belongs {}", key.whereabouts())));
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

/// A fleet is read or made up. `--set` of the one takes back what the file says of the other.
fn one_fleet(given: &mut Vec<Entry>) -> Result<(), KeyError> {
    let is_file = |entry: &Entry| entry.section == "fleet" && entry.key == "file";
    let is_made_up = |entry: &Entry| entry.section == "fleet" && MADE_UP.contains(&entry.key.as_str());
    let is_set = |entry: &Entry| matches!(entry.place, Place::Flag(_));
    let file_set = given.iter().any(|entry| is_set(entry) && is_file(entry));
    let made_up_set = given.iter().any(|entry| is_set(entry) && is_made_up(entry));
    given.retain(|entry| is_set(entry) || !(file_set && is_made_up(entry) || made_up_set && is_file(entry)));
    if !given.iter().any(is_file) {
        return Ok(());
    }
    match given.iter().find(|entry| is_made_up(entry)) {
        Some(entry) => Err(refuse(
            entry,
            format!("fleet.{} stands beside fleet.file", entry.key),
            "leave out one of the two: a fleet file brings its own devices and their times".to_owned(),
        )),
        None => Ok(()),
    }
}

/// A default that follows from other values and cannot be.
fn follows(error: ScenarioError, whole_file: &Place) -> ScenarioError {
    let ScenarioError::OutOfRange { key, value, wanted } = error else { return error };
    let refusal = Refusal {
        problem: format!("{}, which follows from [task] and [train], is out of range", plain(value)),
        hint: format!("it must be {wanted}: set it, or lower train.batch or train.iterations"),
    };
    refusal.at(whole_file.clone(), key).into()
}

/// What the fleet's recipe says, in the words of a scenario.
fn times_out_of_range(error: &FleetError, given: &[Entry], whole_file: Place) -> ScenarioError {
    let FleetError::Recipe { what, problem, .. } = error else { return error.clone().into() };
    let name = if *what == "payload-mbit" { "payload_mbit" } else { "work_gflop" };
    let entry = given.iter().rev().find(|entry| entry.section == "fleet" && entry.key == name);
    let refusal = Refusal {
        problem: format!("as a time, {problem}"),
        hint: "a device computes and sends for 0 to 1e9 seconds in a round (and, if not 0, at least 1e-9)"
            .to_owned(),
    };
    refusal.at(entry.map_or(whole_file, |entry| entry.place.clone()), &format!("fleet.{name}")).into()
}
