//! From files as they are published to files as they are stored.
//!
//! A stored file may come as it is, gzipped, as a PNG batch with labels beside it (CIFAR-10), or as
//! comma-separated values (MNIST). Whatever it comes as, the sum of what is stored decides: gzip can pack
//! the same content in many ways, and Debian's package does so.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use super::archive::file_name;
use super::catalogue::{FileSpec, SetSpec};
use super::cifar::{self, RECORD_BYTES};
use super::digits_csv::{self, Part};
use super::error::DataError;
use super::progress::{Listener, Progress};
use super::{idx, sums};

/// So spelled in the package.
const TRAIN_LABELS: &str = "train_lables.json";
const TEST_LABELS: &str = "test_lables.json";

/// A file as it comes.
enum Raw {
    Plain(PathBuf),
    Gzipped(PathBuf),
    Png(PathBuf),
    Csv(PathBuf, Part),
}

/// Whether a file of this name has a part in making a stored file of the set.
pub(super) fn is_wanted(set: &SetSpec, name: &str) -> bool {
    let labels = [TRAIN_LABELS, TEST_LABELS].contains(&name);
    labels || set.files.iter().any(|file| candidates(file).iter().any(|(candidate, _)| candidate == name))
}

/// Whether the folder has all that the set is made from.
pub(super) fn holds_all(set: &SetSpec, folder: &Path) -> bool {
    set.files.iter().all(|file| find(file, folder).is_some())
}

/// Whether the folder has something that the set is made from.
pub(super) fn holds_some(set: &SetSpec, folder: &Path) -> bool {
    set.files.iter().any(|file| find(file, folder).is_some())
}

/// Writes the files of a set as they are stored, each only after its sum is right.
pub(super) fn convert(
    set: &SetSpec,
    folder: &Path,
    finished: &Path,
    tell: Listener<'_>,
) -> Result<(), DataError> {
    for (number, file) in set.files.iter().enumerate() {
        let missing =
            || DataError::Missing { file: file.name.to_owned(), folder: folder.display().to_string() };
        let raw = find(file, folder).ok_or_else(missing)?;
        tell(Progress::Step(&format!("checking {}", file_name(raw.path()))));
        let bytes = read(set, number, &raw)?;
        sums::verify(&bytes, file, set, &raw.path().display().to_string())?;
        write_durably(&finished.join(file.name), &bytes)?;
    }
    Ok(())
}

impl Raw {
    fn path(&self) -> &Path {
        match self {
            Self::Plain(path) | Self::Gzipped(path) | Self::Png(path) | Self::Csv(path, _) => path,
        }
    }
}

type MakeRaw = fn(PathBuf) -> Raw;

/// The names under which a stored file may come.
fn candidates(file: &FileSpec) -> Vec<(String, MakeRaw)> {
    let mut names: Vec<(String, MakeRaw)> =
        vec![(file.name.to_owned(), Raw::Plain), (format!("{}.gz", file.name), Raw::Gzipped)];
    if let Some(batch) = file.name.strip_suffix(".bin") {
        names.push((format!("{batch}.png"), Raw::Png));
    }
    if let Some((part, "ubyte")) = file.name.rsplit_once('-') {
        let csv = if part.starts_with("train") { "mnist_train.csv" } else { "mnist_test.csv" };
        let make: MakeRaw = if part.contains("labels") {
            |path| Raw::Csv(path, Part::Labels)
        } else {
            |path| Raw::Csv(path, Part::Images)
        };
        names.push((csv.to_owned(), make));
    }
    names
}

fn find(file: &FileSpec, folder: &Path) -> Option<Raw> {
    let names = candidates(file).into_iter().map(|(name, make)| (folder.join(name), make));
    names.into_iter().find(|(path, _)| path.is_file()).map(|(path, make)| make(path))
}

/// The content of the stored file with this number in the set.
fn read(set: &SetSpec, number: usize, raw: &Raw) -> Result<Vec<u8>, DataError> {
    let file = &set.files[number];
    let path = raw.path();
    let shown = path.display().to_string();
    // Neither gzip nor PNG makes anything much larger than it is.
    let packed_max = file.bytes + file.bytes / 8 + 1024;
    match raw {
        Raw::Plain(_) => sums::read_bounded(path, file.bytes, set),
        Raw::Gzipped(_) => {
            let packed = sums::read_bounded(path, packed_max, set)?;
            let unpacked = idx::gunzip(&packed, file.bytes, &shown)?;
            // Another file of the set is known by its sum while it is packed: unpacked it may be cut short.
            let whose = || sums::whose(&sums::md5_hex(&packed), set);
            match sums::verify(&unpacked, file, set, &shown) {
                Ok(()) => Ok(unpacked),
                Err(error) => Err(whose().map_or(error, |is| DataError::Swapped { file: shown.clone(), is })),
            }
        }
        Raw::Png(_) => {
            let labels = batch_labels(set, number, path)?;
            cifar::records_from_png(&sums::read_bounded(path, packed_max, set)?, &labels, &shown)
        }
        Raw::Csv(_, part) => {
            // At most four characters a pixel, with its comma; labels have all the pixels beside them.
            let pixels = set.files.iter().map(|file| file.bytes).max().unwrap_or(0);
            digits_csv::to_idx(
                &sums::read_bounded(path, pixels.saturating_mul(5) + 65_536, set)?,
                *part,
                &shown,
            )
        }
    }
}

/// The labels of one batch of images: the last file of the set is for testing and has a list of its own.
fn batch_labels(set: &SetSpec, number: usize, path: &Path) -> Result<Vec<u8>, DataError> {
    let images = |files: &[FileSpec]| {
        files.iter().map(|file| (file.bytes as usize).div_euclid(RECORD_BYTES)).sum::<usize>()
    };
    let (train, test) = set.files.split_at(set.files.len() - 1);
    let (name, files, first) = if number < train.len() {
        (TRAIN_LABELS, train, images(&train[..number]))
    } else {
        (TEST_LABELS, test, 0)
    };
    let labels_path = path.with_file_name(name);
    let expected = images(files);
    // Three characters a label are plenty; a list may be set out with spaces.
    let json = sums::read_bounded(&labels_path, 16 * expected as u64 + 1024, set)?;
    let labels = cifar::labels_from_json(&json, expected, &labels_path.display().to_string())?;
    Ok(labels[first..first + images(&set.files[number..=number])].to_vec())
}

/// A rename may reach the disk before what was written: after a power cut the file would be there, empty.
fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let write = || {
        let mut file = File::create(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| {
        // Half of it serves nobody, and a full disk needs the room.
        let _ = fs::remove_file(path);
        DataError::io(path, "write it")(error)
    })
}
