//! A coin that a device flips alone and that the server can check.
//!
//! A verifiable random function (RFC 9381, over ristretto255) of (run, round) under the device's coin key gives
//! one number and a proof of it. The number is the only one that the key and the round allow: a device cannot flip again,
//! and nobody can flip in its place. The public key is enough to check both.

use vrf_r255::{Proof, PublicKey, SecretKey};

pub const KEY_BYTES: usize = 32;
pub const PROOF_BYTES: usize = 80;
/// The length of a run's name.
pub const RUN_BYTES: usize = 16;

/// Numbers are below 2^53, so that a float holds them exactly.
const NUMBER_BITS: u32 = 53;

/// A prefix of signed bytes, so that no other use of the key can be taken for a toss.
const PURPOSE: &[u8] = b"fedflip coin 1";

/// The same for the coin that decides about an evaluation.
const EVALUATION: &[u8] = b"fedflip evaluation 1";

/// One toss: every device has one coin for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Toss {
    /// The unique name of the run.
    pub run: [u8; RUN_BYTES],
    /// The round, counted from 1.
    pub round: u64,
}

impl Toss {
    /// The toss of a message; none if `run` is not the name of a run.
    pub fn named(run: &[u8], round: u64) -> Option<Self> {
        Some(Self { run: run.try_into().ok()?, round })
    }

    fn bytes(self) -> Vec<u8> {
        [PURPOSE, &self.run, &self.round.to_be_bytes()].concat()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flip {
    number: u64,
}

impl Flip {
    fn of(output: [u8; 64]) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&output[..8]);
        Self { number: u64::from_be_bytes(first) >> (64 - NUMBER_BITS) }
    }

    /// Whether a device with the probability q takes part. The chance is q to within 2^−53.
    pub fn joins(self, q: f64) -> bool {
        // Both sides are exact: the number fits a float, and q is scaled by a power of two.
        (self.number as f64) < q * (1_u64 << NUMBER_BITS) as f64
    }
}

#[derive(Clone, Copy)]
pub struct CoinKey(SecretKey);

impl CoinKey {
    /// A new key, from the system's randomness.
    pub fn generate() -> Self {
        Self(SecretKey::generate(rand_core::OsRng))
    }

    /// None if these bytes are no key.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Option<Self> {
        Option::from(SecretKey::from_bytes(bytes)).map(Self)
    }

    /// The secret bytes of the key.
    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.0.to_bytes()
    }

    pub fn public(&self) -> CoinPublic {
        CoinPublic(PublicKey::from(self.0))
    }

    /// Flips the coin; the proof is for the server. The same toss always comes out the same.
    pub fn flip(&self, toss: Toss) -> (Flip, [u8; PROOF_BYTES]) {
        let proof = self.0.prove(&toss.bytes());
        // A proof of the key itself is always valid.
        let output = Option::from(PublicKey::from(self.0).verify(&toss.bytes(), &proof));
        (Flip::of(output.unwrap_or([u8::MAX; 64])), proof.to_bytes())
    }
}

impl CoinKey {
    /// Whether the device evaluates the model after a round. This is another coin than that of the round, and nobody
    /// checks it: a device that evaluates more often gains nothing that it could not as well make up.
    pub fn evaluates(&self, toss: Toss, probability: f64) -> bool {
        let alpha = [EVALUATION, &toss.run, &toss.round.to_be_bytes()].concat();
        let output = Option::from(PublicKey::from(self.0).verify(&alpha, &self.0.prove(&alpha)));
        Flip::of(output.unwrap_or([u8::MAX; 64])).joins(probability)
    }
}

impl std::fmt::Debug for CoinKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A secret in a log is not a secret any more.
        f.write_str("CoinKey(…)")
    }
}

/// The public half of a device's coin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoinPublic(PublicKey);

impl CoinPublic {
    /// None if these bytes are no key.
    pub fn from_bytes(bytes: [u8; KEY_BYTES]) -> Option<Self> {
        PublicKey::from_bytes(bytes).map(Self)
    }

    pub fn to_bytes(&self) -> [u8; KEY_BYTES] {
        self.0.to_bytes()
    }

    /// The result of the toss, if the proof is of this toss and by this key; none for any other bytes.
    pub fn check(&self, toss: Toss, proof: &[u8]) -> Option<Flip> {
        let proof = Proof::from_bytes(proof.try_into().ok()?)?;
        Option::from(self.0.verify(&toss.bytes(), &proof)).map(Flip::of)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn toss(round: u64) -> Toss {
        Toss { run: *b"0123456789abcdef", round }
    }

    #[test]
    fn a_proof_holds_for_its_toss_and_key_alone() {
        let (key, other) = (CoinKey::generate(), CoinKey::generate());
        let (flip, proof) = key.flip(toss(7));
        assert_eq!(key.public().check(toss(7), &proof), Some(flip));
        assert_eq!(key.flip(toss(7)), (flip, proof), "the same toss comes out the same");
        assert_eq!(key.public().check(toss(8), &proof), None, "another round");
        assert_eq!(key.public().check(Toss { run: [0; 16], round: 7 }, &proof), None, "another run");
        assert_eq!(other.public().check(toss(7), &proof), None, "another device");
        let again = CoinKey::from_bytes(key.to_bytes()).unwrap();
        assert_eq!(again.public(), CoinPublic::from_bytes(key.public().to_bytes()).unwrap());
    }

    #[test]
    fn not_a_bit_of_a_proof_may_change() {
        let key = CoinKey::generate();
        let (flip, proof) = key.flip(toss(1));
        for bit in 0..8 * PROOF_BYTES {
            let mut false_proof = proof;
            false_proof[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(key.public().check(toss(1), &false_proof), None, "bit {bit}");
        }
        assert_eq!(key.public().check(toss(1), &proof[..79]), None);
        assert_eq!(key.public().check(toss(1), &[]), None);
        assert_eq!(key.public().check(toss(1), &proof), Some(flip));
    }

    #[test]
    fn coins_fall_as_often_as_they_should() {
        let key = CoinKey::from_bytes([7; KEY_BYTES]).unwrap();
        let tosses: Vec<Flip> = (1..=2000).map(|round| key.flip(toss(round)).0).collect();
        for q in [0.05, 0.3, 0.9] {
            let joined = tosses.iter().filter(|flip| flip.joins(q)).count() as f64;
            let (mean, std) = (2000.0 * q, (2000.0 * q * (1.0 - q)).sqrt());
            // The key is fixed, so this cannot fail by chance.
            assert!((joined - mean).abs() < 3.5 * std, "{joined} of {mean} ± {std}");
        }
        assert!(tosses.iter().all(|flip| flip.joins(1.0) && !flip.joins(0.0)));
    }

    #[test]
    fn the_coin_of_an_evaluation_is_another_one() {
        let key = CoinKey::from_bytes([7; KEY_BYTES]).unwrap();
        let tosses: Vec<[bool; 2]> = (1..=2000)
            .map(|round| [key.flip(toss(round)).0.joins(0.5), key.evaluates(toss(round), 0.5)])
            .collect();
        for both in [[false, false], [false, true], [true, false], [true, true]] {
            let count = tosses.iter().filter(|toss| **toss == both).count() as f64;
            // The key is fixed, so this cannot fail by chance.
            assert!((count - 500.0).abs() < 3.5 * (2000.0_f64 * 0.25 * 0.75).sqrt(), "{both:?}: {count}");
        }
        assert!(key.evaluates(toss(1), 1.0) && !key.evaluates(toss(1), 0.0));
        assert!(!key.evaluates(toss(1), f64::NAN));
    }

    #[test]
    fn secrets_stay_out_of_logs() {
        assert_eq!(format!("{:?}", CoinKey::generate()), "CoinKey(…)");
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_are_no_proof(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let key = CoinKey::from_bytes([7; KEY_BYTES]).unwrap();
            prop_assert_eq!(key.public().check(toss(1), &bytes), None);
        }
    }
}
