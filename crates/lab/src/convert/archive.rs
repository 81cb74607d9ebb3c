//! Run folders in a `records.tar.gz`: unpacked, converted and packed again in the same order.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use fedflip_record::atomic;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType};

use super::{Found, failed};
use crate::error::LabError;

/// Replaces the archive if anything in it is converted.
pub(super) fn convert(path: &Path) -> Result<Found, LabError> {
    let unpacked = tempfile::tempdir().map_err(failed(path))?;
    unpack(path, unpacked.path()).map_err(failed(path))?;
    // Refusals name the place in the archive, and not the folder it was unpacked to.
    let found = super::convert(unpacked.path()).map_err(|error| match error {
        LabError::Refused(problem) => {
            let inside = format!("{}/", unpacked.path().display());
            LabError::Refused(problem.replace(&inside, &format!("{}: ", path.display())))
        }
        other => other,
    })?;
    if found.converted > 0 {
        let packed = pack(path, unpacked.path()).map_err(failed(path))?;
        atomic::write(path, &packed).map_err(|error| LabError::Answer(error.to_string()))?;
    }
    Ok(found)
}

fn open(path: &Path) -> io::Result<Archive<GzDecoder<File>>> {
    Ok(Archive::new(GzDecoder::new(File::open(path)?)))
}

fn unpack(path: &Path, folder: &Path) -> io::Result<()> {
    for entry in open(path)?.entries()? {
        let mut entry = entry?;
        let is_plain = matches!(entry.header().entry_type(), EntryType::Regular | EntryType::Directory);
        if !is_plain || !entry.unpack_in(folder)? {
            let name = entry.path()?.display().to_string();
            return Err(io::Error::other(format!(
                "{name} is neither a file nor a folder inside the archive"
            )));
        }
    }
    Ok(())
}

/// The entries of the archive with the files' new content. Their names, times and owners stay.
fn pack(path: &Path, folder: &Path) -> io::Result<Vec<u8>> {
    let mut packed = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
    for entry in open(path)?.entries()? {
        let entry = entry?;
        let mut header = entry.header().clone();
        let content = match header.entry_type() {
            EntryType::Regular => fs::read(folder.join(entry.path()?))?,
            _ => Vec::new(),
        };
        header.set_size(content.len() as u64);
        header.set_cksum();
        packed.append(&header, content.as_slice())?;
    }
    packed.into_inner()?.finish()
}
