//! From the files of a set to a [`Dataset`], and checking them.

use std::path::{Path, PathBuf};

use super::catalogue::{FileSpec, Name, SetSpec};
use super::cifar;
use super::dataset::{Channel, Dataset, Images};
use super::error::DataError;
use super::progress::{Listener, Progress};
use super::{idx, plays, sums};

const MNIST: [Channel; 1] = [Channel { mean: 0.1307, std: 0.3081 }];
const FASHION_MNIST: [Channel; 1] = [Channel { mean: 0.2860, std: 0.3530 }];
const CIFAR10: [Channel; 3] = [
    Channel { mean: 0.4914, std: 0.2470 },
    Channel { mean: 0.4822, std: 0.2435 },
    Channel { mean: 0.4465, std: 0.2616 },
];

/// How the pixels of a set are normalised; nothing for a text.
pub fn channels(name: Name) -> &'static [Channel] {
    match name {
        Name::Mnist => &MNIST,
        Name::FashionMnist => &FASHION_MNIST,
        Name::Cifar10 => &CIFAR10,
        Name::Shakespeare => &[],
    }
}

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
pub fn load(name: Name, data_dir: &Path) -> Result<Dataset, DataError> {
    let set = name.spec();
    let folder = folder_of(set, data_dir)?;
    let read = |file: &FileSpec| {
        let path = stored(&folder, file)?;
        let bytes = sums::read_bounded(&path, file.bytes, set)?;
        sums::verify(&bytes, file, set, &path.display().to_string())?;
        Ok(bytes)
    };
    let label = folder.display().to_string();
    match name {
        Name::Mnist | Name::FashionMnist => {
            let mut images = Images { bytes: Vec::new(), labels: Vec::new(), train: 0, classes: 10 };
            for (part, pair) in set.files.chunks_exact(2).enumerate() {
                let (pixels, labels) = (read(&pair[0])?, read(&pair[1])?);
                images.bytes.extend_from_slice(idx::parse(&pixels, 3, pair[0].name)?.data);
                images.labels.extend_from_slice(idx::parse(&labels, 1, pair[1].name)?.data);
                if part == 0 {
                    images.train = images.labels.len();
                }
            }
            Dataset::images(images, channels(name), &label)
        }
        Name::Cifar10 => {
            let mut images = Images { bytes: Vec::new(), labels: Vec::new(), train: 0, classes: 10 };
            for file in set.files {
                images.train = images.labels.len();
                cifar::parse_records(&read(file)?, file.name, &mut images.bytes, &mut images.labels)?;
            }
            Dataset::images(images, channels(name), &label)
        }
        Name::Shakespeare => {
            let mut roles = Vec::new();
            for file in set.files {
                let play = file.name.trim_end_matches("_gut.txt");
                let spoken = plays::roles(&read(file)?).into_iter();
                roles.extend(spoken.map(|role| (format!("{play}/{}", role.name), role.text)));
            }
            Dataset::text(roles.iter().map(|(name, text)| (name.as_str(), text.as_str())), &label)
        }
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
