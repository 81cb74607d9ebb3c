//! `fedflip completions SHELL`: a script that a shell reads.

use std::io::Write;

use crate::args::CompletionsArgs;
use crate::error::CliError;

pub(super) fn run(args: &CompletionsArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let mut command = args.program.command();
    let name = command.get_name().to_owned();
    // Into memory first: the generator panics where a pipe breaks.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, name, &mut script);
    Ok(output.write_all(&script)?)
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;
    use clap_complete::Shell;

    use super::*;
    use crate::args::Program;

    fn script(shell: Shell, program: Program) -> String {
        let mut bytes = Vec::new();
        run(&CompletionsArgs { shell, program }, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn every_shell_knows_every_command_and_option() {
        for shell in Shell::value_variants() {
            for program in Program::value_variants() {
                let (text, mut command) = (script(*shell, *program), program.command());
                command.build();
                for below in command.get_subcommands() {
                    assert!(text.contains(below.get_name()), "{shell}: {}", below.get_name());
                }
                let join = command.find_subcommand("join").unwrap_or(&command);
                for option in join.get_arguments().filter_map(clap::Arg::get_long) {
                    assert!(text.contains(option), "{shell}: {option}");
                }
            }
        }
    }

    #[test]
    fn a_script_is_for_the_program_that_was_named() {
        assert!(script(Shell::Bash, Program::Fedflip).contains("-o default fedflip\n"));
        assert!(script(Shell::Bash, Program::FedflipJoin).contains("-o default fedflip-join\n"));
    }
}
