//! The keys of `[task]`: the name, and the parameters that the rows of the table of tasks declare.

use std::sync::LazyLock;

use fedflip_learn::task::{Param, ParamKind, ParamValue, Sizes, Task, TaskRow};

use super::{Access, Key, key};
use crate::Scenario;
use crate::error::Refusal;
use crate::value::{Given, Value};

/// The name, then every parameter once, in the order of the table.
pub(super) static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
    let mut keys = vec![key(
        "task",
        "name",
        "one of the tasks of docs/reference/scenario.md, or own for your own files",
        |s| Some(Value::text(s.task.name())),
        |s, v| task_of(v).map(|task| s.task = task),
    )];
    for param in Task::all().flat_map(|task| task.row().params) {
        if keys.iter().all(|key| key.name != param.name) {
            keys.push(key_of(param));
        }
    }
    keys
});

fn key_of(param: &'static Param) -> Key {
    let name = key("task", param.name, param.about, |_| None, |_, _| Ok(()));
    Key { access: Access::Param(param), ..name }.only(TaskRow::has_param)
}

/// A task by its name, with the defaults of its parameters.
pub(crate) fn task_of(v: &Given<'_>) -> Result<Task, Refusal> {
    let all = Task::all().chain([Task::external()]);
    let tasks: Vec<(&str, Task)> = all.map(|task| (task.name(), task)).collect();
    v.choice(&tasks)
}

/// The value of a parameter; none if the scenario's task does not have it.
pub(super) fn get(param: &Param, scenario: &Scenario) -> Option<Value> {
    scenario.task.params().get(param.name).map(value_of)
}

/// A parameter's value as a scenario has it.
pub(crate) fn value_of(value: ParamValue<'_>) -> Value {
    match value {
        ParamValue::Flag(flag) => Value::Flag(flag),
        ParamValue::Count(count) => Value::count(count),
        ParamValue::Number(number) => Value::Number(number),
        ParamValue::Choice(name) => Value::text(name),
        ParamValue::Sizes(sizes) => Value::List(sizes.as_slice().iter().copied().map(Value::count).collect()),
    }
}

/// Sets a parameter, unless the scenario's task does not have it.
pub(super) fn set(param: &Param, scenario: &mut Scenario, v: &Given<'_>) -> Result<(), Refusal> {
    let value = match &param.kind {
        ParamKind::Flag => ParamValue::Flag(v.flag()?),
        ParamKind::Count(range) => ParamValue::Count(v.count(range.clone())?),
        ParamKind::Number(range) => ParamValue::Number(v.number(range.clone(), &param.wanted())?),
        ParamKind::Choice(names) => {
            let names: Vec<(&str, &str)> = names.iter().map(|name| (*name, *name)).collect();
            ParamValue::Choice(v.choice(&names)?)
        }
        ParamKind::Sizes(range) => {
            let counts = v.counts(range, &param.wanted())?;
            let wrong = || v.refuse(&format!("has {} numbers", counts.len()), &param.wanted());
            ParamValue::Sizes(Sizes::new(&counts).ok_or_else(wrong)?)
        }
    };
    if !scenario.task.row().has_param(param.name) {
        return Ok(());
    }
    scenario.task.set(param.name, value).map_err(|_| v.refuse("is out of range", &param.wanted()))
}
