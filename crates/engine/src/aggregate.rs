//! The sum of a round's updates in device order, whatever the order of arrival.
//!
//! Floating-point sums depend on their order. Updates are added up as soon as all before them have been: those that
//! come early wait, and nothing else is kept, but by the robust rules: a trimmed sum keeps all updates of its round, and
//! a clipped one the first few while no limit is known.

use std::collections::BTreeMap;

use crate::aggregation::Aggregation;
use crate::norms::{self, NormHistory, NormLimit};
use crate::trimmed;

/// The updates whose norms tell how long an update may be, where nothing else does.
const HELD_MAX: usize = 64;

/// What is done to an update before it is added.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Rule {
    /// The update is added as it is.
    #[default]
    Plain,
    /// The update is shortened to a limit.
    Clipped(NormLimit),
    /// The update is held until all are there, and the ends are left out.
    Trimmed {
        /// The share that is left out at either end.
        share: f64,
        /// The limit where there are too few updates to leave any out.
        limit: NormLimit,
    },
}

impl Rule {
    /// The rule of the round after these.
    pub fn of(aggregation: Aggregation, history: &NormHistory) -> Self {
        match aggregation {
            Aggregation::Unbiased | Aggregation::CohortMean => Self::Plain,
            Aggregation::Clipped(clip) => Self::Clipped(NormLimit::of(clip, history)),
            Aggregation::Trimmed { share, clip } => {
                Self::Trimmed { share, limit: NormLimit::of(clip, history) }
            }
        }
    }
}

/// The sum of a round in the making.
#[derive(Debug, Default)]
pub struct Aggregator {
    rule: Rule,
    step: Vec<f32>,
    /// Those that came before their turn: none for devices that will not come.
    early: BTreeMap<usize, Option<Vec<f32>>>,
    /// Whose turn it is, as a place in the cohort.
    next: usize,
    added: usize,
    /// The norms of all updates, in device order, where the rule is a robust one.
    norms: Vec<f64>,
    /// Updates with their weights that cannot be added up yet, in device order.
    held: Vec<(f32, Vec<f32>)>,
}

impl Aggregator {
    /// Begins a round for a model of this size.
    pub fn begin(&mut self, parameters: usize, rule: Rule) {
        self.rule = rule;
        self.step.resize(parameters, 0.0);
        self.early.clear();
        self.norms.clear();
        self.held.clear();
        (self.next, self.added) = (0, 0);
    }

    /// Takes the update of the device at a place in the cohort, or none if it will not come; adds up what can
    /// be added, `weight` telling a/q of a place, and hands used memory to `recycle`.
    pub fn take(
        &mut self,
        place: usize,
        delta: Option<Vec<f32>>,
        weight: impl Fn(usize) -> f32,
        mut recycle: impl FnMut(Vec<f32>),
    ) {
        self.early.insert(place, delta);
        while let Some(delta) = self.early.remove(&self.next) {
            if let Some(delta) = delta {
                self.accept(weight(self.next), delta, &mut recycle);
            }
            self.next += 1;
        }
    }

    /// Adds up what was held, once all places are settled.
    pub fn finish(&mut self, mut recycle: impl FnMut(Vec<f32>)) {
        match self.rule {
            Rule::Trimmed { share, .. } if self.held.len() >= trimmed::UPDATES_MIN => {
                trimmed::sum(&self.held, share, &mut self.step);
                self.added = self.held.len();
                self.held.drain(..).for_each(|(_, delta)| recycle(delta));
            }
            _ => self.add_held(&mut recycle),
        }
    }

    /// Places of the cohort that have been added up or given up.
    pub fn settled(&self) -> usize {
        self.next
    }

    /// The sum; none if nobody has reported.
    pub fn step(&self) -> Option<&[f32]> {
        (self.added > 0).then_some(self.step.as_slice())
    }

    /// The median norm of the round's updates, where the rule looks at norms.
    pub fn median_norm(&self) -> Option<f64> {
        norms::median(self.norms.iter().copied())
    }

    fn accept(&mut self, weight: f32, delta: Vec<f32>, recycle: &mut impl FnMut(Vec<f32>)) {
        if self.rule == Rule::Plain {
            self.add(weight, &delta);
            return recycle(delta);
        }
        let norm = norms::norm(&delta);
        self.norms.push(norm);
        if let Rule::Clipped(NormLimit::Known(limit)) = self.rule {
            self.add(clipped(weight, norm, limit), &delta);
            return recycle(delta);
        }
        self.held.push((weight, delta));
        if matches!(self.rule, Rule::Clipped(_)) && self.held.len() == HELD_MAX {
            self.add_held(recycle);
        }
    }

    /// Adds up what was held, clipped: now there is a limit, which also those who come later have.
    fn add_held(&mut self, recycle: &mut impl FnMut(Vec<f32>)) {
        let (Rule::Clipped(limit) | Rule::Trimmed { limit, .. }) = &self.rule else { return };
        if self.held.is_empty() {
            return;
        }
        let limit = limit.with_cohort(&self.norms);
        for (place, (weight, delta)) in std::mem::take(&mut self.held).into_iter().enumerate() {
            self.add(clipped(weight, self.norms[place], limit), &delta);
            recycle(delta);
        }
        self.rule = Rule::Clipped(NormLimit::Known(limit));
    }

    fn add(&mut self, weight: f32, delta: &[f32]) {
        let pairs = self.step.iter_mut().zip(delta);
        if self.added == 0 {
            // The first one replaces what was there: no pass to clear it.
            pairs.for_each(|(sum, delta)| *sum = weight * delta);
        } else {
            pairs.for_each(|(sum, delta)| *sum += weight * delta);
        }
        self.added += 1;
    }
}

/// The weight that makes an update at most as long as the limit, before it is weighted.
fn clipped(weight: f32, norm: f64, limit: f64) -> f32 {
    if norm <= limit { weight } else { (f64::from(weight) * (limit / norm)) as f32 }
}

#[cfg(test)]
mod tests;
