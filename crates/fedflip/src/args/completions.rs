//! What may be typed after `completions`.

use clap::{CommandFactory, ValueEnum};
use clap_complete::Shell;
use fedflip_agent::args::ProgramArgs;

use super::Args;

/// Print a script with which a shell completes commands, options and their values.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip completions bash > ~/.local/share/bash-completion/completions/fedflip
  fedflip completions zsh > ~/.zfunc/_fedflip
  fedflip completions fish > ~/.config/fish/completions/fedflip.fish
  fedflip completions bash --program fedflip-join > ~/.local/share/bash-completion/completions/fedflip-join

For zsh, the folder must be in fpath before compinit runs. The shell reads the script when it starts.")]
pub(crate) struct CompletionsArgs {
    /// Shell that reads the script
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
    /// Program that the script completes
    #[arg(long, value_name = "PROGRAM", default_value = "fedflip")]
    pub program: Program,
}

/// A program with a command line for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Program {
    Fedflip,
    FedflipJoin,
}

impl Program {
    pub(crate) fn command(self) -> clap::Command {
        match self {
            Self::Fedflip => Args::command(),
            Self::FedflipJoin => ProgramArgs::command(),
        }
    }
}
