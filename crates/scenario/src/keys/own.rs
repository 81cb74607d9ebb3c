//! The keys of `[data]` for samples of the user's own: files, and the numbers that normalise them.

use fedflip_learn::task::{Source, Task, TaskRow};

use super::{Key, Shown, key};
use crate::Scenario;
use crate::error::Refusal;
use crate::sections::{OwnFiles, Where};
use crate::value::{Given, Value};

/// The most means or deviations: one for every feature of a wide table.
const NUMBERS_MAX: usize = 1 << 16;

const PLACES: [(&str, Where); 2] = [("here", Where::Here), ("devices", Where::Devices)];

pub(super) fn has_files(row: &TaskRow, _key: &str) -> bool {
    Task::all().any(|task| task.row().name == row.name && matches!(task.source(), Source::Own))
}

pub(super) static KEYS: &[Key] = &[
    key(
        "data",
        "train",
        "files of training samples: .npz, .safetensors, .parquet, .csv or .txt",
        |s| files(&s.data.own.train),
        |s, v| names(s, v).map(|names| s.data.own.train = names),
    )
    .only(has_files)
    .shown(Shown::FollowsOr("\"train.npz\"")),
    key(
        "data",
        "test",
        "files of test samples; a list may name several, * stands for anything",
        |s| files(&s.data.own.test),
        |s, v| names(s, v).map(|names| s.data.own.test = names),
    )
    .only(has_files)
    .shown(Shown::FollowsOr("\"test.npz\"")),
    key(
        "data",
        "where",
        "where training samples are: \"here\", or on \"devices\", which keep them",
        |s| super::name_of(&PLACES, &s.data.own.place),
        |s, v| v.choice(&PLACES).map(|place| s.data.own.place = place),
    )
    .only(has_files),
    key(
        "data",
        "mean",
        "subtracted from values: one number, one per channel or one per feature",
        |s| numbers(&s.data.own.mean),
        |s, v| v.numbers(-1e30..=1e30, NUMBERS_MAX).map(|mean| s.data.own.mean = mean),
    )
    .only(has_files)
    .shown(Shown::FollowsOr("[0.5]")),
    key(
        "data",
        "std",
        "divides values after that, in the same way",
        |s| numbers(&s.data.own.std),
        |s, v| v.numbers(1e-30..=1e30, NUMBERS_MAX).map(|std| s.data.own.std = std),
    )
    .only(has_files)
    .shown(Shown::FollowsOr("[0.25]")),
];

fn files(names: &[String]) -> Option<Value> {
    match names {
        [] => None,
        [one] => Some(Value::text(one)),
        many => Some(Value::List(many.iter().map(Value::text).collect())),
    }
}

fn numbers(numbers: &[f64]) -> Option<Value> {
    (!numbers.is_empty()).then(|| Value::List(numbers.iter().copied().map(Value::Number).collect()))
}

/// Names are kept as they are written; the folder from which they start is kept beside them.
fn names(s: &mut Scenario, v: &Given<'_>) -> Result<Vec<String>, Refusal> {
    s.data.own = OwnFiles { folder: v.folder.to_owned(), ..std::mem::take(&mut s.data.own) };
    v.texts("the name of a file, or a list of names")
}
