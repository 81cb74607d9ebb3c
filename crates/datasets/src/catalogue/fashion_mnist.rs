//! Fashion-MNIST: pictures of clothes in the format of MNIST.

use super::{Client, FileSpec, Package, SetSpec, file, mnist};
use crate::dataset::Channel;

pub static FASHION_MNIST: SetSpec = SetSpec {
    name: "fashion-mnist",
    about: "60,000 + 10,000 pictures of clothes, 28×28",
    licence: "MIT",
    files: FILES,
    packages: &[Package {
        client: Client::Apt,
        spec: "dataset-fashion-mnist",
        archive: APT,
        installed: Some("/usr/share/datasets/fashion-mnist"),
    }],
    addresses: &["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"],
    published: PUBLISHED,
    usual_folders: &["fashion-mnist", "", "usr/share/datasets/fashion-mnist", "FashionMNIST/raw"],
    channels: &[Channel { mean: 0.2860, std: 0.3530 }],
    read: mnist::read,
};

/// The sums are of the content of the published gzipped files.
const FILES: &[FileSpec] = &[
    file("train-images-idx3-ubyte", 47_040_016, "f4a8712d7a061bf5bd6d2ca38dc4d50a"),
    file("train-labels-idx1-ubyte", 60_008, "9018921c3c673c538a1fc5bad174d6f9"),
    file("t10k-images-idx3-ubyte", 7_840_016, "8181f5470baa50b63fa0f6fddb340f0a"),
    file("t10k-labels-idx1-ubyte", 10_008, "15d484375f8d13e6eb1aabb0c3f46965"),
];

const PUBLISHED: &[FileSpec] = &[
    file("train-images-idx3-ubyte.gz", 26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
    file("train-labels-idx1-ubyte.gz", 29_515, "25c81989df183df01b3e8a0aad5dffbe"),
    file("t10k-images-idx3-ubyte.gz", 4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
    file("t10k-labels-idx1-ubyte.gz", 5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
];

const APT: FileSpec = file("dataset-fashion-mnist.deb", 30_900_652, "28c148d3a02fef8285239e22d1f420b1");
