//! Partitions against `golden/partition.py`, which was written from the module's documentation alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_datasets::catalogue::{MNIST, SHAKESPEARE, SetSpec};
use fedflip_datasets::{Dataset, Split, load};
use fedflip_learn::partition::{self, Dirichlet, Partition};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Case {
    Iid {
        samples: u32,
        devices: usize,
        seed: u64,
        parts: Vec<Vec<u32>>,
    },
    Dirichlet {
        labels: Vec<u8>,
        devices: usize,
        concentration: f64,
        min_samples: usize,
        seed: u64,
        parts: Vec<Vec<u32>>,
        moved: usize,
    },
    ByRole {
        lengths: Vec<u32>,
        devices: usize,
        min_samples: usize,
        seed: u64,
        parts: Vec<Vec<u32>>,
    },
}

fn assert_same(split: &Partition, parts: &[Vec<u32>]) {
    assert_eq!(split.devices(), parts.len());
    for (device, part) in parts.iter().enumerate() {
        assert_eq!(split.device(device), part, "device {device}");
    }
}

/// A changed value here changes every run ever recorded.
#[test]
fn the_documentation_written_again_in_python_gives_the_same() {
    let cases: Vec<Case> = serde_json::from_str(include_str!("golden/partition.json")).unwrap();
    assert_eq!(cases.len(), 9);
    for case in cases {
        match case {
            Case::Iid { samples, devices, seed, parts } => {
                assert_same(&partition::iid(0..samples, devices, seed).unwrap(), &parts);
            }
            Case::Dirichlet { labels, devices, concentration, min_samples, seed, parts, moved } => {
                let samples = (0..).zip(labels);
                let recipe = Dirichlet { concentration, min_samples };
                let split = partition::dirichlet(
                    samples.map(|(at, label)| (at, u32::from(label))),
                    devices,
                    recipe,
                    seed,
                )
                .unwrap();
                assert_same(&split, &parts);
                assert_eq!(split.minimum().moved, moved);
            }
            Case::ByRole { lengths, devices, min_samples, seed, parts } => {
                let roles: Vec<_> = lengths
                    .iter()
                    .scan(0, |end, length| {
                        *end += length;
                        Some(*end - length..*end)
                    })
                    .collect();
                assert_same(&partition::by_role(&roles, devices, min_samples, seed).unwrap(), &parts);
            }
        }
    }
}

/// A real data set, where `FEDFLIP_DATA` names a folder that holds it.
fn real(set: &SetSpec) -> Option<Dataset> {
    let folder = std::env::var_os("FEDFLIP_DATA").map(std::path::PathBuf::from);
    let folder = folder.filter(|folder| load::is_present(set, folder));
    if folder.is_none() {
        println!("skipped: {} is not in FEDFLIP_DATA", set.name);
    }
    folder.map(|folder| load::load(set, &folder).unwrap())
}

#[test]
fn real_digits_reach_every_device() {
    let Some(set) = real(&MNIST) else { return };
    let samples = set.positions(Split::Train).map(|position| (position, set.label(position).into()));
    let recipe = Dirichlet { concentration: 0.8, min_samples: 32 };
    let split = partition::dirichlet(samples, 100, recipe, 7).unwrap();
    assert_eq!((split.samples(), split.devices()), (60_000, 100));
    assert!(split.sizes().all(|size| size >= 32));
}

#[test]
fn real_roles_keep_every_sample() {
    let Some(set) = real(&SHAKESPEARE) else { return };
    let split = partition::by_role(set.ranges(Split::Train), 100, 1, 7).unwrap();
    assert_eq!(split.samples(), set.len(Split::Train));
}
