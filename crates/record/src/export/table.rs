//! The tables of a run: one row for each round, for each device of a cohort, and for each evaluation.

use std::sync::Arc;

use fedflip_fleet::Metrics;

use crate::estimated::Estimated;
use crate::reader::Records;
use crate::schema::Round;

/// Named columns of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The name of the column.
    pub name: &'static str,
    /// The name and the values of each column.
    pub columns: Vec<(String, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// A column of whole numbers.
    Whole(Vec<i64>),
    /// A column of numbers.
    Number(Vec<f64>),
    /// Numbers that may be missing.
    Optional(Vec<Option<f64>>),
    /// Words, many of them the same.
    Text(Vec<Arc<str>>),
}

impl Column {
    /// How many values it has.
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Optional(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Table {
    /// One row for each round, with a column for each metric. The first model is round 0.
    pub fn rounds(records: &Records) -> Self {
        let first = records.initial.iter().map(|initial| Round {
            start_secs: initial.secs,
            metrics: initial.metrics.clone(),
            ..Round::default()
        });
        let first: Vec<Round> = first.collect();
        let rounds = || first.iter().chain(&records.rounds);
        let whole =
            |of: &dyn Fn(&Round) -> u64| Column::Whole(rounds().map(|round| of(round) as i64).collect());
        let number = |of: fn(&Round) -> f64| Column::Number(rounds().map(of).collect());
        let optional = |of: &dyn Fn(&Round) -> Option<f64>| Column::Optional(rounds().map(of).collect());
        let fixed = [
            ("round", whole(&|round| round.round)),
            ("start_secs", number(|round| round.start_secs)),
            ("round_secs", number(|round| round.round_secs)),
            ("participants", whole(&|round| round.cohort.len() as u64)),
            ("lost", whole(&|round| round.lost.len() as u64)),
            ("train_loss", optional(&|round| round.train_loss)),
        ];
        let mut table = Self { name: "rounds", columns: named(fixed) };
        for metric in records.header.metrics.iter().map(|metric| &*metric.name) {
            table.add_metric(metric, optional(&|round| round.metrics.get(metric)));
        }
        table
    }

    /// One row for each evaluation, in their order: of the first model, which is round 0, of models after a round, and of the
    /// last model if only the end of the run evaluated it. Where devices estimated a metric, its standard error and its limit on
    /// the safe side have columns, too.
    pub fn evaluations(records: &Records) -> Self {
        let all = evaluations(records);
        let optional = |of: &dyn Fn(&Evaluation<'_>) -> Option<f64>| {
            Column::Optional(all.iter().map(of).collect::<Vec<Option<f64>>>())
        };
        let mut table = Self {
            name: "evaluations",
            columns: named([
                ("round", Column::Whole(all.iter().map(|evaluation| evaluation.round as i64).collect())),
                ("secs", Column::Number(all.iter().map(|evaluation| evaluation.secs).collect())),
            ]),
        };
        let metrics = || records.header.metrics.iter().map(|metric| &*metric.name);
        for metric in metrics() {
            table.add_metric(metric, optional(&|evaluation| evaluation.metrics.get(metric)));
        }
        if all.iter().all(|evaluation| evaluation.estimated.is_none()) {
            return table;
        }
        let devices = |evaluation: &Evaluation<'_>| Some(evaluation.estimated?.devices as f64);
        table.add_metric("reporting_devices", optional(&devices));
        for metric in metrics() {
            let error = |evaluation: &Evaluation<'_>| evaluation.estimated?.se.get(metric);
            let limit = |evaluation: &Evaluation<'_>| evaluation.estimated?.limit.get(metric);
            table.add_metric(&format!("{metric}_se"), optional(&error));
            table.add_metric(&format!("{metric}_limit"), optional(&limit));
        }
        table
    }

    /// A metric may have any name; its column has one that no other column has.
    fn add_metric(&mut self, metric: &str, column: Column) {
        let mut name = metric.to_owned();
        while self.columns.iter().any(|(taken, _)| *taken == name) {
            name.insert_str(0, "metric_");
        }
        self.columns.push((name, column));
    }

    /// A row for each device in each round that it took part in; with their names, by position, if there are any.
    pub fn participants(records: &Records, names: &[Arc<str>]) -> Self {
        let (mut rounds, mut devices, mut mbps, mut reported) = (vec![], vec![], vec![], vec![]);
        for round in &records.rounds {
            for (&device, &share) in round.cohort.iter().zip(&round.mbps) {
                rounds.push(round.round as i64);
                devices.push(device as i64);
                mbps.push(f64::from(share));
                reported.push(i64::from(round.lost.iter().all(|lost| lost.device != device)));
            }
        }
        let nobody: Arc<str> = Arc::from("");
        let name = |&device: &i64| Arc::clone(names.get(device as usize).unwrap_or(&nobody));
        let words = (!names.is_empty()).then(|| devices.iter().map(name).collect());
        let mut columns = vec![
            ("round", Column::Whole(rounds)),
            ("device", Column::Whole(devices)),
            ("mbps", Column::Number(mbps)),
            ("reported", Column::Whole(reported)),
        ];
        columns.extend(words.map(|names| ("name", Column::Text(names))));
        Self { name: "participants", columns: named(columns) }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

/// Columns whose names are known when the program is written.
pub(super) fn named(columns: impl IntoIterator<Item = (&'static str, Column)>) -> Vec<(String, Column)> {
    columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect()
}

/// The metrics of one model.
struct Evaluation<'a> {
    round: u64,
    secs: f64,
    metrics: &'a Metrics,
    estimated: Option<&'a Estimated>,
}

/// All evaluations of a run, in their order.
fn evaluations(records: &Records) -> Vec<Evaluation<'_>> {
    let initial = records.initial.iter().map(|initial| Evaluation {
        round: 0,
        secs: initial.secs,
        metrics: &initial.metrics,
        estimated: initial.estimated.as_ref(),
    });
    let rounds = records.rounds.iter().map(|round| Evaluation {
        round: round.round,
        secs: round.end_secs(),
        metrics: &round.metrics,
        estimated: round.estimated.as_ref(),
    });
    let end = records.end.iter().map(|end| Evaluation {
        round: end.rounds,
        secs: end.secs,
        metrics: &end.metrics,
        estimated: end.estimated.as_ref(),
    });
    initial.chain(rounds).chain(end).filter(|evaluation| !evaluation.metrics.is_empty()).collect()
}
