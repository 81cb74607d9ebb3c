//! One fold over the records of a run: its summary, and its evaluations over time in bounded memory.

use std::path::Path;

use fedflip_fleet::Metrics;

use crate::error::RecordError;
use crate::reader;
use crate::schema::{End, Header, Initial, Line, Round};
use crate::summary::Summary;

/// A run in a few numbers and a curve, whatever its number of rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The numbers.
    pub summary: Summary,
    /// The evaluations.
    pub curve: Curve,
}

impl Fold {
    /// The fold of a run that has only begun.
    pub fn new(header: &Header) -> Self {
        Self { summary: Summary::new(header), curve: Curve::default() }
    }

    /// Folds all lines of a file, whose rounds are not held in memory.
    pub fn read(path: &Path) -> Result<Self, RecordError> {
        let mut fold = None;
        reader::each(path, |line| match (&mut fold, line) {
            (_, Line::Header(header)) => fold = Some(Self::new(&header)),
            (Some(fold), line) => fold.add(&line),
            (None, _) => {}
        })?;
        fold.ok_or_else(|| reader::no_header(path))
    }

    /// Adds a line. A header is part of a fold from its beginning, and plans do not change what a run came to.
    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Header(_) | Line::Replan(_) => {}
            Line::Initial(initial) => self.initial(initial),
            Line::Round(round) => self.round(round),
            Line::End(end) => self.end(end),
        }
    }

    /// Adds the evaluation of the first model.
    pub fn initial(&mut self, initial: &Initial) {
        self.summary.initial(initial);
        self.curve.evaluated(initial.secs, &initial.metrics);
    }

    /// Adds a round.
    pub fn round(&mut self, round: &Round) {
        self.summary.add(round);
        self.curve.evaluated(round.end_secs(), &round.metrics);
    }

    /// Adds the end.
    pub fn end(&mut self, end: &End) {
        self.summary.end(end);
        self.curve.evaluated(end.secs, &end.metrics);
    }
}

/// Evaluations over time, thinned so that memory stays bounded: the first, the last, and some hundred between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    kept: Vec<(f64, Metrics)>,
    last: Option<(f64, Metrics)>,
    /// The number of evaluations so far.
    seen: u64,
    /// One evaluation in 2^doublings is kept.
    doublings: u32,
}

/// The most evaluations that are kept: every other one is dropped when there are more.
const KEPT_MAX: usize = 512;

impl Curve {
    /// Adds an evaluation. Rounds without one leave no trace.
    pub fn evaluated(&mut self, secs: f64, metrics: &Metrics) {
        if metrics.is_empty() {
            return;
        }
        if self.seen.trailing_zeros() >= self.doublings {
            self.kept.push((secs, metrics.clone()));
        }
        self.last = Some((secs, metrics.clone()));
        self.seen += 1;
        if self.kept.len() > KEPT_MAX {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.doublings += 1;
        }
    }

    /// A metric over time: seconds and values.
    pub fn of(&self, metric: &str) -> Vec<(f64, f64)> {
        let last = self.last.as_ref().filter(|last| self.kept.last() != Some(last));
        let all = self.kept.iter().chain(last);
        all.filter_map(|(secs, metrics)| Some((*secs, metrics.get(metric)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_shape() {
        let mut curve = Curve::default();
        let rounds = 1_000_001;
        for round in 1..=rounds {
            let share = f64::from(round) / f64::from(rounds);
            curve.evaluated(f64::from(round), &Metrics::from([("accuracy", share), ("loss", 1.0 - share)]));
            // Rounds without an evaluation leave no trace.
            curve.evaluated(f64::from(round), &Metrics::default());
        }
        let accuracy = curve.of("accuracy");
        assert!(accuracy.len() > KEPT_MAX / 2 && accuracy.len() <= KEPT_MAX + 1, "{}", accuracy.len());
        assert_eq!((accuracy[0].0, accuracy[accuracy.len() - 1]), (1.0, (f64::from(rounds), 1.0)));
        let steps: Vec<f64> = accuracy.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(steps[..steps.len() - 1].iter().all(|step| *step == steps[0]), "{steps:?}");
        assert!(curve.of("loss").iter().zip(&accuracy).all(|(loss, accuracy)| loss.1 + accuracy.1 == 1.0));
    }
}
