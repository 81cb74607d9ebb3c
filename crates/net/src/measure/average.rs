//! Averages that forget: a phone that is on its charger now computes as it does now.

use fedflip_fleet::Secs;
use serde::{Deserialize, Serialize};

/// What a new observation counts for, against all before it.
pub(super) const NEWEST: f64 = 0.2;
/// Observations that count alike, before forgetting begins.
const FIRST_FEW: u32 = 4;
/// After the first few, one observation counts as at most this many times more or less than the average.
pub(super) const OUTLIER: f64 = 3.0;
/// What a round keeps of its weight with each later one: 33 rounds are remembered.
const KEPT: f64 = 0.97;
/// Rounds in which a new device is taken to have been there: one miss is not yet a habit.
const PRIOR_ROUNDS: f64 = 4.0;

/// A mean over the last some observations; one odd one moves it little, however odd it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Average {
    value: f64,
    /// Observations, as far as they matter.
    seen: u32,
}

impl Average {
    /// The mean, once there was an observation.
    pub(super) fn value(&self) -> Option<f64> {
        (self.seen > 0).then_some(self.value)
    }

    pub(super) fn observe(&mut self, observed: f64) {
        // Devices cause these numbers: a number that is not a time is ignored.
        if Secs::new(observed).is_err() {
            return;
        }
        if self.seen < FIRST_FEW {
            self.seen += 1;
            self.value += (observed - self.value) / f64::from(self.seen);
            return;
        }
        // Nothing is a multiple of nothing: such an average takes whatever comes.
        let plausible = if self.value > 0.0 {
            observed.clamp(self.value / OUTLIER, self.value * OUTLIER)
        } else {
            observed
        };
        self.value += NEWEST * (plausible - self.value);
    }
}

/// How often something happened, of the occasions that are remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Frequency {
    missed: f64,
    rounds: f64,
}

impl Frequency {
    pub(super) fn count(&mut self, happened: bool) {
        self.missed = KEPT * self.missed + f64::from(u8::from(!happened));
        self.rounds = KEPT * self.rounds + 1.0;
    }

    /// Exactly 1 where nothing was missed, whatever the rounding.
    pub(super) fn share(&self) -> f64 {
        1.0 - self.missed / (self.rounds + PRIOR_ROUNDS)
    }
}
