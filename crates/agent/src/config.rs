//! Settings of `join` from a file and from the environment, beside the command line.
//!
//! The table of options is the command itself: `--data-dir` is the key `data_dir` of the file and the environment
//! variable `FEDFLIP_JOIN_DATA_DIR`. Values from there are turned into words of the command line, unless the command
//! line, or the environment in the case of the file, says something else. So every option is checked in one place.

use std::any::TypeId;
use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Command};
use fedflip_fleet::nearest;

use crate::config_file::{self, Setting, Value};
use crate::error::SettingError;

/// What environment variables of `join` begin with. `FEDFLIP_DATA` and others mean something to all commands.
const PREFIX: &str = "FEDFLIP_JOIN_";

/// The option that names the file; it is no key of the file.
const FILE: &str = "config";

/// The words of a command line, the first of which is the command's name, with those that follow from the environment
/// and from the file in it.
///
/// # Errors
///
/// A setting that is not one, with its place and value.
pub fn complete(
    command: &Command,
    mut words: Vec<OsString>,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Vec<OsString>, SettingError> {
    // Words that ask for help, or that are wrong, have their answer when they are parsed in earnest.
    let Ok(typed) = command.clone().ignore_errors(true).try_get_matches_from(&words) else {
        return Ok(words);
    };
    let options = Options { command };
    let is_typed = |arg: &&Arg| typed.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
    let mut decided: Vec<&Arg> = options.all().filter(is_typed).collect();
    let look_up = |name: &str| variable(name).filter(|value| !value.is_empty());
    let environment = options.all().filter_map(|arg| {
        let place = variable_name_of(&key_name(arg));
        let value = look_up(&place)?;
        Some(Setting { place, key: key_name(arg), value: of_variable(arg, value) })
    });
    let mut added = options.layer(environment.collect(), Path::new(""), &mut decided)?;
    let typed_path = typed.try_get_one::<PathBuf>(FILE).ok().flatten().cloned();
    if let Some(path) = typed_path.or_else(|| Some(look_up(&variable_name_of(FILE))?.into())) {
        let folder = path.parent().unwrap_or(Path::new(""));
        added.extend(options.layer(config_file::read(&path)?, folder, &mut decided)?);
    }
    // In front, where no `--` can turn an option into something else.
    let at = words.len().min(1);
    words.splice(at..at, added);
    Ok(words)
}

fn key_name(arg: &Arg) -> String {
    arg.get_id().as_str().replace('-', "_")
}

fn variable_name_of(key: &str) -> String {
    format!("{PREFIX}{}", key.to_uppercase())
}

/// A variable has no types: its text becomes what the option takes.
fn of_variable(arg: &Arg, text: OsString) -> Value {
    match text.to_str() {
        Some("true") if is_flag(arg) => Value::Flag(true),
        Some("false") if is_flag(arg) => Value::Flag(false),
        Some(number) if is_number(arg) => Value::Number(number.to_owned()),
        _ if is_list(arg) => {
            Value::List(std::env::split_paths(&text).map(|item| Value::Text(item.into())).collect())
        }
        _ => Value::Text(text),
    }
}

fn is_flag(arg: &Arg) -> bool {
    !arg.get_action().takes_values()
}

fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}

fn is_of<T: 'static>(arg: &Arg) -> bool {
    arg.get_value_parser().type_id() == TypeId::of::<T>()
}

fn is_number(arg: &Arg) -> bool {
    is_of::<f64>(arg) || is_of::<u64>(arg) || is_of::<u32>(arg) || is_of::<u16>(arg) || is_of::<usize>(arg)
}

/// The options of the command, which are the keys of the file.
struct Options<'a> {
    command: &'a Command,
}

impl<'a> Options<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Arg> {
        self.command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str()))
    }

    /// The words of those settings that nothing of a higher layer decides, neither directly nor by excluding them.
    fn layer(
        &self,
        settings: Vec<Setting>,
        folder: &Path,
        decided: &mut Vec<&'a Arg>,
    ) -> Result<Vec<OsString>, SettingError> {
        let mut words = Vec::new();
        let mut own = Vec::new();
        for setting in settings {
            let arg = self.find(&setting)?;
            let new = self.words(arg, &setting, folder)?;
            if !decided.iter().any(|above| self.excludes(above, arg)) {
                words.extend(new);
                own.push(arg);
            }
        }
        decided.extend(own);
        Ok(words)
    }

    fn find(&self, setting: &Setting) -> Result<&'a Arg, SettingError> {
        let from_file = !setting.place.starts_with(PREFIX);
        let keys = || self.all().filter(|arg| !from_file || arg.get_id() != FILE);
        if let Some(arg) = keys().find(|arg| key_name(arg) == setting.key) {
            return Ok(arg);
        }
        let all = keys().map(key_name).collect::<Vec<_>>().join(", ");
        let hint = match nearest(&setting.key, keys().map(key_name)) {
            Some(near) => format!("did you mean {near}? The keys are {all}"),
            None => format!("the keys are {all}"),
        };
        Err(SettingError {
            place: setting.place.clone(),
            problem: format!("there is no key {:?}", setting.key),
            hint,
        })
    }

    /// Whether the two are one option, or cannot be used together.
    fn excludes(&self, above: &Arg, below: &Arg) -> bool {
        let conflict = |a: &Arg, b: &Arg| self.command.get_arg_conflicts_with(a).contains(&b);
        above.get_id() == below.get_id() || conflict(above, below) || conflict(below, above)
    }

    /// The setting as words of the command line, checked as these would be.
    fn words(&self, arg: &Arg, setting: &Setting, folder: &Path) -> Result<Vec<OsString>, SettingError> {
        let refuse = |hint: String| SettingError {
            place: setting.place.clone(),
            problem: format!("{}: {} cannot be used", setting.key, setting.value.shown()),
            hint,
        };
        let values = match &setting.value {
            Value::Flag(flag) if is_flag(arg) => {
                return Ok(flag.then(|| word(arg, None)).into_iter().collect());
            }
            Value::List(values) if is_list(arg) => values.iter().collect(),
            value => vec![value],
        };
        let mut words = Vec::new();
        for value in values {
            let text: OsString = match value {
                Value::Number(number) if is_number(arg) => number.into(),
                Value::Text(text) if is_of::<PathBuf>(arg) => folder.join(text).into(),
                Value::Text(text) if !is_flag(arg) && !is_number(arg) => text.clone(),
                _ => return Err(refuse(kind(arg))),
            };
            let word = word(arg, Some(&text));
            if let Some(reason) = self.refusal(&word) {
                return Err(refuse(match possible_values(arg) {
                    Some(values) => format!("it must be {values}"),
                    None => format!("{}: {reason}", kind(arg)),
                }));
            }
            words.push(word);
        }
        Ok(words)
    }

    /// Why the word's value is refused. Other errors, such as options that are missing, are none of one setting.
    fn refusal(&self, word: &OsStr) -> Option<String> {
        let name = OsStr::new(self.command.get_name());
        let error = self.command.clone().try_get_matches_from([name, word]).err()?;
        let is_of_value = matches!(error.kind(), ErrorKind::InvalidValue | ErrorKind::ValueValidation);
        is_of_value.then(|| error.source().map_or_else(|| error.kind().to_string(), ToString::to_string))
    }
}

/// `--key=value`, `--key`, or the value alone where its place says what it is.
fn word(arg: &Arg, value: Option<&OsStr>) -> OsString {
    let Some(long) = arg.get_long() else { return value.unwrap_or_default().to_owned() };
    let mut word = OsString::from(format!("--{long}"));
    if let Some(value) = value {
        word.push("=");
        word.push(value);
    }
    word
}

fn kind(arg: &Arg) -> String {
    let one = match () {
        () if is_flag(arg) => "true or false",
        () if is_number(arg) => "a number",
        () if is_of::<PathBuf>(arg) => "a path in quotes",
        () => "text in quotes",
    };
    if is_list(arg) { format!("it must be {one}, or a list of such") } else { format!("it must be {one}") }
}

/// `text or json`, for an option that takes one of a few words.
fn possible_values(arg: &Arg) -> Option<String> {
    let mut names: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect();
    let last = names.pop()?;
    Some(if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) })
}
