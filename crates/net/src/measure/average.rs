//! Averages that forget old observations, because the speed of a phone changes with its charger.

use fedflip_fleet::Secs;
use serde::{Deserialize, Serialize};

/// The weight of a new observation against all before it.
pub(super) const NEWEST: f64 = 0.2;
/// The first observations, which have equal weights.
const FIRST_FEW: u32 = 4;
/// After the first few, one observation counts as at most this many times more or less than the average.
pub(super) const OUTLIER: f64 = 3.0;
/// The observations of a plain mean: first as many with equal weights, then a new one has this part of the weight.
const MEAN_OF: u32 = 20;
/// The factor of a round's weight with each later round: about 33 rounds count.
const KEPT: f64 = 0.97;
/// A new device starts with this many rounds in which it attended, so that one miss counts little.
const PRIOR_ROUNDS: f64 = 4.0;

/// A mean over the latest observations, which one outlier moves little, whatever its size.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Average {
    value: f64,
    /// The number of observations, up to [`FIRST_FEW`].
    seen: u32,
}

impl Average {
    /// The mean; none before the first observation.
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
        // Zero has no multiples: an average of zero accepts any observation.
        let plausible = if self.value > 0.0 {
            observed.clamp(self.value / OUTLIER, self.value * OUTLIER)
        } else {
            observed
        };
        self.value += NEWEST * (plausible - self.value);
    }
}

/// A plain mean over about the last [`MEAN_OF`] observations, for times that no single device decides about: rare long ones
/// are a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Mean {
    value: f64,
    /// The number of observations, up to [`MEAN_OF`].
    seen: u32,
}

impl Mean {
    /// The mean; none before the first observation.
    pub(super) fn value(&self) -> Option<f64> {
        (self.seen > 0).then_some(self.value)
    }

    /// A number that is not a time is ignored.
    pub(super) fn observe(&mut self, observed: f64) {
        // Times below a nanosecond are none.
        let observed = if (0.0..1e-9).contains(&observed) { 0.0 } else { observed };
        if Secs::new(observed).is_ok() {
            self.seen = self.seen.saturating_add(1).min(MEAN_OF);
            self.value += (observed - self.value) / f64::from(self.seen);
        }
    }
}

/// The share of recent rounds in which something happened.
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

    /// Exactly 1 if nothing was missed.
    pub(super) fn share(&self) -> f64 {
        1.0 - self.missed / (self.rounds + PRIOR_ROUNDS)
    }
}
