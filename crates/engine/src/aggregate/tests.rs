//! Sums do not depend on the order of arrival, and robust ones not much on any single device.

use proptest::prelude::*;

use super::*;
use crate::aggregation::Clip;

const PARAMETERS: usize = 7;

fn delta(place: usize) -> Vec<f32> {
    (0..PARAMETERS).map(|k| ((place * 13 + k * 5) % 11) as f32 / 7.0 - 0.6).collect()
}

fn rules() -> impl Strategy<Value = Rule> {
    let none = NormHistory::default();
    let (learnt, learning) = (NormLimit::Known(0.9), NormLimit::of(Clip::Auto, &none));
    prop_oneof![
        Just(Rule::Plain),
        Just(Rule::Clipped(learnt)),
        Just(Rule::Clipped(learning.clone())),
        (0.0..0.49).prop_map(move |share| Rule::Trimmed { share, limit: learning.clone() }),
    ]
}

/// The step of a round in which updates arrive in this order.
fn step(
    rule: &Rule,
    order: &[usize],
    weights: &[f32],
    update: impl Fn(usize) -> Option<Vec<f32>>,
) -> Vec<f32> {
    let mut aggregator = Aggregator::default();
    // What was there before does not matter.
    aggregator.begin(PARAMETERS, rule.clone());
    aggregator.take(0, Some(vec![9.0; PARAMETERS]), |_| 1.0, drop);
    aggregator.begin(PARAMETERS, rule.clone());
    let (mut sent, mut recycled) = (0, 0);
    for &place in order.iter().filter(|&&place| place < weights.len()) {
        let delta = update(place);
        sent += usize::from(delta.is_some());
        aggregator.take(place, delta, |place| weights[place], |_| recycled += 1);
    }
    aggregator.finish(|_| recycled += 1);
    assert_eq!((aggregator.settled(), recycled), (weights.len(), sent));
    aggregator.step().map(<[f32]>::to_vec).unwrap_or_default()
}

proptest! {
    /// To the byte, for any order of arrival and any rule.
    #[test]
    fn arrival_does_not_matter(
        rule in rules(),
        weights in prop::collection::vec(0.01_f32..100.0, 1..12),
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
        missing in 0_usize..12,
    ) {
        let update = |place: usize| (place != missing).then(|| delta(place));
        let ordered: Vec<usize> = (0..12).collect();
        prop_assert_eq!(step(&rule, &order, &weights, update), step(&rule, &ordered, &weights, update));
    }

    /// Whatever it sends, a device moves a clipped sum by no more than its weight times the limit.
    #[test]
    fn no_device_moves_a_clipped_sum_by_more_than_its_weight_times_the_limit(
        weights in prop::collection::vec(0.01_f32..100.0, 1..12),
        hostile in any::<prop::sample::Index>(),
        sent in prop::collection::vec(-1e15_f32..1e15, PARAMETERS),
        limit in 0.001_f64..10.0,
    ) {
        let (rule, hostile) = (Rule::Clipped(NormLimit::Known(limit)), hostile.index(weights.len()));
        let order: Vec<usize> = (0..weights.len()).collect();
        let of = |update: Option<Vec<f32>>| {
            let found = step(&rule, &order, &weights, |place| {
                if place == hostile { update.clone() } else { Some(delta(place)) }
            });
            if found.is_empty() { vec![0.0; PARAMETERS] } else { found }
        };
        let (with, without) = (of(Some(sent)), of(None));
        let moved = with.iter().zip(&without).map(|(with, without)| f64::from(with - without).powi(2)).sum::<f64>();
        let bound = f64::from(weights[hostile]) * limit;
        // What is left is the rounding of the sums.
        let total: f64 = weights.iter().map(|&weight| f64::from(weight) * limit.max(2.0)).sum();
        prop_assert!(moved.sqrt() <= bound + 1e-5 * total, "{} > {bound}", moved.sqrt());
    }
}

#[test]
fn nobody_makes_no_step() {
    for rule in [Rule::Plain, Rule::Trimmed { share: 0.1, limit: NormLimit::Known(1.0) }] {
        let mut aggregator = Aggregator::default();
        aggregator.begin(3, rule);
        aggregator.take(0, None, |_| 1.0, drop);
        aggregator.finish(drop);
        assert_eq!((aggregator.step(), aggregator.settled(), aggregator.median_norm()), (None, 1, None));
    }
}

/// In the first rounds the limit is that of the first updates, and no more of them are held.
#[test]
fn a_limit_that_is_not_known_is_learnt_from_the_first_updates() {
    let mut aggregator = Aggregator::default();
    let learning = NormLimit::of(Clip::Auto, &NormHistory::default());
    aggregator.begin(1, Rule::Clipped(learning));
    let mut recycled = 0;
    for place in 0..100 {
        // Most have a norm of 1, and a few of 1,000.
        let size = if place % 10 == 3 { 1000.0 } else { 1.0 };
        aggregator.take(place, Some(vec![size]), |_| 1.0, |_| recycled += 1);
        assert_eq!(aggregator.held.len(), if place + 1 < HELD_MAX { place + 1 } else { 0 });
    }
    aggregator.finish(drop);
    assert_eq!((aggregator.step(), recycled), (Some(&[100.0][..]), 100));
    assert_eq!(aggregator.median_norm(), Some(1.0));
}

/// With fewer than three updates there are no ends to leave out.
#[test]
fn two_updates_are_clipped_instead_of_trimmed() {
    let rule = Rule::Trimmed { share: 0.1, limit: NormLimit::Known(5.0) };
    let update = |place: usize| {
        let size = [1.0, 320.0, 3.0][place];
        Some([vec![size], vec![0.0; PARAMETERS - 1]].concat())
    };
    assert_eq!(step(&rule, &[0, 1], &[2.0, 1.0], update)[0], 2.0 + 5.0);
    assert_eq!(step(&rule, &[0, 1, 2], &[1.0, 1.0, 1.0], update)[0], 9.0);
}
