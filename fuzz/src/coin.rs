//! Coins: keys and proofs as a device sends them.

use std::sync::LazyLock;

use fedflip_net::coin::{CoinKey, CoinPublic, Flip, KEY_BYTES, PROOF_BYTES, Toss};

use crate::memory;

const TOSS: Toss = Toss { run: *b"0123456789abcdef", round: 7 };

/// A device's key, and the one outcome that it allows.
static KEY: LazyLock<(CoinPublic, Flip)> = LazyLock::new(|| {
    let key = CoinKey::from_bytes([7; KEY_BYTES]).expect("a key");
    (key.public(), key.flip(TOSS).0)
});

/// A proof is refused, or gives the one number that the key allows: nobody chooses.
pub fn check(bytes: &[u8]) {
    let (public, flip) = *KEY;
    if let Some(found) = memory::within(1 << 16, || public.check(TOSS, bytes)) {
        assert_eq!(found, flip, "a proof of another number");
        assert_eq!(bytes.len(), PROOF_BYTES);
        let next = Toss { round: TOSS.round + 1, ..TOSS };
        assert_eq!(public.check(next, bytes), None, "the same proof in another round");
    }
    if let Some((key, proof)) = bytes.split_first_chunk::<KEY_BYTES>() {
        if let Some(public) = CoinPublic::from_bytes(*key) {
            assert_eq!(public.to_bytes(), *key);
            public.check(TOSS, proof);
        }
        if let Some(secret) = CoinKey::from_bytes(*key) {
            assert_eq!(secret.to_bytes(), *key);
        }
    }
}
