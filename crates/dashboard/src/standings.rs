//! How the schemes of a comparison did so far: a row a label, whatever number of runs.

use fedflip_record::{End, EndReason};
use serde::Serialize;

/// The most rows; a comparison has a dozen at most.
const ROWS_MAX: usize = 64;

/// The runs of one label that have ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    pub label: String,
    pub runs: u64,
    pub reached: u64,
    /// Runs whose model diverged: their time says nothing.
    pub diverged: u64,
    /// How long they took, on average.
    pub mean_secs: f64,
    pub mean_rounds: f64,
}

/// All labels, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Standings(Vec<Row>);

impl Standings {
    pub(crate) fn note(&mut self, label: &str, end: &End) {
        if !self.0.iter().any(|row| row.label == label) && self.0.len() < ROWS_MAX {
            self.0.push(Row { label: label.to_owned(), ..Row::default() });
        }
        let Some(row) = self.0.iter_mut().find(|row| row.label == label) else { return };
        row.runs += 1;
        row.reached += u64::from(end.reason == EndReason::Target);
        row.diverged += u64::from(end.reason == EndReason::Diverged);
        row.mean_secs += (end.secs - row.mean_secs) / row.runs as f64;
        row.mean_rounds += (end.rounds as f64 - row.mean_rounds) / row.runs as f64;
    }

    /// From the first label to the last.
    pub fn rows(&self) -> &[Row] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(reason: EndReason, secs: f64, rounds: u64) -> End {
        End {
            reason,
            rounds,
            secs,
            metrics: Default::default(),
            estimated: None,
            test: Default::default(),
            detail: None,
        }
    }

    #[test]
    fn runs_of_a_label_are_one_row() {
        let mut standings = Standings::default();
        standings.note("exact", &end(EndReason::Target, 1.0, 10));
        standings.note("full", &end(EndReason::VirtualTimeMax, 9.0, 5));
        standings.note("exact", &end(EndReason::Diverged, 3.0, 20));
        let [exact, full] = standings.rows() else { panic!("{standings:?}") };
        assert_eq!((exact.runs, exact.reached, exact.diverged), (2, 1, 1));
        assert_eq!((exact.mean_secs, exact.mean_rounds), (2.0, 15.0));
        assert_eq!((full.runs, full.reached), (1, 0));
    }

    #[test]
    fn labels_without_end_are_left_out() {
        let mut standings = Standings::default();
        (0..1000).for_each(|number| standings.note(&number.to_string(), &end(EndReason::RoundsMax, 1.0, 1)));
        assert_eq!(standings.rows().len(), ROWS_MAX);
    }
}
