use serde::Deserialize;

use super::*;
use crate::sampler::testing::{assert_shares, fleet, golden, with_samples};

#[derive(Deserialize)]
struct Case {
    samples: Vec<f64>,
    size: usize,
    uniforms: Vec<f64>,
    asked: Vec<usize>,
    losses: Vec<f64>,
    chosen: Vec<usize>,
}

#[test]
fn the_cohort_is_that_of_the_publication() {
    for case in golden::<Case>("power_of_choice") {
        let fleet = with_samples(&case.samples);
        let sampler = ByLoss { fleet: &fleet, size: case.size };
        let mut uniforms = case.uniforms.iter().copied();
        let candidates = sampler.candidates_by(|| uniforms.next().unwrap());
        let mut asked = candidates.clone();
        asked.sort_unstable();
        assert_eq!(asked, case.asked);
        assert_eq!(largest(candidates, &case.losses, case.size), case.chosen);
    }
}

/// Devices 1 and 3 hold most of the data; of the candidates, the larger losses of devices 0 and 2 win.
#[test]
fn candidates_come_by_data_and_the_cohort_by_loss() {
    let fleet = fleet();
    let mut sampler = ByLoss { fleet: &fleet, size: 1 };
    let (mut asked, mut draws) = (Vec::new(), Vec::new());
    let losses = [3.0, 1.0, 2.0, 0.5];
    let (mut candidates, mut taken) = ([0.0; 4], [0.0; 4]);
    let seeds = 40_000;
    for seed in 0..seeds {
        let question = sampler.ask(1, seed, &mut asked).unwrap();
        assert_eq!((question.about, question.numbers, asked.len()), (Quantity::Loss, 1, 2));
        let answers: Vec<f64> = asked.iter().map(|&device| losses[device]).collect();
        sampler.draw(1, seed, &Observed { answers: &answers, ..Observed::default() }, &mut draws);
        let largest = asked.iter().copied().max_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap();
        assert_eq!(draws, [Draw { device: largest, weight: 1.0 }]);
        asked.iter().for_each(|&device| candidates[device] += 1.0 / seeds as f64);
        taken[largest] += 1.0 / seeds as f64;
    }
    // A pair {i, j} has the probability a_i a_j (1/(1 − a_i) + 1/(1 − a_j)).
    let a = fleet.weights();
    let pair = |i: usize, j: usize| a[i] * a[j] * (1.0 / (1.0 - a[i]) + 1.0 / (1.0 - a[j]));
    let candidate = [0, 1, 2, 3].map(|i| (0..4).filter(|&j| j != i).map(|j| pair(i, j)).sum());
    assert_shares(&candidates, &candidate, 0.01);
    assert_shares(&taken, &[candidate[0], pair(1, 3), pair(1, 2) + pair(2, 3), 0.0], 0.01);
}

#[test]
fn a_cohort_of_everybody_asks_everybody_once() {
    let fleet = fleet();
    let mut sampler = ByLoss { fleet: &fleet, size: 4 };
    let (mut asked, mut draws) = (Vec::new(), Vec::new());
    sampler.ask(1, 1, &mut asked);
    sampler.draw(1, 1, &Observed { answers: &[1.0; 4], ..Observed::default() }, &mut draws);
    assert_eq!(asked, [0, 1, 2, 3]);
    assert!(draws.iter().all(|draw| draw.weight == 0.25) && draws.len() == 4);
}
