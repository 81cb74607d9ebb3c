//! The keys of `[task]` for a first model from a file, and for tasks that programs on devices train.

use std::sync::Arc;

use fedflip_learn::task::TaskRow;

use super::{Key, Shown, key};
use crate::Scenario;
use crate::error::Refusal;
use crate::initial::InitialModel;
use crate::value::{Given, Value};

/// Whether fedflip trains and evaluates the task itself.
pub(super) fn is_trained_here(row: &TaskRow, _key: &str) -> bool {
    !row.is_external()
}

pub(super) static KEYS: &[Key] = &[
    key(
        "task",
        "initial",
        "a safetensors file with the first model; otherwise the seed makes it",
        |s| s.initial.as_ref().map(|initial| Value::text(initial.name.as_str())),
        set_initial,
    )
    .shown(Shown::Example("\"init.safetensors\"")),
    key(
        "task",
        "initial_sha256",
        "the digest of that file; one with another digest is refused",
        |s| s.initial.as_ref().map(|initial| Value::text(initial.sha256.as_str())),
        check_digest,
    )
    .shown(Shown::Hidden),
    key(
        "task",
        "settings",
        "a table of any TOML, which devices are told; often a heading [task.settings]",
        |s| (!s.external_settings.is_empty()).then(|| Value::Table(s.external_settings.clone())),
        |s, v| match v.value {
            Value::Table(table) => {
                s.external_settings.clone_from(table);
                Ok(())
            }
            _ => Err(v.refuse("is no table", "a table, such as { learning_rate = 0.1 }")),
        },
    )
    .only(|row, _| row.is_external())
    .shown(Shown::Example("{ learning_rate = 0.1 }")),
];

fn set_initial(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let name = v.text("the name of a safetensors file, from the scenario's folder")?;
    s.initial = Some(match &v.memory.initial {
        Some(initial) => Arc::clone(initial),
        None => Arc::new(InitialModel::read(&v.folder.join(name), name)?),
    });
    Ok(())
}

/// A stored scenario has the digest, so that a run does not continue with another file.
fn check_digest(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let digest = v.text("64 hexadecimal digits, beside task.initial")?;
    match &s.initial {
        Some(initial) if initial.sha256 == digest => Ok(()),
        Some(initial) => {
            let problem = format!("is not the digest of {}, which is {}", initial.name, initial.sha256);
            Err(v.refuse(&problem, "the digest of the file, or left out"))
        }
        None => Err(v.refuse("is given without task.initial", "left out, or beside task.initial")),
    }
}
