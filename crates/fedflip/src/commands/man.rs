//! `fedflip man`: one manual page for each command.

use std::fs;
use std::io::Write;
use std::path::Path;

use crate::args::{ManArgs, Program};
use crate::error::CliError;

pub(super) fn run(args: &ManArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let made = |path: &Path, result: std::io::Result<()>| {
        result.map_err(|source| CliError::Make { path: path.display().to_string(), source })
    };
    made(&args.out, fs::create_dir_all(&args.out))?;
    let pages = pages(Program::Fedflip.command());
    for (name, page) in &pages {
        let path = args.out.join(name);
        made(&path, fs::write(&path, page))?;
    }
    Ok(writeln!(output, "{} pages in {}", pages.len(), args.out.display())?)
}

/// The pages of a command and of all below it, with their file names.
fn pages(command: clap::Command) -> Vec<(String, Vec<u8>)> {
    // `help` needs no page: it says what the others say.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect(&command, &mut pages);
    pages
}

fn collect(command: &clap::Command, pages: &mut Vec<(String, Vec<u8>)>) {
    // After it is built, a command knows the names above it: `fedflip-fleet-new`.
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    // Nothing can fail when the text goes to memory.
    let _ = page.render(&mut text);
    pages.push((page.get_filename(), text));
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        collect(below, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_with_its_options() {
        let pages = pages(Program::Fedflip.command());
        let text = |name: &str| {
            let (_, page) = pages.iter().find(|(known, _)| known == name).unwrap();
            String::from_utf8(page.clone()).unwrap()
        };
        for name in
            ["fedflip.1", "fedflip-plan.1", "fedflip-fleet-new.1", "fedflip-join.1", "fedflip-certs-renew.1"]
        {
            assert!(text(name).contains(".SH SYNOPSIS"), "{name}");
        }
        assert!(!pages.iter().any(|(name, _)| name.contains("help")));
        assert!(text("fedflip-join.1").contains("give\\-up\\-secs"));
        assert!(text("fedflip-join.1").contains("fedflip join"));
    }
}
