//! Deployed runs as they were before scenarios and runs became libraries: the program of commit e60d675 gave the same
//! cohorts and the same models from these seeds, whose coins are those of the devices. Only their times differ a little: the
//! waits for devices after restarts do not count any more, and the payload of an upload is known and not measured.

use std::fmt::Write;

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::Rule;
use fedflip_learn::Encoding;
use fedflip_plan::Scheme;

use crate::roles::Actor;
use crate::run::{Outcome, SimRun};

const EXPECTED: &str = include_str!("before.txt");

fn deployment(seed: u64) -> SimRun {
    let mut run = SimRun::full(seed, [0.1, 0.2, 0.4, 0.3].map(Actor::honest).to_vec(), 30);
    run.wanted.scheme = Scheme::Uniform;
    run
}

/// Cohorts, the virtual time at the end, and the last training losses; and, where the processor is of the kind on which the
/// runs were recorded and sums are rounded as there, the digest of the model.
fn told(name: &str, outcome: &Outcome) -> String {
    let mut text = format!("{name}:");
    for round in &outcome.rounds {
        let cohort: String = round.cohort.iter().map(usize::to_string).collect();
        write!(text, " {}", if cohort.is_empty() { "-" } else { &cohort }).unwrap();
    }
    let last = outcome.rounds.last().unwrap();
    let losses = outcome.rounds.iter().rev().filter_map(|round| round.train_loss).take(3);
    let losses: Vec<String> = losses.map(|loss| format!("{loss:.9}")).collect();
    write!(text, " | {:.6} s | {}", last.start_secs + last.round_secs, losses.join(" ")).unwrap();
    let digest: String = outcome.model_sha256.unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    if is_recorded_processor() { text + " | " + &digest } else { text }
}

fn is_recorded_processor() -> bool {
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    processor.contains("AMD EPYC") && processor.contains("avx512f")
}

#[test]
fn deployed_runs_are_what_they_were() {
    let plain = deployment(1);
    let mut momentum = deployment(2);
    momentum.wanted.optimiser =
        Optimiser { averaging: 0.5, ..Rule::Momentum { step: 0.5, momentum: 0.5 }.into() };
    let mut int8 = deployment(3);
    int8.wanted.encoding = Encoding::Int8;
    let killed = SimRun { kill_at_secs: vec![6.3, 9.0], ..deployment(4) };
    assert_eq!(EXPECTED.lines().count(), 4);
    let all = [("plain", plain), ("momentum", momentum), ("int8", int8), ("killed", killed)];
    let told: Vec<String> = all.iter().map(|(name, run)| told(name, &run.run())).collect();
    for (told_now, expected) in told.iter().zip(EXPECTED.lines()) {
        assert!(expected.starts_with(told_now), "it was\n{EXPECTED}\nand is\n{}", told.join("\n"));
    }
}
