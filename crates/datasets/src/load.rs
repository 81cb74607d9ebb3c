//! From the files of a set to a [`Dataset`], and checking them.

use std::path::{Path, PathBuf};

use super::catalogue::{FileSpec, SetSpec};
use super::dataset::{Dataset, Images};
use super::error::DataError;
use super::progress::{Listener, Progress};
use super::sums;

/// Whether the set is in the data folder (all its files, whatever is in them).
pub fn is_present(set: &SetSpec, data_dir: &Path) -> bool {
    let folder = data_dir.join(set.name);
    set.files.iter().all(|file| folder.join(file.name).is_file())
}

/// Checks every file of a set against its length and sum, and reports each before it is read.
pub fn check(set: &SetSpec, data_dir: &Path, tell: Listener<'_>) -> Result<(), DataError> {
    let folder = folder_of(set, data_dir)?;
    for file in set.files {
        tell(Progress::Step(&format!("checking {}/{}", set.name, file.name)));
        sums::verify_file(&stored(&folder, file)?, file, set)?;
    }
    Ok(())
}

/// Reads a set from the data folder. Sums are checked: a damaged file must not become a strange result.
pub fn load(set: &SetSpec, data_dir: &Path) -> Result<Dataset, DataError> {
    (set.read)(&Stored { set, folder: folder_of(set, data_dir)? })
}

/// The stored files of a set, for the function that reads them.
#[derive(Debug)]
pub struct Stored<'a> {
    /// The data set that the files belong to.
    pub set: &'a SetSpec,
    folder: PathBuf,
}

impl Stored<'_> {
    /// The content of a file whose length and sum are right.
    pub fn read(&self, file: &FileSpec) -> Result<Vec<u8>, DataError> {
        let path = stored(&self.folder, file)?;
        let bytes = sums::read_bounded(&path, file.bytes, self.set)?;
        sums::verify(&bytes, file, self.set, &path.display().to_string())?;
        Ok(bytes)
    }

    /// The folder, as refusals name it.
    pub fn label(&self) -> String {
        self.folder.display().to_string()
    }

    /// A data set of images with the normalisation of the set.
    pub fn images(&self, images: Images) -> Result<Dataset, DataError> {
        Dataset::images(images, self.set.channels, &self.label())
    }
}

fn folder_of(set: &SetSpec, data_dir: &Path) -> Result<PathBuf, DataError> {
    let folder = data_dir.join(set.name);
    if !folder.is_dir() {
        return Err(DataError::Absent { name: set.name, folder: data_dir.display().to_string() });
    }
    Ok(folder)
}

fn stored(folder: &Path, file: &FileSpec) -> Result<PathBuf, DataError> {
    let path = folder.join(file.name);
    if !path.exists() {
        let (file, folder) = (file.name.to_owned(), folder.display().to_string());
        return Err(DataError::Missing { file, folder });
    }
    Ok(path)
}
