//! Σ (a_n/q_n) Δ_n in device order, whatever the order of arrival.
//!
//! Floating-point sums depend on their order. Updates are added up as soon as all before them have been:
//! those that come early wait, and nothing else is kept.

use std::collections::BTreeMap;

/// The sum of a round in the making.
#[derive(Debug, Default)]
pub struct Aggregator {
    step: Vec<f32>,
    /// Those that came before their turn: none for devices that will not come.
    early: BTreeMap<usize, Option<Vec<f32>>>,
    /// Whose turn it is, as a place in the cohort.
    next: usize,
    added: usize,
}

impl Aggregator {
    /// Begins a round.
    pub fn begin(&mut self, parameters: usize) {
        self.step.resize(parameters, 0.0);
        self.early.clear();
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
                self.add(weight(self.next), &delta);
                recycle(delta);
            }
            self.next += 1;
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// To the byte, for any order of arrival.
        #[test]
        fn arrival_does_not_matter(
            weights in prop::collection::vec(0.01_f32..100.0, 1..12),
            order in any::<prop::sample::Index>().prop_flat_map(|_| Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle()),
            missing in 0_usize..12,
        ) {
            let delta = |place: usize| -> Vec<f32> {
                (0..7).map(|k| ((place * 13 + k * 5) % 11) as f32 / 7.0 - 0.6).collect()
            };
            let run = |order: &[usize]| {
                let mut aggregator = Aggregator::default();
                // What was there before does not matter.
                aggregator.begin(7);
                aggregator.take(0, Some(vec![9.0; 7]), |_| 1.0, drop);
                aggregator.begin(7);
                let mut recycled = 0;
                for &place in order.iter().filter(|&&place| place < weights.len()) {
                    let delta = (place != missing).then(|| delta(place));
                    aggregator.take(place, delta, |place| weights[place], |_| recycled += 1);
                }
                assert_eq!(aggregator.settled(), weights.len());
                assert_eq!(recycled, weights.len() - usize::from(missing < weights.len()));
                aggregator.step().map(<[f32]>::to_vec)
            };
            let ordered: Vec<usize> = (0..12).collect();
            prop_assert_eq!(run(&order), run(&ordered));
        }
    }

    #[test]
    fn nobody_makes_no_step() {
        let mut aggregator = Aggregator::default();
        aggregator.begin(3);
        aggregator.take(0, None, |_| 1.0, drop);
        assert_eq!((aggregator.step(), aggregator.settled()), (None, 1));
    }
}
