//! One fold over the records of a run: its summary, and its evaluations over time in bounded memory.

use std::borrow::Cow;
use std::path::Path;

use fedflip_fleet::Metrics;

use crate::error::RecordError;
use crate::estimated::Estimated;
use crate::reader;
use crate::schema::{End, Header, Initial, Line, Round};
use crate::summary::Summary;

/// A run in a few numbers and a curve, whatever its number of rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// The totals and the last values of the run.
    pub summary: Summary,
    /// The evaluations as a curve of bounded length.
    pub curve: Curve,
}

impl Fold {
    /// The fold of a run that has only begun.
    pub fn new(header: &Header) -> Self {
        Self { summary: Summary::new(header), curve: Curve::new(header, KEPT_MAX) }
    }

    /// The same with a curve that keeps every evaluation, for readers who need each of them.
    pub fn with_every_evaluation(header: &Header) -> Self {
        Self { summary: Summary::new(header), curve: Curve::new(header, usize::MAX) }
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

    /// Adds a line. A header is part of a fold from its beginning, and neither plans nor other settings change what a run came to.
    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Header(_) | Line::Replan(_) | Line::Changed(_) | Line::Recount(_) => {}
            Line::Initial(initial) => self.initial(initial),
            Line::Round(round) => self.round(round),
            Line::End(end) => self.end(end),
        }
    }

    /// Adds the evaluation of the first model.
    pub fn initial(&mut self, initial: &Initial) {
        self.at((0, initial.secs), &initial.metrics, initial.estimated.as_ref());
    }

    /// Adds the record of a round.
    pub fn round(&mut self, round: &Round) {
        let summary = &mut self.summary;
        summary.rounds += 1;
        summary.empty_rounds += u64::from(round.cohort.is_empty());
        summary.biased_rounds += u64::from(!round.lost.is_empty());
        let more = round.cohort.len() as f64 - summary.mean_participants;
        summary.mean_participants += more / summary.rounds as f64;
        self.at((round.round, round.end_secs()), &round.metrics, round.estimated.as_ref());
    }

    /// Adds the record of the end.
    pub fn end(&mut self, end: &End) {
        self.summary.end = Some(end.reason);
        self.summary.test.clone_from(&end.test);
        self.at((end.rounds, end.secs), &end.metrics, end.estimated.as_ref());
    }

    /// Moves the clock, and adds an evaluation. Rounds without one leave no trace in the curve.
    fn at(&mut self, (round, secs): (u64, f64), metrics: &Metrics, estimated: Option<&Estimated>) {
        self.summary.hours = secs / 3600.0;
        if !metrics.is_empty() {
            self.summary.metrics.clone_from(metrics);
            self.summary.estimated = estimated.cloned();
            self.summary.evaluated_round = Some(round);
            self.curve.add(round, secs, metrics);
        }
    }
}

/// A metric of one model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The round before the evaluation; 0 for the first model.
    pub round: u64,
    /// The time since the run began.
    pub secs: f64,
    /// The value of the metric.
    pub value: f64,
}

/// The declared metrics over time, thinned so that memory stays bounded: the first evaluation, the last, and some hundred
/// between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    names: Vec<Cow<'static, str>>,
    kept: Vec<Evaluation>,
    /// The last evaluation, if it is not among those that are kept.
    last: Option<Evaluation>,
    /// The number of evaluations so far.
    seen: u64,
    /// One evaluation in 2^doublings is kept.
    doublings: u32,
    /// The most evaluations that are kept: every other one is dropped when there are more.
    kept_max: usize,
}

/// The metrics of one model, in the order of the names; NaN where there is none.
#[derive(Clone, Debug, PartialEq)]
struct Evaluation {
    round: u64,
    secs: f64,
    values: Box<[f64]>,
}

/// The usual number of evaluations that are kept.
const KEPT_MAX: usize = 512;

impl Curve {
    fn new(header: &Header, kept_max: usize) -> Self {
        let names = header.metrics.iter().map(|metric| metric.name.clone()).collect();
        Self { names, kept: Vec::new(), last: None, seen: 0, doublings: 0, kept_max }
    }

    fn add(&mut self, round: u64, secs: f64, metrics: &Metrics) {
        let values = self.names.iter().map(|name| metrics.get(name).unwrap_or(f64::NAN)).collect();
        let evaluation = Evaluation { round, secs, values };
        if self.seen.trailing_zeros() >= self.doublings {
            self.kept.push(evaluation);
            self.last = None;
        } else {
            self.last = Some(evaluation);
        }
        self.seen += 1;
        if self.kept.len() > self.kept_max {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.doublings += 1;
        }
    }

    /// The values of a metric that are kept, in order; none if the header does not declare it.
    pub fn points(&self, metric: &str) -> impl Iterator<Item = Point> {
        let column = self.names.iter().position(|name| name == metric);
        let evaluations = self.kept.iter().chain(&self.last);
        evaluations.filter_map(move |&Evaluation { round, secs, ref values }| {
            let value = values[column?];
            (!value.is_nan()).then_some(Point { round, secs, value })
        })
    }

    /// A metric over time: seconds and values.
    pub fn of(&self, metric: &str) -> Vec<(f64, f64)> {
        self.points(metric).map(|point| (point.secs, point.value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Direction, Display, MetricInfo};

    use super::*;

    fn header() -> Header {
        let metrics = ["accuracy", "loss", "rmse"]
            .map(|name| MetricInfo::new(name, Direction::Larger, Display::Number));
        let header = serde_json::json!({
            "version": 3, "fedflip": "0", "task": "t", "scheme": "full", "seed": 1, "devices": 1, "parameters": 1,
            "bandwidth_mbps": 1.0, "metrics": metrics,
            "expected_participants": 1.0, "expected_rounds": null,
            "expected_round_secs": null,
        });
        serde_json::from_value(header).unwrap()
    }

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_shape() {
        let mut fold = Fold::new(&header());
        let rounds: u32 = 1_000_001;
        for round in 1..=rounds {
            let share = f64::from(round) / f64::from(rounds);
            let metrics = Metrics::from([("accuracy", share), ("loss", 1.0 - share)]);
            fold.at((round.into(), f64::from(round)), &metrics, None);
            // Rounds without an evaluation leave no trace.
            fold.at((round.into(), f64::from(round)), &Metrics::default(), None);
        }
        let accuracy = fold.curve.of("accuracy");
        assert!(accuracy.len() > KEPT_MAX / 2 && accuracy.len() <= KEPT_MAX + 1, "{}", accuracy.len());
        assert_eq!((accuracy[0].0, accuracy[accuracy.len() - 1]), (1.0, (f64::from(rounds), 1.0)));
        let steps: Vec<f64> = accuracy.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(steps[..steps.len() - 1].iter().all(|step| *step == steps[0]), "{steps:?}");
        let loss = fold.curve.of("loss");
        assert!(loss.iter().zip(&accuracy).all(|(loss, accuracy)| loss.1 + accuracy.1 == 1.0));
    }

    #[test]
    fn a_summary_says_whether_its_metrics_are_estimates() {
        let mut fold = Fold::new(&header());
        let estimated = Some(Estimated { devices: 3, se: [("rmse", 0.25)].into(), ..Estimated::default() });
        let metrics: Metrics = [("rmse", 1.0)].into();
        fold.round(&Round {
            round: 1,
            metrics: metrics.clone(),
            estimated: estimated.clone(),
            ..Round::default()
        });
        fold.round(&Round { round: 2, ..Round::default() });
        assert_eq!(fold.summary.estimated, estimated, "a round without an evaluation changes nothing");
        fold.round(&Round { round: 3, metrics, ..Round::default() });
        assert_eq!(fold.summary.estimated, None);
    }

    #[test]
    fn a_curve_of_every_evaluation_has_all_of_them() {
        let mut fold = Fold::with_every_evaluation(&header());
        fold.initial(&Initial { metrics: [("rmse", 2.0)].into(), ..Initial::default() });
        let rounds = 3 * KEPT_MAX as u64;
        for round in 1..=rounds {
            fold.round(&Round { round, metrics: [("rmse", 1.0)].into(), ..Round::default() });
        }
        let numbers: Vec<u64> = fold.curve.points("rmse").map(|at| at.round).collect();
        assert_eq!(numbers, (0..=rounds).collect::<Vec<u64>>());
    }
}
