//! A word on what is going on, for people only: on a terminal, and gone when done.

use std::io::{IsTerminal, Write};

/// Shows `what` on standard error while it lives.
pub(crate) struct Progress {
    shown: bool,
}

impl Progress {
    pub(crate) fn start(what: &str) -> Self {
        let mut stderr = std::io::stderr();
        let shown =
            stderr.is_terminal() && write!(stderr, "\r\x1b[2K{what} …").and_then(|()| stderr.flush()).is_ok();
        Self { shown }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown {
            // Nobody is there to hear it if the terminal has gone.
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}
