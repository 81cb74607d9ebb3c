//! The page `docs/reference/command-line.md`, made from the commands themselves.

use clap::{Arg, Command, CommandFactory};

use crate::args::Args;
use crate::error::ExitStatus;

const PAGE: &str = "docs/reference/command-line.md";

const HEAD: &str = "\
# The command line

This page lists every command of `fedflip` with its options. It is generated from the program: `fedflip COMMAND --help` prints the same words.

<!-- not run on this page: the examples name files of the reader; the tutorials run the commands -->

";

/// What an exit code tells a script. A new code does not compile without a sentence.
fn meaning(status: ExitStatus) -> &'static str {
    match status {
        ExitStatus::Done => "The command has done its work.",
        ExitStatus::Failed => "The output could not be written, or the system failed otherwise.",
        ExitStatus::BadInput => {
            "The input is not usable. The message names the place, the value and the remedy."
        }
        ExitStatus::Diverged => "The model diverged. The last good one is kept.",
        ExitStatus::Stopped => "The run was interrupted before its end. It can be resumed.",
    }
}

fn page() -> String {
    let mut command = Args::command();
    command.build();
    let mut text = HEAD.to_owned();
    text += "## Exit codes\n\n| code | meaning |\n|---|---|\n";
    use ExitStatus::{BadInput, Diverged, Done, Failed, Stopped};
    for status in [Done, Failed, BadInput, Diverged, Stopped] {
        text += &format!("| {} | {} |\n", status as u8, meaning(status));
    }
    for each in shown(&command) {
        describe(each, "fedflip", 2, &mut text);
    }
    text
}

/// The commands within a command, but `help`.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|each| !each.is_hide_set() && each.get_name() != "help")
}

/// A command, and the commands within it.
fn describe(command: &Command, parent: &str, depth: usize, text: &mut String) {
    let path = format!("{parent} {}", command.get_name());
    *text += &format!("\n{} {path}\n\n", "#".repeat(depth));
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string);
    *text += &format!("{}\n", sentence(&about.unwrap_or_default()));
    if shown(command).next().is_none() {
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim_start_matches("Usage:").lines().map(str::trim).collect::<Vec<_>>().join("\n");
        *text += &format!("\n```text\n{}\n```\n", usage.trim());
    }
    let (options, positional): (Vec<&Arg>, Vec<&Arg>) = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()))
        .partition(|arg| arg.get_long().is_some() || arg.get_short().is_some());
    for (title, arguments) in [("Arguments", positional), ("Options", options)] {
        if !arguments.is_empty() {
            *text += &format!("\n**{title}**\n\n");
            arguments.into_iter().for_each(|arg| *text += &item(arg));
        }
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        *text += &after_help(&after.to_string());
    }
    for each in shown(command) {
        describe(each, &path, depth + 1, text);
    }
}

/// One argument as an item of a list: its name, what it is, its default and its values.
fn item(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let takes = arg.get_action().takes_values();
    let mut name = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    if takes {
        let values = arg.get_value_names().unwrap_or_default();
        let values: Vec<String> = values.iter().map(|value| format!("<{value}>")).collect();
        name = format!("{name} {}", values.join(" ")).trim().to_owned();
    }
    let help = arg.get_long_help().or(arg.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut text = format!("- `{name}`: {}", sentence(&help).replace("\n\n", "\n\n    "));
    let code =
        |values: Vec<String>| values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ");
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| takes && !value.is_hide_set())
        .map(|value| value.get_name().to_owned())
        .collect();
    if !values.is_empty() {
        text += &format!(" Values: {}.", code(values));
    }
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if takes && !defaults.is_empty() {
        text += &format!(" Default: {}.", code(defaults));
    }
    text + "\n"
}

/// The text below the options: its examples as commands, the rest as prose.
fn after_help(text: &str) -> String {
    let mut page = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line == "Examples:" {
            page += "\n**Examples**\n\n```sh\n";
            while let Some(example) = lines.next_if(|line| line.starts_with("  ")) {
                page += &format!("{}\n", &example[2..]);
            }
            page += "```\n";
        } else if !line.trim().is_empty() {
            let mut paragraph = vec![line.trim()];
            while let Some(more) = lines.next_if(|line| !line.trim().is_empty() && *line != "Examples:") {
                paragraph.push(more.trim());
            }
            page += &format!("\n{}\n", sentence(&paragraph.join(" ")));
        }
    }
    page
}

/// Words of a help text as Markdown: nothing in them is markup, and they end with a full stop.
fn sentence(text: &str) -> String {
    let mut safe = String::new();
    for paragraph in text.split("\n\n") {
        if !safe.is_empty() {
            safe += "\n\n";
        }
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        // What stands in code already is left alone.
        for (place, part) in words.split('`').enumerate() {
            let mark = if place > 0 { "`" } else { "" };
            let part = if place % 2 == 1 { part.to_owned() } else { escaped(part) };
            safe += &format!("{mark}{part}");
        }
    }
    let ends = safe.is_empty() || safe.ends_with(['.', ':', '?', '!']);
    if ends { safe } else { safe + "." }
}

/// Prose in which no sign is markup.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for sign in text.chars() {
        match sign {
            '<' => safe += "&lt;",
            '*' | '_' | '[' | ']' | '|' | '$' => safe.extend(['\\', sign]),
            other => safe.push(other),
        }
    }
    safe
}

#[test]
fn the_page_is_that_of_the_commands() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let right = page();
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(&path, right).unwrap();
    } else {
        let say = format!("{PAGE} is behind: INSTA_UPDATE=always cargo nextest run -p fedflip reference");
        assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), right, "{say}");
    }
}

#[test]
fn help_is_no_markup() {
    assert_eq!(sentence("Takes <FILE> or a*b, see `a*b`"), "Takes &lt;FILE> or a\\*b, see `a*b`.");
    assert_eq!(
        after_help("One\ntwo.\n\nExamples:\n  a b\n  c\n"),
        "\nOne two.\n\n**Examples**\n\n```sh\na b\nc\n```\n"
    );
}
