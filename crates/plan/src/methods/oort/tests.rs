use serde::Deserialize;

use super::*;
use crate::sampler::testing::{golden, with_samples};

#[derive(Deserialize)]
struct Case {
    samples: Vec<f64>,
    alone_secs: Vec<f64>,
    size: usize,
    rounds: Vec<Round>,
}

#[derive(Deserialize)]
struct Round {
    uniforms: Vec<f64>,
    invited: Vec<usize>,
    preferred_secs: Option<f64>,
    reports: Vec<(usize, f64, f64)>,
}

impl Round {
    fn reports(&self) -> Vec<Report> {
        let report = |&(device, train_loss, alone_secs)| Report { device, train_loss, alone_secs };
        self.reports.iter().map(report).collect()
    }
}

#[test]
fn every_round_invites_as_the_publication_does() {
    let mut raised = 0;
    for case in golden::<Case>("oort") {
        let fleet = with_samples(&case.samples);
        let mut sampler = ByUtility::new(&fleet, case.size);
        let observed = Observed { alone_secs: &case.alone_secs, ..Observed::default() };
        for (round, number) in case.rounds.iter().zip(1..) {
            let mut uniforms = round.uniforms.iter().copied();
            let invited = sampler.invited(number, &observed, || uniforms.next().unwrap());
            assert_eq!(invited, round.invited, "round {number}");
            let preferred_secs = sampler.preferred_secs(&observed);
            assert_eq!(preferred_secs, round.preferred_secs.unwrap_or(f64::INFINITY), "round {number}");
            sampler.observe(number, &round.reports());
        }
        raised += u32::from(sampler.percentile > PERCENTILES[0]);
    }
    assert!((1..6).contains(&raised), "the pacer raises T where losses fall: {raised}");
}

/// A resumed run replays reports into a new sampler, without the draws.
#[test]
fn reports_are_all_that_draws_depend_on() {
    let case = golden::<Case>("oort").remove(0);
    let fleet = with_samples(&case.samples);
    let observed = Observed { alone_secs: &case.alone_secs, ..Observed::default() };
    let [mut whole, mut resumed] = [0, 1].map(|_| ByUtility::new(&fleet, case.size));
    let (mut draws, mut again) = (Vec::new(), Vec::new());
    for (round, number) in case.rounds.iter().zip(1..) {
        whole.draw(number, 7, &observed, &mut draws);
        if number > 45 {
            resumed.draw(number, 7, &observed, &mut again);
            assert_eq!(draws, again, "round {number}");
        }
        whole.observe(number, &round.reports());
        resumed.observe(number, &round.reports());
    }
}

#[test]
fn useful_and_fast_devices_are_drawn_more_often_and_everybody_is_explored() {
    let fleet = with_samples(&[100.0; 20]);
    // The second half is ten times slower; every other device has four times the loss.
    let secs: Vec<f64> = (0..20).map(|n| if n < 10 { 1.0 } else { 10.0 }).collect();
    let observed = Observed { alone_secs: &secs, ..Observed::default() };
    let mut sampler = ByUtility::new(&fleet, 4);
    let (mut draws, mut taken) = (Vec::new(), [0_u32; 20]);
    for round in 1..=400 {
        sampler.draw(round, 3, &observed, &mut draws);
        assert_eq!((draws.len(), sampler.counted()), (6, 4), "1.3 times as many are invited");
        assert!(draws.iter().all(|draw| draw.weight == 0.25));
        let report = |draw: &Draw| Report {
            device: draw.device,
            train_loss: if draw.device.is_multiple_of(2) { 2.0 } else { 0.5 },
            alone_secs: secs[draw.device],
        };
        draws.iter().for_each(|draw| taken[draw.device] += 1);
        let reports: Vec<Report> = draws.iter().map(report).collect();
        sampler.observe(round, &reports);
    }
    let sum =
        |devices: &dyn Fn(usize) -> bool| -> u32 { (0..20).filter(|&n| devices(n)).map(|n| taken[n]).sum() };
    assert!(taken.iter().all(|&times| times > 0), "{taken:?}");
    let [useful, useless] = [0, 1].map(|odd| sum(&|n| n < 10 && n % 2 == odd));
    assert!(useful > 3 * useless && useless > sum(&|n| n >= 10 && n % 2 == 1), "{taken:?}");
    assert!(useful > 2 * sum(&|n| n >= 10), "{taken:?}");
}

#[test]
fn a_report_of_a_device_that_does_not_exist_is_ignored() {
    let fleet = with_samples(&[10.0; 2]);
    let mut sampler = ByUtility::new(&fleet, 1);
    sampler.observe(1, &[Report { device: 9, train_loss: 1.0, alone_secs: 1.0 }]);
    let mut draws = Vec::new();
    sampler.draw(2, 1, &Observed::default(), &mut draws);
    assert_eq!(draws.len(), 2);
    // Losses of 0 leave everybody equal.
    sampler.observe(2, &[0, 1].map(|device| Report { device, train_loss: 0.0, alone_secs: 0.0 }));
    sampler.draw(3, 1, &Observed::default(), &mut draws);
    assert_eq!(draws.len(), 2);
}
