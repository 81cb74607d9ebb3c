//! Whether a server takes part in rounds, and if not, why.

use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It reads its state and certificates.
    Starting,
    /// It would open a round if enough devices were there.
    WaitingForDevices,
    InRounds,
    Stopping,
}

impl Readiness {
    /// Whether devices should come, and what to tell whoever asks.
    pub fn verdict(self) -> (bool, &'static str) {
        match self {
            Self::Starting => (false, "starting"),
            Self::WaitingForDevices => (true, "waiting for devices"),
            Self::InRounds => (true, "in rounds"),
            Self::Stopping => (false, "stopping"),
        }
    }
}

/// What a server says of itself; shared by those who know and those who ask.
#[derive(Debug)]
pub struct Health(Mutex<Readiness>);

impl Default for Health {
    fn default() -> Self {
        Self(Mutex::new(Readiness::Starting))
    }
}

impl Health {
    pub fn set(&self, readiness: Readiness) {
        *self.locked() = readiness;
    }

    pub fn readiness(&self) -> Readiness {
        *self.locked()
    }

    /// It is replaced whole: whoever panicked with the lock left nothing half-done.
    fn locked(&self) -> MutexGuard<'_, Readiness> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
