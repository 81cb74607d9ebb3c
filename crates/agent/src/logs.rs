//! The log of agents and servers, on standard error.

use tracing_subscriber::fmt;

use crate::args::{LogArgs, LogFormat};

/// Starts the log; only the first call has an effect.
pub fn begin(args: LogArgs) {
    // A reader of the log that is gone, such as `head`, must not end the program: nothing is said about lost lines.
    let logs = fmt()
        .with_max_level(args.log_level)
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .with_target(false);
    // A log that was started before stays.
    let _ = match args.log {
        LogFormat::Text => {
            use std::io::IsTerminal;
            logs.with_ansi(std::io::stderr().is_terminal()).try_init()
        }
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
}
