//! Fleets for tests.
#![allow(dead_code, unreachable_pub, reason = "each test binary uses its own part of this module")]

use fedflip_fleet::{Device, Fleet, Mbps, Probability, Samples, Secs};
use proptest::prelude::*;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A fleet as the golden files have it.
#[derive(Clone, Debug, Deserialize)]
pub struct Columns {
    pub compute_secs: Vec<f64>,
    pub comm_secs: Vec<f64>,
    pub samples: Vec<f64>,
    pub availability: Vec<f64>,
}

impl Columns {
    pub fn fleet(&self) -> Fleet {
        let mut builder = Fleet::builder();
        for n in 0..self.samples.len() {
            builder
                .push(Device {
                    name: &format!("device-{n}"),
                    compute_secs: Secs::new(self.compute_secs[n]).unwrap(),
                    comm_secs: Secs::new(self.comm_secs[n]).unwrap(),
                    samples: Samples::new(self.samples[n]).unwrap(),
                    availability: Probability::new(self.availability[n]).unwrap(),
                })
                .unwrap();
        }
        builder.build().unwrap()
    }
}

/// The cases of a golden file; `tests/golden/README.md` says where they come from.
pub fn golden<T: DeserializeOwned>(file: &str) -> T {
    #[derive(Deserialize)]
    struct Golden<T> {
        cases: T,
    }
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str::<Golden<T>>(&text).unwrap_or_else(|error| panic!("{path}: {error}")).cases
}

pub fn mbps(value: f64) -> Mbps {
    Mbps::new(value).unwrap()
}

/// Times over seven orders of magnitude, zeros among them; skewed data; some devices rarely reachable.
pub fn any_columns(devices: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Columns> {
    let log = |low: f64, high: f64| (low.ln()..high.ln()).prop_map(f64::exp);
    let device = (
        prop_oneof![1 => Just(0.0), 9 => log(1e-3, 1e3)],
        prop_oneof![1 => Just(0.0), 9 => log(1e-3, 1e3)],
        log(1.0, 1e4),
        prop_oneof![1 => Just(1.0), 1 => 0.05..=1.0_f64],
    );
    prop::collection::vec(device, devices).prop_map(|rows| Columns {
        compute_secs: rows.iter().map(|row| row.0).collect(),
        comm_secs: rows.iter().map(|row| row.1).collect(),
        samples: rows.iter().map(|row| row.2.round()).collect(),
        availability: rows.iter().map(|row| row.3).collect(),
    })
}

/// Every cohort of a small fleet with its probability.
pub fn cohorts(q: &[f64]) -> impl Iterator<Item = (f64, Vec<usize>)> + '_ {
    (0_u32..1 << q.len()).map(|members| {
        let cohort: Vec<usize> = (0..q.len()).filter(|n| members >> n & 1 == 1).collect();
        let chance = |(n, &q): (usize, &f64)| if members >> n & 1 == 1 { q } else { 1.0 - q };
        (q.iter().enumerate().map(chance).product(), cohort)
    })
}

#[track_caller]
pub fn assert_close(what: &str, ours: f64, expected: f64, relative: f64) {
    let off = (ours - expected).abs();
    assert!(
        off <= relative * expected.abs().max(1e-300),
        "{what}: {ours} is not {expected} (off by {off:e})"
    );
}
