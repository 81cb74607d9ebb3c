use serde::Deserialize;

use super::*;
use crate::sampler::testing::{assert_shares, fleet, golden};

#[derive(Deserialize)]
struct Case {
    norms: Vec<f64>,
    expected: f64,
    optimal: Vec<f64>,
    approximate: Vec<f64>,
}

#[test]
fn the_probabilities_are_those_of_the_publication() {
    for Case { norms, expected, optimal: wanted, approximate: close } in golden("ocs") {
        assert_shares(&optimal(&norms, expected), &wanted, 1e-9);
        assert_shares(&approximate(&norms, expected), &close, 1e-9);
    }
}

/// Σ u²/p over the devices that have learnt something.
fn variance(norms: &[f64], probabilities: &[f64]) -> f64 {
    let terms = norms.iter().zip(probabilities).filter(|(norm, _)| **norm > 0.0);
    terms.map(|(norm, p)| norm * norm / p).sum()
}

/// The problem is convex: if no exchange between two devices helps, nothing does.
#[test]
fn no_exchange_of_probability_lowers_the_variance() {
    for Case { norms, expected, .. } in golden("ocs") {
        let best = optimal(&norms, expected);
        let learnt = norms.iter().filter(|norm| **norm > 0.0).count() as f64;
        assert!((best.iter().sum::<f64>() - expected.min(learnt)).abs() < 1e-9, "{best:?}");
        let approximate = approximate(&norms, expected);
        assert!(approximate.iter().sum::<f64>() <= expected * (1.0 + 1e-12));
        assert!(approximate.iter().all(|p| (0.0..=1.0).contains(p)), "{approximate:?}");
        let least = variance(&norms, &best);
        assert!(variance(&norms, &approximate) >= least * (1.0 - 1e-12));
        for (from, to) in (0..norms.len()).flat_map(|a| (0..norms.len()).map(move |b| (a, b))) {
            let mut other = best.clone();
            let moved = (0.01 * best[from]).min(1.0 - best[to]);
            other[from] -= moved;
            other[to] += moved;
            assert!(variance(&norms, &other) >= least * (1.0 - 1e-12), "{from} {to} {norms:?}");
        }
    }
}

/// Over all outcomes of the coins, the mean weight of a device is its share and the mean number of heads is M.
#[test]
fn the_sum_is_unbiased_for_any_norms() {
    let fleet = fleet();
    let shares = fleet.weights();
    for norms in [[1.0; 4], [0.1, 5.0, 2.0, 0.3], [1e-6, 1.0, 1e6, 1.0]] {
        for probabilities in [optimal, approximate] {
            let weighted: Vec<f64> = norms.iter().zip(shares).map(|(norm, a)| norm * a).collect();
            let p = probabilities(&weighted, 2.0);
            let (mut expected, mut heads) = ([0.0; 4], 0.0);
            for members in 0_usize..16 {
                let is_in = |n: usize| members >> n & 1 == 1;
                let chance: f64 = (0..4).map(|n| if is_in(n) { p[n] } else { 1.0 - p[n] }).product();
                for n in (0..4).filter(|&n| is_in(n)) {
                    expected[n] += chance * shares[n] / p[n];
                    heads += chance;
                }
            }
            assert_shares(&expected, shares, 1e-9);
            assert!((heads - p.iter().sum::<f64>()).abs() < 1e-12);
        }
        let weighted: Vec<f64> = norms.iter().zip(shares).map(|(norm, a)| norm * a).collect();
        assert!((optimal(&weighted, 2.0).iter().sum::<f64>() - 2.0).abs() < 1e-12);
    }
}

/// What the enumeration assumes holds for the draws themselves.
#[test]
fn coins_fall_with_these_probabilities() {
    let fleet = fleet();
    let answers = [0.5, 2.0, 9.0, 0.1];
    let weighted: Vec<f64> = answers.iter().zip(fleet.weights()).map(|(norm, a)| norm * a).collect();
    let p = optimal(&weighted, 2.0);
    let size = CohortSize::new(2).unwrap();
    let schedule = Schedule::new(crate::plan::Plan::from_q(&fleet, vec![0.5; 4]).unwrap(), 1);
    for method in [&Ocs(size) as &dyn Method, &OcsApprox(size)] {
        let mut sampler = method.sampler(&schedule, &fleet);
        let (mut asked, mut draws) = (Vec::new(), Vec::new());
        let question = sampler.ask(1, 1, &mut asked).unwrap();
        assert_eq!((question.about, &asked[..]), (Quantity::UpdateNorm, &[0, 1, 2, 3][..]));
        let (mut taken, mut mean) = ([0.0; 4], [0.0; 4]);
        let seeds = 40_000;
        for seed in 0..seeds {
            let observed = Observed { answers: &answers, ..Observed::default() };
            sampler.draw(1, seed, &observed, &mut draws);
            for draw in &draws {
                taken[draw.device] += 1.0 / seeds as f64;
                mean[draw.device] += draw.weight / seeds as f64;
            }
        }
        assert_shares(&taken, &p, 0.02);
        assert_shares(&mean, fleet.weights(), 0.03);
        assert!(sampler.is_unbiased() && method.is_unbiased());
    }
}

#[test]
fn devices_that_have_learnt_nothing_are_never_drawn() {
    assert_eq!(optimal(&[0.0, 0.0, 0.0], 2.0), [0.0; 3]);
    assert_eq!(approximate(&[0.0, 0.0, 0.0], 2.0), [0.0; 3]);
    assert_eq!(optimal(&[0.0, 3.0, 0.0], 2.0), [0.0, 1.0, 0.0]);
    assert_eq!(optimal(&[0.0, 3.0, 1.0], 3.0), [0.0, 1.0, 1.0]);
}
