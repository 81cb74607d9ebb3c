//! What is in progress, for people only and on standard error: a word while something takes long, gone when done,
//! or plain lines now and then where nothing can be overwritten.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fedflip_fleet::printable::printable_lines;
use indicatif::{ProgressBar, ProgressStyle};

/// Whether `--quiet` suppresses progress.
static QUIET: AtomicBool = AtomicBool::new(false);

/// `--quiet`: from now on nothing is said on the way.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Something that a person should know; never on standard output.
pub(crate) fn warn(text: &str) {
    // If nobody listens, the work still counts.
    let _ = writeln!(std::io::stderr(), "warning: {}", printable_lines(text));
}

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A terminal on which a line can be written over.
    Terminal,
    /// A file, a pipe, or a terminal that only knows characters: lines stay.
    Lines,
    /// Nobody wants to know.
    Quiet,
}

impl Stage {
    pub(crate) fn now() -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
        match QUIET.load(Ordering::Relaxed) {
            true => Self::Quiet,
            false if std::io::stderr().is_terminal() && !(cfg!(unix) && dumb) => Self::Terminal,
            false => Self::Lines,
        }
    }
}

/// On a narrower terminal a bar would take the room of the words.
const BAR_COLUMNS: u16 = 70;

/// A line of a terminal that is written over, cut at its edge, and gone at the end; nowhere else it is seen.
pub(crate) struct Line(ProgressBar);

impl Line {
    /// In indicatif's words; what is said is `{wide_msg}`.
    pub(crate) fn new(template: &str) -> Self {
        let is_seen = Stage::now() == Stage::Terminal;
        let bar = if is_seen { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// The same line behind a bar with this number of steps, where there is room for both.
    pub(crate) fn with_bar(steps: u64) -> Self {
        let columns = console::Term::stderr().size_checked().map_or(0, |(_, columns)| columns);
        let line = Self::new(if columns >= BAR_COLUMNS {
            "{spinner} {bar:10} {wide_msg}"
        } else {
            "{spinner} {wide_msg}"
        });
        line.0.set_length(steps);
        line
    }

    /// Shows what takes long while the line lives.
    pub(crate) fn while_alive(what: &str) -> Self {
        let line = Self::new("{wide_msg}");
        line.say(format!("{what} …"));
        line
    }

    /// How far it is, in steps.
    pub(crate) fn at(&self, step: u64) {
        self.0.set_position(step);
    }

    pub(crate) fn say(&self, text: String) {
        // One that was cleared shows nothing more by itself.
        if self.0.is_finished() {
            self.0.reset();
        }
        self.0.set_message(text);
        self.0.tick();
    }

    pub(crate) fn clear(&self) {
        self.0.finish_and_clear();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// When plain lines are due: soon for the first one, then seldom, however many runs there are.
#[derive(Clone, Copy, Debug)]
struct Pace {
    began: Instant,
    said: Option<Instant>,
}

impl Pace {
    const FIRST: Duration = Duration::from_secs(2);
    const NEXT: Duration = Duration::from_secs(30);

    fn is_due(&mut self, now: Instant) -> bool {
        let due = match self.said {
            None => now - self.began >= Self::FIRST,
            Some(said) => now - said >= Self::NEXT,
        };
        if due {
            self.said = Some(now);
        }
        due
    }
}

/// Says a line if one is due by now.
pub(crate) fn now_and_then(now: Instant, line: impl FnOnce() -> String) {
    static PACE: Mutex<Option<Pace>> = Mutex::new(None);
    let mut pace = PACE.lock().unwrap_or_else(PoisonError::into_inner);
    if pace.get_or_insert(Pace { began: now, said: None }).is_due(now) {
        // If nobody listens, the work still counts.
        let _ = writeln!(std::io::stderr(), "{}", line());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "instants come from the clock; none is waited for")]
    fn lines_come_soon_and_then_seldom() {
        let began = Instant::now();
        let mut pace = Pace { began, said: None };
        let due: Vec<u64> = (0..100).filter(|&secs| pace.is_due(began + Duration::from_secs(secs))).collect();
        assert_eq!(due, [2, 32, 62, 92]);
    }
}
