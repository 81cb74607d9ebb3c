//! The last things that happened, in words.

use std::collections::VecDeque;

use serde::Serialize;

/// The most lines that are kept.
pub const LINES_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// Counted from 1 and never reused, so that a reader knows what is new.
    pub number: u64,
    pub secs: f64,
    pub text: String,
}

/// A ring of lines: the oldest makes room for the newest.
#[derive(Clone, Debug, Default)]
pub struct Log {
    lines: VecDeque<Line>,
    written: u64,
}

impl Log {
    pub fn write(&mut self, secs: f64, text: String) {
        if self.lines.len() == LINES_MAX {
            self.lines.pop_front();
        }
        self.written += 1;
        self.lines.push_back(Line { number: self.written, secs, text });
    }

    /// The number of the newest line.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The lines after a number, as far as they are still there.
    pub fn since(&self, number: u64) -> Vec<Line> {
        self.lines.iter().filter(|line| line.number > number).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_lines_make_room() {
        let mut log = Log::default();
        (0..1000).for_each(|n| log.write(f64::from(n), format!("line {n}")));
        let lines = log.since(0);
        assert_eq!(lines.len(), LINES_MAX);
        assert_eq!(lines.last().map(|line| line.text.as_str()), Some("line 999"));
        assert_eq!(log.since(998).len(), 2);
        assert_eq!(log.since(log.written()), []);
    }
}
