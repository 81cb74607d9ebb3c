//! The keys of `[data]` for samples of the user's own: files, and the numbers that normalise them.

use std::collections::BTreeSet;

use fedflip_learn::own::check_alphabet;
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
        "divides the values afterwards, in the same way",
        |s| numbers(&s.data.own.std),
        |s, v| v.numbers(1e-30..=1e30, NUMBERS_MAX).map(|std| s.data.own.std = std),
    )
    .only(has_files)
    .shown(Shown::FollowsOr("[0.25]")),
    key(
        "task",
        "columns",
        "the names of a table's features, in the order of the network's inputs",
        |s| columns(&s.data.own.columns),
        set_columns,
    )
    .only(has_files)
    .shown(Shown::FollowsOr("[\"age\", \"pulse\"]")),
    key(
        "task",
        "alphabet",
        "the characters of texts; without it, 80 symbols for English",
        |s| (!s.data.own.alphabet.is_empty()).then(|| Value::text(s.data.own.alphabet.as_str())),
        set_alphabet,
    )
    .only(has_files)
    .shown(Shown::FollowsOr("\"eta oin\"")),
    key(
        "data",
        "train_digest",
        "the digest of the training samples; other samples are refused",
        |s| s.data.own.digests.train.as_deref().map(Value::text),
        |s, v| digest(v).map(|digest| s.data.own.digests.train = Some(digest)),
    )
    .only(has_files)
    .shown(Shown::Hidden),
    key(
        "data",
        "test_digest",
        "the digest of the test samples; other samples are refused",
        |s| s.data.own.digests.test.as_deref().map(Value::text),
        |s, v| digest(v).map(|digest| s.data.own.digests.test = Some(digest)),
    )
    .only(has_files)
    .shown(Shown::Hidden),
];

/// As a list, however few there are.
fn columns(names: &[String]) -> Option<Value> {
    (!names.is_empty()).then(|| Value::List(names.iter().map(Value::text).collect()))
}

fn set_columns(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let wanted = "a list of names, each once";
    let names = v.texts(wanted)?;
    let known: BTreeSet<&String> = names.iter().collect();
    if known.len() < names.len() {
        return Err(v.refuse("names a column twice", wanted));
    }
    if names.len() > NUMBERS_MAX {
        return Err(v.refuse(&format!("has {} names", names.len()), &format!("at most {NUMBERS_MAX} names")));
    }
    s.data.own.columns = names;
    Ok(())
}

fn set_alphabet(s: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let wanted = "a text of at most 255 characters, each once";
    let listed = v.text(wanted)?;
    check_alphabet(listed).map_err(|_| v.refuse("repeats a character, or has too many", wanted))?;
    listed.clone_into(&mut s.data.own.alphabet);
    Ok(())
}

fn digest(v: &Given<'_>) -> Result<String, Refusal> {
    let wanted = "32 hexadecimal digits, as a run stores them";
    let digest = v.text(wanted)?;
    let is_digest = digest.len() == 32 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_digest { Ok(digest.to_owned()) } else { Err(v.refuse("is not a digest", wanted)) }
}

fn files(names: &[String]) -> Option<Value> {
    match names {
        [] => None,
        [one] => Some(Value::text(one)),
        many => Some(Value::List(many.iter().map(Value::text).collect())),
    }
}

pub(super) fn numbers(numbers: &[f64]) -> Option<Value> {
    (!numbers.is_empty()).then(|| Value::List(numbers.iter().copied().map(Value::Number).collect()))
}

/// Names are kept as they are written; the folder from which they start is kept beside them.
fn names(s: &mut Scenario, v: &Given<'_>) -> Result<Vec<String>, Refusal> {
    s.data.own = OwnFiles { folder: v.folder.to_owned(), ..std::mem::take(&mut s.data.own) };
    let wanted = "the name of a file, or a list of names";
    let names = v.texts(wanted)?;
    match names.iter().any(|name| name.trim().is_empty()) {
        true => {
            Err(v.refuse("is an empty name", &format!("{wanted}; leave the key out if there is no file")))
        }
        false => Ok(names),
    }
}
