//! The keys of `[data]`.

use fedflip_learn::partition::Dirichlet;
use fedflip_learn::task::{Sharing, Task, TaskSettings};

use super::{Key, key};
use crate::Scenario;
use crate::error::Refusal;
use crate::value::{Given, Value};

/// Made-up data are each device's own already: there is nothing to share.
const SHARED: &[&str] = &["mnist-cnn", "fashion-cnn", "cifar10-mobilenet", "shakespeare-lstm"];

pub(super) static KEYS: &[Key] = &[
    key(
        "data",
        "seed",
        "seed of synthetic data, and of the partition",
        |s| Some(Value::seed(s.data.seed)),
        |s, v| v.seed().map(|seed| s.data.seed = seed),
    ),
    key(
        "data",
        "sharing",
        "partition: \"dirichlet\", \"iid\" or, for plays, \"by-role\"",
        |s| {
            let name = match s.data.sharing {
                Sharing::Dirichlet(_) => "dirichlet",
                Sharing::Iid => "iid",
                Sharing::ByRole => "by-role",
            };
            Some(Value::text(name))
        },
        set_sharing,
    )
    .only(SHARED),
    key(
        "data",
        "concentration",
        "α of dirichlet: small values are skewed",
        |s| dirichlet(s).map(|recipe| Value::Number(recipe.concentration)),
        |s, v| {
            let given = v.number(1e-3..=1e6, "a number from 1e-3 to 1e6")?;
            if let Sharing::Dirichlet(recipe) = &mut s.data.sharing {
                recipe.concentration = given;
            }
            Ok(())
        },
    )
    .only(SHARED),
    key(
        "data",
        "min_samples",
        "of dirichlet: the fewest samples of a device",
        |s| dirichlet(s).map(|recipe| Value::count(recipe.min_samples)),
        |s, v| {
            let given = v.count(1..=1_000_000)?;
            if let Sharing::Dirichlet(recipe) = &mut s.data.sharing {
                recipe.min_samples = given;
            }
            Ok(())
        },
    )
    .only(SHARED),
    key(
        "data",
        "test_samples_max",
        "the most test samples per evaluation",
        |s| Some(Value::count(s.data.test_samples_max)),
        |s, v| v.count(1..=1_000_000).map(|count| s.data.test_samples_max = count),
    ),
];

fn dirichlet(scenario: &Scenario) -> Option<Dirichlet> {
    if let Sharing::Dirichlet(recipe) = scenario.data.sharing { Some(recipe) } else { None }
}

/// Keeps the defaults of `dirichlet` for the keys that follow.
fn set_sharing(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let dirichlet = TaskSettings::paper(s.task, 1).sharing;
    let choices = [("dirichlet", dirichlet), ("iid", Sharing::Iid), ("by-role", Sharing::ByRole)];
    if s.task == Task::ShakespeareLstm {
        s.data.sharing = v.choice(&choices)?;
        return Ok(());
    }
    if matches!(v.value, Value::Text(text) if text == "by-role") {
        let problem = format!("is for shakespeare-lstm: {} has no roles", s.task.name());
        return Err(v.refuse(&problem, "\"dirichlet\" or \"iid\""));
    }
    s.data.sharing = v.choice(&choices[..2])?;
    Ok(())
}
