//! The promise about reports: eight schemes, five seeds and 5,000 rounds each, within two seconds and three MB.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::{RUNS, measure};
use crate::bench::Bench;
use crate::error::LabError;
use crate::files;

const SECS_MAX: f64 = 2.0;
const BYTES_MAX: u64 = 3_000_000;
const SEEDS: u64 = 5;
const ROUNDS: u64 = 5_000;
const DEVICES: usize = 100;
/// Name, and q of every device: what matters here is how long the lines are.
const SCHEMES: [(&str, f64); 8] = [
    ("exact", 0.01),
    ("paper", 0.011),
    ("tight", 0.013),
    ("sampled", 0.015),
    ("weighted", 0.01),
    ("uniform", 0.01),
    ("fixed=0.2", 0.2),
    ("full", 1.0),
];

/// Writes synthetic runs, and has a report made of them.
pub(super) fn run(bench: &Bench, slack: f64, folder: &Path) -> Result<(), LabError> {
    let runs = folder.join("runs");
    for (scheme, q) in SCHEMES {
        for seed in 1..=SEEDS {
            let run = runs.join(format!("{scheme}-seed{seed}"));
            files::create_folder(&run)?;
            for (name, text) in run_folder(scheme, q, seed) {
                files::write(&run.join(name), &text)?;
            }
        }
    }
    let page = folder.join("report.html");
    let mut secs = f64::INFINITY;
    for _ in 0..RUNS {
        let mut report = bench.fedflip();
        report.arg("report").arg(&runs).arg("--out").arg(&page);
        secs = secs.min(measure(&mut report, &folder.join("report.txt"))?.0);
    }
    let bytes = fs::metadata(&page).map_err(|source| LabError::File { path: page, source })?.len();
    println!(
        "   a report of {} runs with {ROUNDS} rounds each: {secs:.2} s, {} kB",
        SCHEMES.len() as u64 * SEEDS,
        bytes / 1000
    );
    let secs_max = slack * SECS_MAX;
    if secs > secs_max || bytes > BYTES_MAX {
        return Err(LabError::Broken(format!(
            "the report took {secs:.2} s and {bytes} bytes; at most {secs_max} s and {BYTES_MAX} bytes are allowed"
        )));
    }
    Ok(())
}

/// The files of a run folder.
fn run_folder(scheme: &str, q: f64, seed: u64) -> [(&'static str, String); 4] {
    let mut fleet = String::from("device,compute_secs,comm_secs,samples\n");
    let mut plan = String::from("device,q,weight\n");
    for device in 0..DEVICES {
        // Writing to a `String` cannot fail.
        let _ = writeln!(fleet, "type{}-{device:02},0.0{},0.8,600", device / 20, 2 + device / 20);
        let _ = writeln!(plan, "type{}-{device:02},{q},{}", device / 20, 0.01 / q);
    }
    let scenario = format!(
        "seed = {seed}\n[fleet]\nbandwidth_mbps = 100\n[plan]\nscheme = \"{scheme}\"\nalpha = 48\nbeta = 2\n"
    );
    [
        ("fleet.csv", fleet),
        ("plan.csv", plan),
        ("run.toml", scenario),
        ("records.jsonl", records(scheme, q, seed)),
    ]
}

fn records(scheme: &str, q: f64, seed: u64) -> String {
    let mut text = format!(
        r#"{{"type":"header","version":3,"fedflip":"0.1.0","task":"mnist-cnn","scheme":"{scheme}","seed":{seed},"devices":{DEVICES},"parameters":21840,"bandwidth_mbps":100.0,"metrics":[{{"name":"accuracy","better":"larger","display":"share"}},{{"name":"loss","better":"smaller","display":"number"}}],"stop":{{"metric":"accuracy","at":0.95,"mode":"max"}},"expected_participants":{},"expected_rounds":40.0,"expected_round_secs":0.06}}"#,
        q * DEVICES as f64
    );
    text.push('\n');
    let mut state = seed;
    // Knuth's multiplier: any coin will do.
    let mut coin = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut start_secs = 0.0;
    for round in 1..=ROUNDS {
        let cohort: Vec<usize> = (0..DEVICES).filter(|_| coin() < q).collect();
        let mbps = vec![100.0 / cohort.len().max(1) as f32; cohort.len()];
        let round_secs = 0.05 * cohort.len() as f64 * (0.5 + coin());
        let metrics = if round % 5 == 0 {
            let error = 0.9 / (1.0 + round as f64 / 500.0) + 0.03 * coin();
            format!(r#","metrics":{{"accuracy":{},"loss":{}}}"#, 1.0 - error, 2.5 * error)
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            r#"{{"type":"round","round":{round},"start_secs":{start_secs},"round_secs":{round_secs},"cohort":{cohort:?},"mbps":{mbps:?},"train_loss":1.5{metrics}}}"#
        );
        start_secs += round_secs;
    }
    let _ = writeln!(text, r#"{{"type":"end","reason":"target","rounds":{ROUNDS},"secs":{start_secs}}}"#);
    text
}
