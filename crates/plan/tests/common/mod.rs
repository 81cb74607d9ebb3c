//! Fleets for tests.

use fedflip_fleet::{Device, Fleet, Mbps, Probability, Samples, Secs};
use serde::Deserialize;

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
