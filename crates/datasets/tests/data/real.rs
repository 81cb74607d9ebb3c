//! The real files, where `FEDFLIP_DATA` names a folder that holds them.

use std::fs;
use std::path::PathBuf;

use fedflip_datasets::catalogue::{CIFAR10, FASHION_MNIST, MNIST, SHAKESPEARE, SetSpec};
use fedflip_datasets::fetch::{self, Source};
use fedflip_datasets::programs::Programs;
use fedflip_datasets::{Dataset, Split, load};

/// The folder of the real files, or a word on why there is no test.
fn real(set: &SetSpec) -> Option<PathBuf> {
    let folder = std::env::var_os("FEDFLIP_DATA").map(PathBuf::from);
    let folder = folder.filter(|folder| load::is_present(set, folder));
    if folder.is_none() {
        println!("skipped: {} is not in FEDFLIP_DATA", set.name);
    }
    folder
}

fn counts(set: &Dataset, split: Split) -> Vec<usize> {
    let mut counts = vec![0; set.classes()];
    set.positions(split).for_each(|position| counts[usize::from(set.label(position))] += 1);
    counts
}

/// Every channel of the training part has mean 0 and standard deviation 1, but for the digits printed.
fn assert_normalised(set: &Dataset, channels: usize, std_tolerance: f64) {
    let mut sums = vec![(0.0, 0.0); channels];
    let (mut features, mut label) = (vec![0.0; set.sample_len()], [0.0]);
    for position in set.positions(Split::Train) {
        set.write_batch(&[position], &mut features, &mut label);
        for pixel in features.chunks_exact(channels) {
            for (sum, &feature) in sums.iter_mut().zip(pixel) {
                sum.0 += f64::from(feature);
                sum.1 += f64::from(feature).powi(2);
            }
        }
    }
    let count = (set.len(Split::Train) * set.sample_len() / channels) as f64;
    for (sum, squares) in sums {
        let mean = sum / count;
        let std = (squares / count - mean * mean).sqrt();
        assert!(mean.abs() < 1e-3 && (std - 1.0).abs() < std_tolerance, "mean {mean}, std {std}");
    }
}

#[test]
fn real_mnist() {
    let Some(folder) = real(&MNIST) else { return };
    let set = load::load(&MNIST, &folder).unwrap();
    assert_eq!((set.sample_len(), set.len(Split::Train), set.len(Split::Test)), (784, 60_000, 10_000));
    let published = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(counts(&set, Split::Train), published);
    assert_normalised(&set, 1, 1e-3);
}

#[test]
fn real_fashion_mnist() {
    let Some(folder) = real(&FASHION_MNIST) else { return };
    let set = load::load(&FASHION_MNIST, &folder).unwrap();
    assert_eq!(counts(&set, Split::Train), [6000; 10]);
    assert_eq!(counts(&set, Split::Test), [1000; 10]);
    assert_normalised(&set, 1, 1e-3);
}

#[test]
fn real_cifar10() {
    let Some(folder) = real(&CIFAR10) else { return };
    let set = load::load(&CIFAR10, &folder).unwrap();
    assert_eq!(set.sample_len(), 3072);
    assert_eq!(counts(&set, Split::Train), [5000; 10]);
    assert_eq!(counts(&set, Split::Test), [1000; 10]);
    assert_normalised(&set, 3, 1e-3);
}

#[test]
fn real_shakespeare() {
    let Some(folder) = real(&SHAKESPEARE) else { return };
    let set = load::load(&SHAKESPEARE, &folder).unwrap();
    let lengths = set.ranges(Split::Train).iter().zip(set.ranges(Split::Test));
    let long = lengths.filter(|(train, test)| train.len() + test.len() + 80 >= 1000).count();
    let found = (set.roles().len(), long, set.len(Split::Train), set.len(Split::Test));
    assert_eq!(found, (1186, 621, 3_533_027, 391_961));
}

/// The labels of MNIST and of Fashion-MNIST are of the same length: only their sums tell.
#[test]
fn swapped_files_are_told_whose_they_are() {
    let (Some(mnist), Some(fashion)) = (real(&MNIST), real(&FASHION_MNIST)) else { return };
    let desk = tempfile::tempdir().unwrap();
    let from = desk.path().join("from");
    fs::create_dir(&from).unwrap();
    for file in MNIST.files {
        let other = file.name == "train-labels-idx1-ubyte";
        let folder = if other { fashion.join("fashion-mnist") } else { mnist.join("mnist") };
        fs::copy(folder.join(file.name), from.join(file.name)).unwrap();
    }
    let data = desk.path().join("data");
    let get = fetch::get(&MNIST, &data, &Source::Folder(from), &Programs::default(), &mut |_| {});
    let error = get.unwrap_err().to_string();
    let is = "train-labels-idx1-ubyte: this is train-labels-idx1-ubyte of fashion-mnist under another name";
    assert!(error.ends_with(is), "{error}");
}
