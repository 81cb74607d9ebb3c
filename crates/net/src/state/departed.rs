//! Devices that have left a run for good, in a file that the server reads between rounds: an operator adds names while the
//! server runs, and while it does not.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use fedflip_record::atomic;
use serde::{Deserialize, Serialize};

use crate::error::{CANNOT_BE_READ, NetError};

/// The file in the folder of a run.
pub const DEPARTED: &str = "departed.json";

/// Why a device has left a run for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Departure {
    /// The operator retired the device.
    Retired,
    /// The certificate of the device was revoked.
    Revoked,
}

/// Names of devices, and why they have left.
pub type Departed = BTreeMap<String, Departure>;

/// The devices that have left the run in this folder; nobody without the file.
pub fn read(folder: &Path) -> Result<Departed, NetError> {
    let path = folder.join(DEPARTED);
    match fs::read(&path) {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|error| NetError::damaged(&path, error.to_string()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Departed::new()),
        Err(error) => Err(NetError::io(&path, CANNOT_BE_READ)(error)),
    }
}

/// Adds devices that leave; a device that has left before keeps its first reason. Returns whether somebody was added.
pub fn add<'a>(
    folder: &Path,
    leaving: impl IntoIterator<Item = (&'a str, Departure)>,
) -> Result<bool, NetError> {
    let lock_path = folder.join(".departed.lock");
    let lock = File::create(&lock_path).and_then(|file| file.lock().map(|()| file));
    // The server and any number of operators add names one after another.
    let _lock = lock.map_err(NetError::io(&lock_path, "cannot be locked"))?;
    let mut departed = read(folder)?;
    let before = departed.len();
    for (name, departure) in leaving {
        departed.entry(name.to_owned()).or_insert(departure);
    }
    if departed.len() == before {
        return Ok(false);
    }
    let mut text = serde_json::to_vec_pretty(&departed).unwrap_or_default();
    text.push(b'\n');
    atomic::write(&folder.join(DEPARTED), &text)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_leaves_once_and_for_its_first_reason() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), Departed::new());
        assert!(add(folder.path(), [("b", Departure::Retired), ("a", Departure::Revoked)]).unwrap());
        assert!(!add(folder.path(), [("b", Departure::Revoked)]).unwrap());
        let expected = [("a", Departure::Revoked), ("b", Departure::Retired)];
        let read_back: Vec<_> = read(folder.path()).unwrap().into_iter().collect();
        assert_eq!(read_back, expected.map(|(name, why)| (name.to_owned(), why)));
        fs::write(folder.path().join(DEPARTED), "[1]").unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains(DEPARTED));
    }
}
