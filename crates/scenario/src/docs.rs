//! The table of keys in `docs/reference/scenario.md`, held against the keys themselves.

use std::path::PathBuf;

use fedflip_learn::task::{ParamValue, Task};

use super::keys::{self, Key, SECTIONS, Shown};
use super::value::{Given, Value};
use super::{Preset, Scenario};

const START: &str = "<!-- keys: made by the tests of crates/scenario/src/docs.rs -->\n";
const END: &str = "<!-- end of keys -->\n";

fn tasks_of(key: &'static Key) -> impl Iterator<Item = Task> {
    let own = Task::all().filter(|&task| key.is_of(task));
    // What no task of the table has is for the external one.
    let external = own.clone().next().is_none().then(Task::external);
    own.chain(external)
}

/// An external task has no scenario without a file.
fn scenario_of(task: Task) -> Scenario {
    match task.is_external() {
        true => Scenario::paper(task).unwrap(),
        false => Scenario::new(task, Preset::Tuned).unwrap(),
    }
}

/// What it takes: what it says to a value that no key takes.
fn wanted(key: &'static Key) -> String {
    by_task(key, |task| {
        let mut scenario = scenario_of(task);
        // With more than five classes a task has all of its metrics.
        if scenario.task.row().has_param("classes") {
            scenario.task.set("classes", ParamValue::Count(10)).unwrap();
        }
        let given = Given::plain(&Value::Foreign("a date"));
        let refusal = key.set(&mut scenario, &given).unwrap_err();
        refusal.hint.strip_prefix("it must be ").unwrap().to_owned()
    })
}

/// `0.01`, or where tasks differ `0.01; 0.8 (shakespeare-lstm)`.
fn default(key: &'static Key) -> String {
    if key.path() == "task.name" {
        return "must be given".to_owned();
    }
    if matches!(key.shown, Shown::Example(_) | Shown::Shorthand | Shown::Hidden) {
        return "not set".to_owned();
    }
    let values = by_task(key, |task| {
        let value = key.get(&scenario_of(task));
        value.map_or_else(|| "not set".to_owned(), |value| format!("`{value}`"))
    });
    let follows = if matches!(key.shown, Shown::Follows | Shown::FollowsOr(_)) { "follows: " } else { "" };
    format!("{follows}{values}")
}

/// What most tasks have first; where tasks differ, the others with their names.
fn by_task(key: &'static Key, text: impl Fn(Task) -> String) -> String {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for task in tasks_of(key) {
        let value = text(task);
        match groups.iter_mut().find(|(known, _)| *known == value) {
            Some((_, tasks)) => tasks.push(task.name()),
            None => groups.push((value, vec![task.name()])),
        }
    }
    let most = groups.iter().map(|(_, tasks)| tasks.len()).max().unwrap();
    groups.sort_by_key(|(_, tasks)| tasks.len() < most);
    let is_common = |tasks: &[&str]| tasks.len() == most && most > 1;
    let texts = groups.iter().enumerate().map(|(position, (value, tasks))| {
        if groups.len() == 1 || position == 0 && is_common(tasks) {
            value.clone()
        } else {
            format!("{value} ({})", tasks.join(", "))
        }
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Which tasks have it, unless all do.
fn only(key: &Key) -> String {
    let tasks = key.tasks();
    let others: Vec<&str> = Task::names().filter(|name| !tasks.contains(name)).collect();
    match (tasks.len(), others.len()) {
        (_, 0) => String::new(),
        (have, lack) if lack < have => format!(" (not {})", others.join(", ")),
        _ => format!(" ({})", tasks.join(", ")),
    }
}

fn tables() -> String {
    let mut text = String::new();
    for (section, about) in SECTIONS {
        let title =
            if section.is_empty() { "Above all sections".to_owned() } else { format!("`[{section}]`") };
        text += &format!(
            "\n### {title}\n\n{about}.\n\n| key | default | may be | meaning |\n|---|---|---|---|\n"
        );
        for key in keys::all().filter(|key| key.section == section) {
            let only = only(key);
            let (default, wanted) = (default(key), wanted(key));
            text += &format!("| `{}`{only} | {default} | {wanted} | {} |\n", key.name, key.about);
        }
    }
    text + "\n"
}

#[test]
fn the_tables_are_those_of_the_keys() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/scenario.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).expect("the start of the tables");
    let (tables_there, after) = rest.split_once(END).expect("the end of the tables");
    let right = tables();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&path, format!("{before}{START}{right}{END}{after}")).unwrap();
    } else {
        let say =
            "docs/reference/scenario.md is behind: INSTA_UPDATE=always cargo nextest run -p fedflip-scenario";
        assert_eq!(tables_there, right, "{say}");
    }
}

/// A comment and its key fit on a line of the commented file.
#[test]
fn comments_are_short() {
    for task in Task::all() {
        for line in Scenario::template(task, Preset::Tuned).unwrap().lines() {
            assert!(line.chars().count() <= 110, "{line}");
        }
    }
}
