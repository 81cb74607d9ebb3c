//! Fleets for tests.

use fedflip_fleet::{Fleet, Mbps};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A fleet as the golden files have it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Columns {
    pub(crate) compute_secs: Vec<f64>,
    pub(crate) comm_secs: Vec<f64>,
    pub(crate) samples: Vec<f64>,
    pub(crate) availability: Vec<f64>,
}

impl Columns {
    pub(crate) fn fleet(&self) -> Fleet {
        Fleet::from_columns(fedflip_fleet::Columns {
            compute_secs: &self.compute_secs,
            comm_secs: &self.comm_secs,
            samples: &self.samples,
            availability: Some(&self.availability),
            ..fedflip_fleet::Columns::default()
        })
        .unwrap()
    }
}

pub(crate) fn mbps(value: f64) -> Mbps {
    Mbps::new(value).unwrap()
}

/// Every cohort of a small fleet with its probability.
pub(crate) fn cohorts(q: &[f64]) -> impl Iterator<Item = (f64, Vec<usize>)> + '_ {
    (0_u32..1 << q.len()).map(|members| {
        let cohort: Vec<usize> = (0..q.len()).filter(|n| members >> n & 1 == 1).collect();
        let chance = |(n, &q): (usize, &f64)| if members >> n & 1 == 1 { q } else { 1.0 - q };
        (q.iter().enumerate().map(chance).product(), cohort)
    })
}

#[track_caller]
pub(crate) fn assert_close(what: &str, ours: f64, expected: f64, relative: f64) {
    let off = (ours - expected).abs();
    assert!(
        off <= relative * expected.abs().max(1e-300),
        "{what}: {ours} is not {expected} (off by {off:e})"
    );
}

/// The cases of a golden file; `tests/golden/README.md` says where they come from.
#[allow(dead_code, reason = "the properties of plans have no golden values")]
pub(crate) fn golden<T: DeserializeOwned>(file: &str) -> T {
    #[derive(Deserialize)]
    struct Golden<T> {
        cases: T,
    }
    let path = format!("{}/tests/golden/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str::<Golden<T>>(&text).unwrap_or_else(|error| panic!("{path}: {error}")).cases
}
