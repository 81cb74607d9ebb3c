//! The right to write to a folder, which one process has at a time.

use std::fs::{File, TryLockError};
use std::path::Path;

use crate::error::{FolderProblem, RecordError};

/// The file that is locked by the process that writes.
pub const LOCK: &str = ".lock";

/// The right to write to a folder.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    /// A process that user code has forked has the file open, too, and may outlive the run.
    fn drop(&mut self) {
        // A lock that cannot be given back ends with the process.
        let _ = self.0.unlock();
    }
}

/// Nobody else writes to the folder while this is held.
pub fn lock(folder: &Path) -> Result<Lock, RecordError> {
    let path = folder.join(LOCK);
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.map_err(RecordError::io(&path, "cannot be written"))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(RecordError::folder(folder, FolderProblem::Locked)),
        Err(TryLockError::Error(error)) => Err(RecordError::io(&path, "cannot be locked")(error)),
    }
}
