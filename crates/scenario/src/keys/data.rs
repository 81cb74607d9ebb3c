//! The keys of `[data]`.

use std::sync::Arc;

use fedflip_fleet::{GivenWeights, Weights};
use fedflip_learn::partition::Dirichlet;
use fedflip_learn::task::{Sharing, Task, TaskRow};

use super::external::is_trained_here;
use super::{Key, Shown, key};
use crate::Scenario;
use crate::error::Refusal;
use crate::value::{Given, Value, either};

/// Whether there is anything to share: every device generates its own synthetic data.
fn is_shared(row: &TaskRow, _key: &str) -> bool {
    !row.sharings.is_empty()
}

pub(super) static KEYS: &[Key] = &[
    key(
        "data",
        "seed",
        "seed of synthetic data, and of the partition",
        |s| Some(Value::seed(s.data.seed)),
        |s, v| v.seed().map(|seed| s.data.seed = seed),
    )
    .only(is_trained_here),
    key(
        "data",
        "sharing",
        "sharing: \"dirichlet\", \"iid\", \"by-role\", \"by-device\" or \"fleet\"",
        |s| Some(Value::text(s.data.sharing.name())),
        set_sharing,
    )
    .only(is_shared),
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
    .only(is_shared),
    key(
        "data",
        "min_samples",
        "for dirichlet: the fewest samples of a device",
        |s| dirichlet(s).map(|recipe| Value::count(recipe.min_samples)),
        |s, v| {
            let given = v.count(1..=1_000_000)?;
            if let Sharing::Dirichlet(recipe) = &mut s.data.sharing {
                recipe.min_samples = given;
            }
            Ok(())
        },
    )
    .only(is_shared),
    key(
        "data",
        "validation",
        "share of training samples to evaluate on until the end of the run",
        |s| Some(Value::Number(s.data.validation)),
        |s, v| v.number(0.0..=0.9, "a share from 0 to 0.9").map(|share| s.data.validation = share),
    )
    .only(is_shared),
    key(
        "data",
        "test_samples_max",
        "the most test samples per evaluation",
        |s| Some(Value::count(s.data.test_samples_max)),
        |s, v| v.count(1..=1_000_000).map(|count| s.data.test_samples_max = count),
    )
    .only(is_trained_here),
    key(
        "data",
        "weights",
        "weights: \"samples\" (default), \"equal\" or a CSV file device,weight",
        |s| match &s.data.weights {
            Weights::Samples => None,
            Weights::Equal => Some(Value::text(EQUAL)),
            Weights::Given(given) => Some(Value::text(&given.name)),
        },
        set_weights,
    )
    .shown(Shown::Example("\"equal\"")),
];

const SAMPLES: &str = "samples";
const EQUAL: &str = "equal";

/// A file is read here and now, so that a scenario with a damaged one is refused.
fn set_weights(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    s.data.weights = match v.text("\"samples\", \"equal\", or the name of a CSV file")? {
        SAMPLES => Weights::Samples,
        EQUAL => Weights::Equal,
        name => {
            let path = v.folder.join(name);
            let file = path.display().to_string();
            let text = std::fs::read(&path).map_err(|error| Refusal {
                problem: format!("{file} cannot be read: {error}"),
                hint:
                    "write \"samples\", \"equal\", or the name of a CSV file with the columns device,weight"
                        .to_owned(),
            })?;
            let given = GivenWeights::read(text, name, &file)
                .map_err(|error| Refusal { problem: error.to_string(), hint: error.hint() })?;
            Weights::Given(given)
        }
    };
    Ok(())
}

fn dirichlet(scenario: &Scenario) -> Option<Dirichlet> {
    if let Sharing::Dirichlet(recipe) = scenario.data.sharing { Some(recipe) } else { None }
}

/// Keeps the defaults of `dirichlet` for the keys that follow.
fn set_sharing(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    // The counts of "fleet" are those of the fleet file, which comes later.
    let all =
        [Sharing::paper(), Sharing::Iid, Sharing::ByRole, Sharing::ByDevice, Sharing::Fleet(Arc::default())]
            .map(|sharing| (sharing.name(), sharing));
    let known = s.task.row().sharings;
    let asked = all.iter().find(|(name, _)| *v.value == Value::text(*name));
    if let Some((asked, _)) = asked
        && !known.contains(asked)
    {
        let others = Task::all().filter(|task| task.row().sharings.contains(asked));
        let others: Vec<&str> = others.map(|task| task.name()).collect();
        let problem = format!("is for {}, and the task is {}", others.join(" and "), s.task.name());
        return Err(v.refuse(&problem, &either(known.iter().copied())));
    }
    let choices: Vec<(&str, &Sharing)> =
        all.iter().filter(|(name, _)| known.contains(name)).map(|(name, sharing)| (*name, sharing)).collect();
    s.data.sharing = v.choice(&choices)?.clone();
    Ok(())
}
