//! Every key of a scenario: what it is called, what it means, how it gets in and out.
//!
//! The commented file that `fedflip scenario new` prints, what is stored with a run, the checks of what is
//! read, and the table in `docs/scenario.md` all come from here. Defaults are those of [`Scenario::of`].

//!
//! # Layout
//!
//! - here: sections, what a key is, and all of them in a row.
//! - `task`, `data`, `fleet`, `update`, `server`: the keys of these sections; `run`: those of the others.

mod data;
mod fleet;
mod run;
mod server;
mod task;
mod update;

use fedflip_learn::task::{Param, Task, TaskRow};

use super::Scenario;
use super::error::Refusal;
use super::value::{Given, Value};
pub(super) use task::task_of;

/// The sections in their order, and what each is about.
pub(super) const SECTIONS: [(&str, &str); 13] = [
    ("", "Of everything that chance decides, but for the data"),
    ("task", "What is learnt, and by which network"),
    ("data", "What devices learn from"),
    ("fleet", "Devices and their times, and the band they share"),
    ("train", "What a device does in a round"),
    (
        "update",
        "How a device sends what it has learnt: under auto as is best for the task, else as in the paper",
    ),
    ("server", "What the server does with the sum of the updates: likewise"),
    (
        "plan",
        "How often each device takes part; auto brings a noise, quiet rounds, [update] and [server] of its own",
    ),
    ("pilot", "How α and β are measured: rounds to the loss F_s with q = 1/N and with q = 1"),
    ("round", "What a round is like, whoever takes part"),
    ("world", "How the simulated world departs from the fleet's numbers"),
    ("stop", "When a run ends: whatever comes first"),
    ("record", "What is kept on the way"),
];

type Get = fn(&Scenario) -> Option<Value>;
type Set = fn(&mut Scenario, &Given<'_>) -> Result<(), Refusal>;

/// A key.
pub(super) struct Key {
    pub section: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    /// Whether a task has the key; the second argument is the key's name.
    applies: fn(&TaskRow, &str) -> bool,
    pub shown: Shown,
    /// A key that came later: with this value the canonical text is as it was before there was the key, so that
    /// folders of then go on. Under `auto` what it brings stays: there it is not the default.
    pub left_out_at: Option<&'static str>,
    access: Access,
}

/// How a key's value gets in and out.
enum Access {
    /// Of a field of the scenario.
    Field(Get, Set),
    /// Of a parameter of the task.
    Param(&'static Param),
}

/// How a key stands in a new scenario.
pub(super) enum Shown {
    /// With its default.
    Set,
    /// Commented out with its default, which follows from others: written down, it would stay behind them.
    Follows,
    /// The same where there is a default, and otherwise an example.
    FollowsOr(&'static str),
    /// Commented out with an example: there is no default.
    Example(&'static str),
}

const fn key(section: &'static str, name: &'static str, about: &'static str, get: Get, set: Set) -> Key {
    let access = Access::Field(get, set);
    Key { section, name, about, applies: |_, _| true, shown: Shown::Set, left_out_at: None, access }
}

impl Key {
    const fn only(self, applies: fn(&TaskRow, &str) -> bool) -> Self {
        Self { applies, ..self }
    }

    const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    const fn left_out_at(self, value: &'static str) -> Self {
        Self { left_out_at: Some(value), ..self }
    }

    /// Whether `auto` has a default of its own for it.
    pub(super) fn is_brought(&self) -> bool {
        let of_plan = ["noise", "quiet_noise", "quiet_every"];
        let of_sections = matches!(self.section, "server" | "update") && self.name != "update_norm_max";
        of_sections || of_plan.iter().any(|name| self.is("plan", name))
    }

    /// `train.batch`, and `seed` for what stands above all sections.
    pub(super) fn path(&self) -> String {
        if self.section.is_empty() { self.name.to_owned() } else { format!("{}.{}", self.section, self.name) }
    }

    pub(super) fn is(&self, section: &str, name: &str) -> bool {
        self.section == section && self.name == name
    }

    pub(super) fn is_of(&self, task: Task) -> bool {
        (self.applies)(task.row(), self.name)
    }

    /// The names of the tasks that have the key.
    pub(super) fn tasks(&self) -> Vec<&'static str> {
        Task::all().filter(|task| self.is_of(*task)).map(|task| task.name()).collect()
    }

    /// None if the key is not set, or does not matter beside others.
    pub(super) fn get(&self, scenario: &Scenario) -> Option<Value> {
        match self.access {
            Access::Field(get, _) => get(scenario),
            Access::Param(param) => task::get(param, scenario),
        }
    }

    pub(super) fn set(&self, scenario: &mut Scenario, value: &Given<'_>) -> Result<(), Refusal> {
        match self.access {
            Access::Field(_, set) => set(scenario, value),
            Access::Param(param) => task::set(param, scenario, value),
        }
    }

    /// Where it belongs.
    pub(super) fn whereabouts(&self) -> String {
        if self.section.is_empty() {
            "above all sections".to_owned()
        } else {
            format!("in [{}]", self.section)
        }
    }
}

/// All keys, section by section.
pub(super) fn all() -> impl Iterator<Item = &'static Key> + Clone {
    let sections = [task::KEYS.as_slice(), data::KEYS, fleet::KEYS, update::KEYS, server::KEYS];
    [run::SEED].into_iter().chain(sections).chain([run::KEYS]).flatten()
}

/// The keys of a section that a task has.
pub(super) fn of(section: &str, task: Task) -> impl Iterator<Item = &'static Key> + Clone {
    all().filter(move |key| key.section == section && key.is_of(task))
}

/// What a choice is called.
fn name_of<T: PartialEq>(choices: &[(&'static str, T)], choice: &T) -> Option<Value> {
    choices.iter().find(|(_, known)| known == choice).map(|(name, _)| Value::text(*name))
}
