//! Plays as text.

use std::collections::BTreeSet;

use fedflip_datasets::dataset::{Dataset, Split, WINDOW};
use fedflip_datasets::{alphabet, plays};

use crate::memory;

/// Any bytes have some answer: roles with different names and something to say, and samples within the text.
pub fn check(bytes: &[u8]) {
    // Bytes that are no text become a sign of three bytes each, and the text is held a few times over.
    let roles = memory::within((1 << 16) + 64 * bytes.len(), || plays::roles(bytes));
    let names: BTreeSet<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    assert_eq!(names.len(), roles.len());
    assert!(roles.iter().all(|role| !role.name.is_empty() && role.text.ends_with('\n')));
    let spoken = roles.iter().map(|role| (role.name.as_str(), role.text.as_str()));
    let set = Dataset::text(spoken, "fuzz").expect("a short text can be numbered");
    for split in [Split::Train, Split::Test] {
        for position in set.positions(split) {
            let (mut features, mut label) = ([0.0; WINDOW], [0.0]);
            set.write_batch(&[position], &mut features, &mut label);
            assert!(label[0] < alphabet::SYMBOLS as f32);
            assert!(features.iter().all(|&symbol| symbol < alphabet::SYMBOLS as f32));
        }
    }
}
