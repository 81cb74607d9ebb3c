//! Files of an authority: written completely or not at all, secrets readable by their owner only, changed by one process
//! at a time.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;

use fedflip_record::atomic;

use crate::error::NetError;

/// Writes a file completely or not at all.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), NetError> {
    let failed = NetError::io(path, "cannot be written");
    atomic::write(path, bytes).map_err(|error| failed(std::io::Error::other(error.to_string())))
}

/// Writes a new file that others cannot read, not even for a moment.
pub(super) fn write_secret(path: &Path, bytes: &[u8]) -> Result<(), NetError> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(NetError::io(path, "cannot be written"))
}

/// Makes a folder that only its owner can open.
pub(super) fn make_folder(folder: &Path) -> Result<(), NetError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).map_err(NetError::io(folder, "cannot be made"))
}

/// Removes a folder, if there is one.
pub(super) fn remove_folder(folder: &Path) -> Result<(), NetError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(NetError::io(folder, "cannot be removed")(error))
        }
        _ => Ok(()),
    }
}

pub(super) fn locked(folder: &Path) -> Result<File, NetError> {
    let path = folder.join(".lock");
    let file = File::create(&path).map_err(NetError::io(&path, "cannot be opened"))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(NetError::Locked { folder: folder.display().to_string() }),
        Err(fs::TryLockError::Error(error)) => Err(NetError::io(&path, "cannot be locked")(error)),
    }
}
