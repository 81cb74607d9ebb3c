//! Whether two tables or texts are the same, in a few digits.
//!
//! XXH3 of 128 bits runs at the speed of memory: a digest of a million images takes less time than reading them. It finds
//! every change that happens by accident or by editing; it is no proof against somebody who looks for a collision.

use twox_hash::XxHash3_128;

use crate::labels::Labels;
use crate::table::{Features, Table};

/// Numbers that are converted to bytes at a time.
const BLOCK: usize = 4096;

/// A digest in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDigest(String);

impl DataDigest {
    /// The digest as 32 hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The digest of texts in their order.
    pub fn of_texts<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut hasher = XxHash3_128::new();
        texts.into_iter().for_each(|text| part(&mut hasher, text.as_bytes()));
        Self::of(&hasher)
    }

    fn of(hasher: &XxHash3_128) -> Self {
        Self(format!("{:032x}", hasher.finish_128()))
    }
}

impl Table {
    /// The digest of everything in the table: shape, names, values, labels and devices.
    pub fn digest(&self) -> DataDigest {
        let mut hasher = XxHash3_128::new();
        numbers(&mut hasher, &self.shape, |size| (*size as u64).to_le_bytes());
        self.columns.iter().for_each(|name| part(&mut hasher, name.as_bytes()));
        match &self.features {
            Features::Bytes(values) => part(&mut hasher, values),
            Features::Floats(values) => numbers(&mut hasher, values, |value| value.to_le_bytes()),
        }
        match &self.labels {
            Labels::Classes(classes) => numbers(&mut hasher, classes, |class| class.to_le_bytes()),
            Labels::Numbers(values) => numbers(&mut hasher, values, |value| value.to_le_bytes()),
        }
        if let Some(devices) = &self.devices {
            devices.names.iter().for_each(|name| part(&mut hasher, name.as_bytes()));
            numbers(&mut hasher, &devices.of_samples, |at| at.to_le_bytes());
        }
        DataDigest::of(&hasher)
    }
}

/// Bytes behind their number, so that the borders between parts count.
fn part(hasher: &mut XxHash3_128, bytes: &[u8]) {
    hasher.write(&(bytes.len() as u64).to_le_bytes());
    hasher.write(bytes);
}

/// Numbers as bytes that are the same on every machine, block by block.
fn numbers<T, const SIZE: usize>(hasher: &mut XxHash3_128, values: &[T], bytes: impl Fn(&T) -> [u8; SIZE]) {
    hasher.write(&(values.len() as u64).to_le_bytes());
    let mut block = Vec::with_capacity(BLOCK * SIZE);
    for values in values.chunks(BLOCK) {
        block.clear();
        values.iter().for_each(|value| block.extend_from_slice(&bytes(value)));
        hasher.write(&block);
    }
}

#[cfg(test)]
mod tests {
    use crate::Devices;

    use super::*;

    fn table() -> Table {
        Table {
            shape: vec![2],
            columns: vec!["a".to_owned(), "b".to_owned()],
            features: Features::Floats(vec![1.0, 2.0, 3.0, 4.0]),
            labels: Labels::Classes(vec![0, 1]),
            devices: Some(Devices { names: vec!["n".to_owned(), "s".to_owned()], of_samples: vec![0, 1] }),
        }
    }

    #[test]
    fn every_part_of_a_table_counts() {
        let digest = table().digest();
        assert_eq!((digest.as_str().len(), &table().digest()), (32, &digest));
        let others = [
            Table { shape: vec![1, 2], ..table() },
            Table { columns: vec!["ab".to_owned(), String::new()], ..table() },
            Table { features: Features::Floats(vec![1.0, 2.0, 3.0, 5.0]), ..table() },
            Table { labels: Labels::Classes(vec![1, 0]), ..table() },
            Table { devices: None, ..table() },
        ];
        assert!(others.iter().all(|other| other.digest() != digest));
        assert_ne!(DataDigest::of_texts(["ab", "c"]), DataDigest::of_texts(["a", "bc"]));
    }
}
