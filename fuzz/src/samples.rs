//! A user's own samples: npz, safetensors, CSV, text and Parquet. The first byte says which.

use std::panic;
use std::path::PathBuf;

use fedflip_samples::{Features, SamplesError, Table, files};

use crate::{memory, scratch};

const NAMES: [&str; 5] = ["fuzz.npz", "fuzz.safetensors", "fuzz.csv", "fuzz.txt", "fuzz.parquet"];

/// A table whose parts fit each other, or a refusal.
pub fn check(bytes: &[u8]) {
    let Some((format, bytes)) = bytes.split_first() else { return };
    let name = NAMES[usize::from(*format) % NAMES.len()];
    let file = scratch::file(name, bytes);
    // Deflate makes a thousand bytes of one; readers have buffers of their own.
    let bytes_max = (1 << 22) + 1100 * bytes.len();
    let read = match name {
        "fuzz.txt" => return check_text(file, bytes),
        // Its library takes memory for a page and panics before it looks whether the page is there.
        "fuzz.parquet" => quietly(|| files::read(&[file])),
        _ => memory::within(bytes_max, || files::read(&[file])),
    };
    check_table(read);
}

fn check_table(read: Result<Table, SamplesError>) {
    match read {
        Ok(table) => {
            let features = match &table.features {
                Features::Bytes(values) => values.len(),
                Features::Floats(values) => values.len(),
            };
            assert_eq!(features, table.len() * table.shape.iter().product::<usize>());
            let inspection = table.inspect();
            assert!(inspection.mean.iter().chain(&inspection.std).all(|number| number.is_finite()));
            assert!(table.devices.is_none_or(|devices| devices.of_samples.len() == table.labels.len()));
        }
        Err(error) => assert!(!error.hint().is_empty()),
    }
}

fn check_text(file: PathBuf, bytes: &[u8]) {
    match memory::within((1 << 16) + 4 * bytes.len(), || files::read_texts(&[file])) {
        Ok(texts) => assert_eq!(texts.concat().as_bytes(), bytes),
        Err(error) => assert!(!error.hint().is_empty()),
    }
}

/// The reader turns a panic of its library into a refusal; libFuzzer would end the program before that.
fn quietly<T>(read: impl FnOnce() -> T) -> T {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| ()));
    let read = read();
    panic::set_hook(hook);
    read
}
