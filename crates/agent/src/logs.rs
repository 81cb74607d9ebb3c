//! What agents and servers say, on standard error.

use tracing_subscriber::fmt;

use crate::args::{LogArgs, LogFormat};

/// From now on; the first call counts.
pub fn begin(args: LogArgs) {
    let logs = fmt().with_max_level(args.log_level).with_writer(std::io::stderr).with_target(false);
    // Whoever has begun before goes on.
    let _ = match args.log {
        LogFormat::Text => {
            use std::io::IsTerminal;
            logs.with_ansi(std::io::stderr().is_terminal()).try_init()
        }
        LogFormat::Json => logs.json().flatten_event(true).try_init(),
    };
}
