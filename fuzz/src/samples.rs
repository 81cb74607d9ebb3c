//! A user's own samples: npz, safetensors and CSV. The first byte says which.
//!
//! Parquet is not among them: its library panics on damaged files, which the reader turns into a refusal, but which ends
//! this program. `crates/samples/tests/damaged.rs` damages such files in other ways.

use fedflip_samples::{Features, files};

use crate::{memory, scratch};

/// A table whose parts fit each other, or a refusal.
pub fn check(bytes: &[u8]) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let name = ["fuzz.npz", "fuzz.safetensors", "fuzz.csv"][usize::from(*format) % 3];
    let file = scratch::file(name, bytes);
    // Deflate makes a thousand bytes of one; readers have buffers of their own.
    let read = memory::within((1 << 22) + 1100 * bytes.len(), || files::read(&[file]));
    match read {
        Ok(table) => {
            let features = match &table.features {
                Features::Bytes(values) => values.len(),
                Features::Floats(values) => values.len(),
            };
            assert_eq!(features, table.len() * table.shape.iter().product::<usize>());
            assert!(table.devices.is_none_or(|devices| devices.of_samples.len() == table.labels.len()));
        }
        Err(error) => assert!(!error.hint().is_empty()),
    }
}
