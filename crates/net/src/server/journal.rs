//! Limits the log lines that devices cause: a line is written once in a while, with the number of similar lines
//! that were left out.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// The time from one line of a device and subject to the next.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Bounds the lines in that time, over all devices and subjects.
const LINES_MAX: usize = 4096;

/// The lines that were written lately, by device and subject.
#[derive(Default)]
pub(crate) struct Journal {
    lines: Mutex<BTreeMap<(String, &'static str), LastLine>>,
}

struct LastLine {
    written: Instant,
    left_out: u64,
}

/// Leave to write a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Permit {
    /// The number of similar lines that were not written since the last one; None, and so no field of the line, if
    /// none was left out.
    pub left_out: Option<u64>,
}

impl Journal {
    /// A permit if a line about this device and subject may be written now.
    pub(crate) fn permit(&self, device: &str, subject: &'static str) -> Option<Permit> {
        self.permit_at(device, subject, Instant::now())
    }

    /// A line that may not be written is counted for the next one.
    fn permit_at(&self, device: &str, subject: &'static str, now: Instant) -> Option<Permit> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |line: &LastLine| now.saturating_duration_since(line.written) >= LINE_EVERY;
        let key = (device.to_owned(), subject);
        if let Some(line) = lines.get_mut(&key) {
            if !is_old(line) {
                line.left_out += 1;
                return None;
            }
            let left_out = std::mem::take(&mut line.left_out);
            line.written = now;
            return Some(Permit { left_out: (left_out > 0).then_some(left_out) });
        }
        if lines.len() >= LINES_MAX {
            // Only the metrics count the lines that these left out.
            lines.retain(|_, line| !is_old(line));
        }
        if lines.len() >= LINES_MAX {
            return None;
        }
        lines.insert(key, LastLine { written: now, left_out: 0 });
        Some(Permit { left_out: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_stands_for_those_that_follow() {
        let (journal, start) = (Journal::default(), Instant::now());
        let at = |secs| start + Duration::from_secs(secs);
        let permit = |left_out| Some(Permit { left_out });
        assert_eq!(journal.permit_at("a", "hello", at(0)), permit(None));
        for _ in 0..1000 {
            assert_eq!(journal.permit_at("a", "hello", at(9)), None);
        }
        assert_eq!(journal.permit_at("a", "full", at(9)), permit(None), "another subject");
        assert_eq!(journal.permit_at("b", "hello", at(9)), permit(None), "another device");
        assert_eq!(journal.permit_at("a", "hello", at(10)), permit(Some(1000)));
        assert_eq!(journal.permit_at("a", "hello", at(20)), permit(None));
    }

    #[test]
    fn a_thousand_names_do_not_fill_the_log() {
        let (journal, start) = (Journal::default(), Instant::now());
        let names = |from: usize| (from..from + 2 * LINES_MAX).map(|n| n.to_string());
        let written =
            |from, now| names(from).filter(|name| journal.permit_at(name, "hello", now).is_some()).count();
        assert_eq!(written(0, start), LINES_MAX);
        assert_eq!(written(1_000_000, start + LINE_EVERY / 2), 0);
        assert_eq!(written(2_000_000, start + LINE_EVERY), LINES_MAX);
    }
}
