//! Checkpoints.

use fedflip_record::checkpoint::{Checkpoint, Mark};

use crate::memory;

/// A checkpoint is refused, or reads back to the bit. Nobody guesses a checksum, so the bytes also get theirs.
pub fn check(bytes: &[u8]) {
    decode(bytes);
    decode(&[bytes, &crc32fast::hash(bytes).to_le_bytes()].concat());
    if let Some((secs, _)) = bytes.split_first_chunk() {
        there_and_back(f64::from_le_bytes(*secs));
    }
}

/// A time comes back to the last bit, unless it is none: that is nothing to continue from.
fn there_and_back(secs: f64) {
    let records = Mark { bytes: secs.to_bits(), crc: 0 };
    let checkpoint = Checkpoint {
        round: 1,
        secs,
        evaluated: Some([("loss", 0.5)].into()),
        records,
        vectors: vec![vec![0.5]],
    };
    let wanted = secs.is_finite().then_some(&checkpoint);
    assert_eq!(Checkpoint::from_bytes(&checkpoint.to_bytes()).as_ref(), wanted);
}

fn decode(bytes: &[u8]) {
    // The head may list many vectors of no length.
    let found = memory::within((1 << 16) + 32 * bytes.len(), || Checkpoint::from_bytes(bytes));
    if let Some(checkpoint) = found {
        let numbers: usize = checkpoint.vectors.iter().map(Vec::len).sum();
        assert!(4 * numbers < bytes.len());
        let written = checkpoint.to_bytes();
        let again = Checkpoint::from_bytes(&written).expect("what is written reads back");
        // As bytes: a vector may hold what is no number and equals nothing.
        assert_eq!(again.to_bytes(), written);
        assert_eq!((again.secs, again.evaluated), (checkpoint.secs, checkpoint.evaluated));
    }
}
