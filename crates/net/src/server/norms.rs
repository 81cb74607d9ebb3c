//! Bounds the norms of updates.
//!
//! An update within the start bound always counts, and no device can change that bound: it is configured, or it follows
//! from a trial that the server trains itself. A larger update counts only if more than half of the *other* enrolled
//! devices last sent an update of at least a hundredth of its norm, there are three devices or more, and it is within a
//! fixed multiple of the start bound. A configured bound is never exceeded.
//!
//! So a device's own updates do not raise its own bound; a refused update has no effect; a device that has sent nothing
//! counts as small; and in a fleet of one or two devices the start bound holds for ever.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fedflip_engine::norms::norm;
use fedflip_learn::{LearnError, Learner, TrainKey};

use crate::error::NetError;
use crate::state::STATE;

/// The norm of an update, in norms of the trial: devices' data differ, their training does not.
const TRIAL_FACTOR_MAX: f64 = 30.0;
/// The norm of an update, in norms of the model: a trial that diverges must not raise the bound.
const MODEL_FACTOR_MAX: f64 = 100.0;
/// A smaller model, such as one that starts at zero, counts as a model of this norm.
const MODEL_NORM_MIN: f64 = 1.0;
/// A smaller fleet has no majority.
const DEVICES_TO_AGREE: usize = 3;
/// The norm of an update, in norms of the majority's updates.
const FACTOR_MAX: f64 = 100.0;
/// The norm that a majority can allow, in start bounds.
const GROWTH_MAX: f64 = 100.0;
/// No sensible training exceeds this norm.
const NORM_MAX: f64 = 1e6;

/// The start bound of the norms of updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NormBound {
    /// Set by the operator; it holds for ever.
    Configured(f64),
    /// Found by a trial; a majority of devices can exceed it.
    Trial(f64),
}

impl NormBound {
    /// Trains the device that has the most samples, from the model that every run of this seed begins with: the bound
    /// is the same after every restart, and devices have no part in it.
    pub fn of_trial<L: Learner>(learner: &L, seed: u64) -> Result<Self, LearnError> {
        let model = learner.initial_model(seed);
        let of_most = (0..learner.devices()).rev().max_by_key(|&device| learner.samples(device));
        let mut delta = vec![0.0; learner.params_len()];
        // Rounds count from 1, so round 0 is nobody's.
        let key = TrainKey::new(seed, 0, of_most.unwrap_or_default());
        let trained = match learner.train(&mut learner.worker(), model.as_slice(), key, &mut delta) {
            Ok(_) => norm(&delta),
            Err(LearnError::Diverged { .. } | LearnError::NotFinite { .. }) => f64::INFINITY,
            Err(error) => return Err(error),
        };
        Ok(Self::of_norms(trained, norm(model.as_slice())))
    }

    /// The largest norm at the start.
    pub fn norm_max(self) -> f64 {
        match self {
            Self::Configured(most) | Self::Trial(most) => most,
        }
    }

    fn of_norms(trained: f64, model: f64) -> Self {
        let most = MODEL_FACTOR_MAX * model.max(MODEL_NORM_MIN);
        // A trial without effect, or with too much of it, does not count.
        let by_trial = if trained > 0.0 { TRIAL_FACTOR_MAX * trained } else { most };
        Self::Trial(by_trial.min(most).min(NORM_MAX))
    }
}

/// Keeps the norm of the last accepted update of every device.
#[derive(Debug)]
pub(super) struct NormGuard {
    bound: NormBound,
    norms: Mutex<BTreeMap<usize, f64>>,
}

impl NormGuard {
    pub(super) fn new(bound: NormBound) -> Self {
        Self { bound, norms: Mutex::default() }
    }

    /// Whether an update of this norm is plausible in a fleet of this number of `devices`.
    pub(super) fn allows(&self, slot: usize, norm: f64, devices: usize) -> bool {
        match self.bound {
            NormBound::Configured(most) => norm <= most,
            NormBound::Trial(start) => {
                let most = (GROWTH_MAX * start).min(NORM_MAX);
                norm <= start || (norm <= most && self.others_agree(slot, norm, devices))
            }
        }
    }

    fn others_agree(&self, slot: usize, norm: f64, devices: usize) -> bool {
        let norms = self.norms();
        let agree = norms.iter().filter(|&(&other, last)| other != slot && norm <= FACTOR_MAX * last);
        devices >= DEVICES_TO_AGREE && 2 * agree.count() > devices - 1
    }

    /// Notes an accepted update.
    pub(super) fn took(&self, slot: usize, norm: f64) {
        self.norms().insert(slot, norm);
    }

    pub(super) fn stored(&self) -> String {
        serde_json::to_string(&*self.norms()).unwrap_or_default()
    }

    /// Takes over the norms that the state kept.
    pub(super) fn restore(&self, stored: Option<&str>) -> Result<(), NetError> {
        let Some(stored) = stored else { return Ok(()) };
        let kept: BTreeMap<usize, f64> = serde_json::from_str(stored)
            .map_err(|error| NetError::damaged(STATE, format!("the sizes of its updates: {error}")))?;
        self.norms().extend(kept);
        Ok(())
    }

    fn norms(&self) -> MutexGuard<'_, BTreeMap<usize, f64>> {
        self.norms.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: f64 = 10.0;

    fn guard() -> NormGuard {
        NormGuard::new(NormBound::Trial(START))
    }

    impl NormGuard {
        fn accepts(&self, slot: usize, norm: f64, devices: usize) -> bool {
            let allowed = self.allows(slot, norm, devices);
            if allowed {
                self.took(slot, norm);
            }
            allowed
        }
    }

    /// The median, the lower of the two in the middle; what is not known is nothing.
    fn median(mut norms: Vec<f64>) -> f64 {
        norms.sort_by(f64::total_cmp);
        norms[(norms.len() - 1) / 2]
    }

    #[test]
    fn the_bound_holds_from_the_first_update_on_and_after_a_restart() {
        let guard = guard();
        assert!(!guard.accepts(0, 9.9e5, 3), "before anybody has reported");
        for slot in 0..3 {
            assert!(guard.accepts(slot, 0.1, 3));
        }
        assert!(!guard.accepts(0, 9.9e5, 3));
        let again = NormGuard::new(NormBound::Trial(START));
        again.restore(Some(&guard.stored())).unwrap();
        assert_eq!(again.stored(), guard.stored());
        assert!(!again.accepts(0, 9.9e5, 3));
        assert!(again.restore(Some("{")).unwrap_err().to_string().contains("state.sqlite"));
    }

    #[test]
    fn fleets_of_one_and_two_never_leave_the_start_bound() {
        for devices in [1, 2] {
            let guard = guard();
            let mut norm = 0.1;
            for turn in 0..100 {
                // Each asks for 99 times what was taken last, in turn.
                let taken = guard.accepts(turn % devices, 99.0 * norm, devices);
                assert_eq!(taken, 99.0 * norm <= START);
                norm = if taken { 99.0 * norm } else { norm };
            }
        }
    }

    #[test]
    fn a_majority_of_the_others_is_needed_and_gets_so_far_only() {
        let guard = guard();
        assert!(guard.accepts(0, 9.0, 4));
        assert!(!guard.accepts(0, 500.0, 4), "its own does not count");
        assert!(!guard.accepts(3, 500.0, 4), "one of three others");
        assert!(guard.accepts(1, 9.0, 4));
        assert!(guard.accepts(3, 500.0, 4), "two of three");
        assert!(!guard.accepts(3, 1.01 * GROWTH_MAX * START, 4));
        (0..4).for_each(|slot| guard.took(slot, 900.0));
        assert!(!guard.accepts(0, 1.01 * GROWTH_MAX * START, 4), "whoever agrees");
    }

    #[test]
    fn a_configured_bound_is_the_bound() {
        let guard = NormGuard::new(NormBound::Configured(7.0));
        (0..5).for_each(|slot| guard.took(slot, 7.0));
        assert!(guard.allows(0, 7.0, 5) && !guard.allows(0, 7.1, 5));
    }

    #[test]
    fn a_trial_that_says_nothing_leaves_the_models_own_scale() {
        let bound = NormBound::of_norms;
        assert_eq!(bound(2.0, 50.0), NormBound::Trial(60.0));
        for trained in [0.0, f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(bound(trained, 50.0), NormBound::Trial(5_000.0));
            assert_eq!(bound(trained, 0.0), NormBound::Trial(100.0), "a model that begins at zero");
        }
        assert_eq!(bound(1e30, 1e30), NormBound::Trial(NORM_MAX));
    }

    proptest! {
        /// Whatever one device of three or more sends, in whichever order: nothing of it is taken that exceeds both the
        /// start bound and 100 times the median of what the others last sent, and it shuts nobody out.
        #[test]
        fn one_device_moves_nothing(
            devices in 3_usize..9,
            turns in prop::collection::vec((0_usize..9, 0.0..1.0_f64, -40.0..12.0_f64), 1..200),
        ) {
            let guard = guard();
            let mut honest = vec![0.0; devices - 1];
            for (slot, honest_size, rogue_exponent) in turns {
                let slot = slot % devices;
                if slot + 1 == devices {
                    let norm = 10_f64.powf(rogue_exponent);
                    if guard.accepts(slot, norm, devices) {
                        prop_assert!(norm <= START.max(FACTOR_MAX * median(honest.clone())), "{norm}");
                    }
                } else {
                    honest[slot] = START * honest_size;
                    prop_assert!(guard.accepts(slot, honest[slot], devices), "nobody is shut out");
                }
            }
        }

        /// As long as those who collude are no more than half of the fleet, they get no further than 100 times the
        /// largest honest update; and never further than the growth that is allowed to all.
        #[test]
        fn colluders_get_no_further_than_stated(
            devices in 3_usize..9,
            colluders in 1_usize..9,
            honest_size in 0.001..1.0_f64,
            turns in prop::collection::vec((0_usize..9, 0.0..120.0_f64), 1..200),
        ) {
            let colluders = colluders.min(devices);
            let guard = guard();
            let honest = START * honest_size;
            (colluders..devices).for_each(|slot| assert!(guard.accepts(slot, honest, devices)));
            let mut most = honest;
            for (slot, growth) in turns {
                let norm = growth * most;
                if guard.accepts(slot % colluders, norm, devices) {
                    most = most.max(norm);
                }
            }
            prop_assert!(most <= START * GROWTH_MAX);
            if 2 * colluders <= devices {
                prop_assert!(most <= START.max(FACTOR_MAX * honest), "{most}");
            }
        }
    }
}
