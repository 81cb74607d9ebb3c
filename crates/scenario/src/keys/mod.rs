//! Every key of a scenario: what it is called, what it means, how it gets in and out.
//!
//! The commented file that `fedflip scenario new` prints, what is stored with a run, the checks of what is
//! read, and the table in `docs/reference/scenario.md` all come from here. Defaults are those of [`Scenario::new`].

//!
//! # Layout
//!
//! - here: sections, what a key is, and all of them in a row.
//! - one file for the keys of a section, or of two: `top`, `task`, `external`, `data`, `own` (files in `[data]`), `evaluate`,
//!   `fleet`, `train`, `update`, `server`, `plan`,
//!   `round`, `costs` (what a round costs, in several sections), `stop`.

mod costs;
mod data;
mod evaluate;
mod external;
mod fleet;
mod own;
mod plan;
mod round;
mod server;
mod stop;
mod task;
mod top;
mod train;
mod update;

use fedflip_learn::task::{Param, Task, TaskRow};

use super::Scenario;
use super::error::Refusal;
use super::value::{Given, Value};
pub(super) use task::{task_of, value_of};

/// The sections in their order, and what each is about.
pub(super) const SECTIONS: [(&str, &str); 15] = [
    ("", "Settings of the whole scenario"),
    ("task", "The model and the data it learns from"),
    ("data", "How the data are shared among devices"),
    ("evaluate", "Where models are evaluated, and on which samples"),
    ("fleet", "The devices, their times, and the bandwidth they share"),
    ("train", "Local training on a device"),
    ("update", "How a device encodes its update"),
    ("server", "How the server turns the sum of the updates into the next model"),
    ("plan", "The participation probability of each device"),
    ("pilot", "How α and β are measured: rounds to the loss F_s with q = 1/N and with q = 1"),
    ("round", "Bandwidth, aggregation and time limits of a round"),
    ("downlink", "Downloads of the model, where round.downlink is not \"none\""),
    ("world", "How the simulated world departs from the fleet's numbers"),
    ("stop", "When a run ends: whichever comes first"),
    ("record", "When models are evaluated and checkpoints are written"),
];

type Get = fn(&Scenario) -> Option<Value>;
type Set = fn(&mut Scenario, &Given<'_>) -> Result<(), Refusal>;

/// A key of a scenario: its name, comment, default, reader and printer.
pub(super) struct Key {
    pub section: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    /// Whether a task has the key; the second argument is the key's name.
    applies: fn(&TaskRow, &str) -> bool,
    pub shown: Shown,
    /// Whether real devices have no use for it.
    pub simulated: bool,
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
    /// The line is printed with its default.
    Set,
    /// Commented out with its default, which follows from others: written down, it would stay behind them.
    Follows,
    /// The same where there is a default, and otherwise an example.
    FollowsOr(&'static str),
    /// Commented out with an example: there is no default.
    Example(&'static str),
    /// Not at all: it stands for other keys.
    Shorthand,
    /// Not at all: only stored scenarios have it.
    Hidden,
}

const fn key(section: &'static str, name: &'static str, about: &'static str, get: Get, set: Set) -> Key {
    let access = Access::Field(get, set);
    Key { section, name, about, applies: |_, _| true, shown: Shown::Set, simulated: false, access }
}

impl Key {
    const fn only(self, applies: fn(&TaskRow, &str) -> bool) -> Self {
        Self { applies, ..self }
    }

    const fn shown(self, shown: Shown) -> Self {
        Self { shown, ..self }
    }

    const fn simulated(self) -> Self {
        Self { simulated: true, ..self }
    }

    /// Whether the default follows from other values.
    pub(super) fn follows(&self) -> bool {
        matches!(self.shown, Shown::Follows | Shown::FollowsOr(_))
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
        let all = Task::all().chain([Task::external()]);
        all.filter(|task| self.is_of(*task)).map(|task| task.name()).collect()
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

    /// Whether a scenario holds it: the others expand to those.
    pub(super) fn is_kept(&self) -> bool {
        !matches!(self.shown, Shown::Shorthand) && !self.is("", "preset")
    }

    /// The section of the key, in words for a message.
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
    [
        top::KEYS,
        task::KEYS.as_slice(),
        external::KEYS,
        data::KEYS,
        own::KEYS,
        evaluate::KEYS,
        fleet::KEYS,
        train::KEYS,
        update::KEYS,
        server::KEYS,
        plan::KEYS,
        round::KEYS,
        costs::KEYS,
        stop::KEYS,
    ]
    .into_iter()
    .flatten()
}

/// The keys of a section that a task has.
pub(super) fn of(section: &str, task: Task) -> impl Iterator<Item = &'static Key> + Clone {
    all().filter(move |key| key.section == section && key.is_of(task))
}

/// The most rounds of anything.
const ROUNDS_MAX: u64 = 1_000_000_000;

fn loss(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(1e-9..=1e15, "a number above 0 (from 1e-9 to 1e15)")
}

/// A share below 1, such as a momentum.
fn share(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(0.0..=0.999_999, "a number from 0 to below 1 (to 0.999999)")
}

/// What a choice is called.
fn name_of<T: PartialEq>(choices: &[(&'static str, T)], choice: &T) -> Option<Value> {
    choices.iter().find(|(_, known)| known == choice).map(|(name, _)| Value::text(*name))
}
