//! A device's answer to an open round: the result of its coin, with a proof.

use crate::coin::{CoinPublic, Flip, Toss};

/// What a device says came of its coin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoinAnswer {
    No,
    /// It does, and this is its coin.
    Yes(Flip),
    /// It would, but the proof is none.
    False,
}

impl CoinAnswer {
    /// Checks a proof: a fraction of a millisecond, so not to be done while others wait for the lock. An empty
    /// proof is a coin that says no.
    pub(crate) fn check(coin: &CoinPublic, toss: Toss, proof: &[u8]) -> Self {
        match proof {
            [] => Self::No,
            proof => coin.check(toss, proof).map_or(Self::False, Self::Yes),
        }
    }
}
