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

/// Writes to a place that a person named: replaces a file, also one at the end of a link, and writes into what is no file,
/// such as a pipe.
pub fn write_to(place: &Path, content: &[u8]) -> Result<(), RecordError> {
    let failed = || RecordError::io(place, "cannot be written");
    match fs::metadata(place) {
        Ok(found) if found.is_file() => write(&fs::canonicalize(place).map_err(failed())?, content),
        Ok(_) => File::options()
            .write(true)
            .open(place)
            .and_then(|mut opened| opened.write_all(content))
            .map_err(failed()),
        // The file at the end of a link, or of no link at all, is not there yet.
        Err(_) => match fs::read_link(place) {
            Ok(target) => write(&place.parent().unwrap_or(Path::new("")).join(target), content),
            Err(_) => write(place, content),
        },
    }
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

    #[cfg(unix)]
    #[test]
    fn links_and_what_is_no_file_stay_what_they_are() {
        let desk = tempfile::tempdir().unwrap();
        let [link, file] = ["link", "file"].map(|name| desk.path().join(name));
        std::os::unix::fs::symlink("file", &link).unwrap();
        for content in [b"one", b"two"] {
            write_to(&link, content).unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read(&file).unwrap(), content);
        }
        write_to(Path::new("/dev/null"), b"three").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write_to(desk.path(), b"four").is_err());
    }
}
