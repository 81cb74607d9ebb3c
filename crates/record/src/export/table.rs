//! The two tables of a run: a row a round, and a row for each device that took part in one.

use std::sync::Arc;

use crate::reader::Records;
use crate::schema::Round;

/// Named columns of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Of what.
    pub name: &'static str,
    /// The name and the values of each column.
    pub columns: Vec<(String, Column)>,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers.
    Whole(Vec<i64>),
    /// Numbers.
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
        let mut columns: Vec<(String, Column)> = fixed.map(|(name, column)| (name.to_owned(), column)).into();
        for metric in records.header.metrics.iter().map(|metric| &*metric.name) {
            // A metric may have any name; a column has one of its own.
            let taken = columns.iter().any(|(name, _)| name == metric);
            let name = if taken { format!("metric_{metric}") } else { metric.to_owned() };
            columns.push((name, optional(&|round| round.metrics.get(metric))));
        }
        Self { name: "rounds", columns }
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
        let named = (!names.is_empty()).then(|| devices.iter().map(name).collect());
        let mut columns = vec![
            ("round", Column::Whole(rounds)),
            ("device", Column::Whole(devices)),
            ("mbps", Column::Number(mbps)),
            ("reported", Column::Whole(reported)),
        ];
        columns.extend(named.map(|names| ("name", Column::Text(names))));
        let columns = columns.into_iter().map(|(name, column)| (name.to_owned(), column)).collect();
        Self { name: "participants", columns }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}
