//! The usual size of an update, and what is absurd beside it.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Devices that must have reported before it is known what is usual.
const DEVICES_TO_LEARN: usize = 3;
/// How far above the usual one an update may be: devices' data differ, their training does not.
const FACTOR_MAX: f64 = 100.0;
/// And before that: no training that makes sense goes so far.
const NORM_MAX: f64 = 1e6;

/// Knows the last size of every device's update: the usual one is their median, so that each device has one vote
/// and none can move it far.
#[derive(Debug, Default)]
pub(super) struct NormGuard(Mutex<BTreeMap<usize, f64>>);

impl NormGuard {
    /// Whether an update is of a sensible size. Also one that is not counts for what is usual: where all devices
    /// agree that updates have become large, they have.
    pub(super) fn accepts(&self, slot: usize, delta: &[f32]) -> bool {
        let norm = delta.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>().sqrt();
        let mut norms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let most = match usual(&norms) {
            Some(usual) => (usual * FACTOR_MAX).min(NORM_MAX),
            None => NORM_MAX,
        };
        // A device that learnt nothing says nothing about the others.
        if norm > 0.0 && norm <= NORM_MAX {
            norms.insert(slot, norm);
        }
        norm <= most
    }
}

fn usual(norms: &BTreeMap<usize, f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = norms.values().copied().collect();
    sorted.sort_by(f64::total_cmp);
    (sorted.len() >= DEVICES_TO_LEARN).then(|| sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt() -> NormGuard {
        let guard = NormGuard::default();
        assert!(!guard.accepts(0, &[f32::MAX, 1.0]), "even at first");
        for k in 0..50 {
            assert!(guard.accepts(k % 5, &[0.1 + 0.01 * (k % 7) as f32; 4]));
        }
        guard
    }

    #[test]
    fn an_absurd_update_is_refused() {
        let guard = learnt();
        assert!(guard.accepts(1, &[2.0; 4]), "larger, but sensible");
        assert!(!guard.accepts(1, &[1e3; 4]));
        assert!(guard.accepts(1, &[0.0; 4]));
        assert!(guard.accepts(2, &[0.1; 4]));
    }

    #[test]
    fn one_device_cannot_move_what_is_usual() {
        let guard = learnt();
        for _ in 0..1000 {
            assert!(guard.accepts(0, &[1e-38; 4]));
        }
        assert!(guard.accepts(1, &[0.2; 4]), "the others are as welcome as before");
        for _ in 0..1000 {
            guard.accepts(0, &[9e5; 1]);
        }
        assert!(!guard.accepts(1, &[1e3; 4]));
    }

    #[test]
    fn what_all_devices_say_is_usual() {
        let guard = learnt();
        for slot in 0..5 {
            guard.accepts(slot, &[1e3; 4]);
        }
        assert!(guard.accepts(0, &[1e3; 4]));
    }
}
