//! Files that are there whole or not at all, also after a power cut.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::error::RecordError;

/// The ending of a file that is being written.
pub(crate) const UNFINISHED: &str = ".new";

/// Replaces a file's content: written beside it, synced to the disk, and renamed over it.
pub fn write(path: &Path, content: &[u8]) -> Result<(), RecordError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(UNFINISHED);
    let beside = Path::new(&beside);
    let written = File::create(beside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(beside, path)) {
        // The old content stays; what was begun does not.
        let _ = fs::remove_file(beside);
        return Err(RecordError::io(path, "cannot be written")(error));
    }
    sync_folder(path)
}

/// Syncs the folder's entry of a file to the disk.
pub(crate) fn sync_folder(path: &Path) -> Result<(), RecordError> {
    let Some(folder) = path.parent().filter(|folder| cfg!(unix) && !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(RecordError::io(path, "cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_or_left_as_it_was() {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("x");
        write(&path, b"one").unwrap();
        write(&path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // Nothing but the file is left; and a folder cannot be replaced by a file.
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
        let folder = desk.path().join("folder");
        fs::create_dir_all(folder.join("inside")).unwrap();
        let error = write(&folder, b"three").unwrap_err();
        assert!(error.to_string().contains("folder"), "{error}");
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 2);
    }
}
