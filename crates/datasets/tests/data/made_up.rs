//! Small sets of the same kinds as the real ones. The sets are leaked: a set's description borrows
//! for ever, and a test process is short.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use fedflip_datasets::catalogue::{Client, FileSpec, MNIST, Package, SetSpec};
use fedflip_datasets::sums::md5_hex;
use flate2::Compression;
use flate2::write::GzEncoder;

/// A file by name.
pub(crate) type Content = (&'static str, Vec<u8>);

pub(crate) fn spec((name, bytes): &Content) -> FileSpec {
    FileSpec { name, bytes: bytes.len() as u64, md5: leak(&md5_hex(bytes)) }
}

pub(crate) fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

/// A set of these files that comes from nowhere.
pub(crate) fn set(name: &'static str, files: &[Content]) -> SetSpec {
    SetSpec {
        name,
        about: "made up",
        licence: "none",
        files: files.iter().map(spec).collect::<Vec<_>>().leak(),
        packages: &[],
        addresses: &[],
        published: &[],
        usual_folders: &["", "package"],
        channels: &[],
        read: MNIST.read,
    }
}

pub(crate) fn package(client: Client, wanted: &'static str, archive: &Content) -> Package {
    Package { client, spec: wanted, archive: spec(archive), installed: None }
}

fn noise(len: usize, seed: u64) -> Vec<u8> {
    let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    std::iter::successors(Some(seed), next).skip(1).take(len).map(|state| (state >> 56) as u8).collect()
}

/// Images of 4 × 4 in IDX: 6 for training, 3 for testing.
pub(crate) fn digits() -> Vec<Content> {
    let images = |count: u8, seed| {
        [&[0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 4, 0, 0, 0, 4][..], &noise(16 * usize::from(count), seed)]
            .concat()
    };
    let labels = |count: u8| [&[0, 0, 8, 1, 0, 0, 0, count][..], &(0..count).collect::<Vec<_>>()].concat();
    vec![
        ("train-images-idx3-ubyte", images(6, 1)),
        ("train-labels-idx1-ubyte", labels(6)),
        ("t10k-images-idx3-ubyte", images(3, 2)),
        ("t10k-labels-idx1-ubyte", labels(3)),
    ]
}

pub(crate) fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::default());
    writer.write_all(bytes).unwrap();
    writer.finish().unwrap()
}

/// The same, gzipped as the authors publish them.
pub(crate) fn gzipped(files: &[Content]) -> Vec<Content> {
    files.iter().map(|(name, bytes)| (leak(&format!("{name}.gz")), gz(bytes))).collect()
}

/// The same as comma-separated values.
pub(crate) fn digits_as_csv() -> Vec<Content> {
    let files = digits();
    let csv = |images: &[u8], labels: &[u8]| {
        let columns: Vec<String> = (0..16).map(|n| format!("{}x{}", n / 4 + 1, n % 4 + 1)).collect();
        let mut text = format!("label,{}\r\n", columns.join(","));
        for (label, pixels) in labels[8..].iter().zip(images[16..].chunks(16)) {
            let values: Vec<String> = pixels.iter().map(u8::to_string).collect();
            text += &format!("{label},{}\r\n", values.join(","));
        }
        text.into_bytes()
    };
    vec![
        ("mnist_train.csv", csv(&files[0].1, &files[1].1)),
        ("mnist_test.csv", csv(&files[2].1, &files[3].1)),
    ]
}

/// Records of CIFAR-10: two batches of two images, one image for testing.
pub(crate) fn photographs() -> Vec<Content> {
    let records = |labels: &[u8], seed: u64| {
        labels
            .iter()
            .zip(seed..)
            .flat_map(|(&label, seed)| [vec![label], noise(3072, seed)].concat())
            .collect()
    };
    vec![
        ("data_batch_1.bin", records(&[3, 9], 10)),
        ("data_batch_2.bin", records(&[0, 1], 20)),
        ("test_batch.bin", records(&[7], 30)),
    ]
}

/// The same as PNG batches with lists of labels.
pub(crate) fn photographs_as_png() -> Vec<Content> {
    let png = |records: &[u8]| {
        let rows = records.len() / 3073;
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 1024, rows as u32);
        encoder.set_color(png::ColorType::Rgb);
        let pixels: Vec<u8> = records
            .chunks(3073)
            .flat_map(|record| (0..1024).flat_map(move |n| [0, 1, 2].map(|c| record[1 + 1024 * c + n])))
            .collect();
        encoder.write_header().unwrap().write_image_data(&pixels).unwrap();
        bytes
    };
    let mut files: Vec<Content> = photographs()
        .iter()
        .map(|(name, records)| (leak(&name.replace(".bin", ".png")), png(records)))
        .collect();
    files.push(("train_lables.json", b"[3, 9, 0, 1]".to_vec()));
    files.push(("test_lables.json", b"[7]".to_vec()));
    files
}

/// A gzipped tar archive with the files in a folder.
pub(crate) fn tar(name: &'static str, folder: &str, files: &[Content]) -> Content {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (file, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{folder}/{file}"), bytes.as_slice()).unwrap();
    }
    (name, builder.into_inner().unwrap().finish().unwrap())
}

/// A wheel with the files in a folder.
pub(crate) fn wheel(name: &'static str, folder: &str, files: &[Content]) -> Content {
    let mut bytes = std::io::Cursor::new(Vec::new());
    let mut writer = zip::ZipWriter::new(&mut bytes);
    for (file, content) in files {
        writer.start_file(format!("{folder}/{file}"), zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
    (name, bytes.into_inner())
}

pub(crate) fn write(folder: &Path, files: &[Content]) {
    fs::create_dir_all(folder).unwrap();
    for (name, bytes) in files {
        File::create(folder.join(name)).unwrap().write_all(bytes).unwrap();
    }
}

/// Whether the folder has exactly these files.
pub(crate) fn holds(folder: &Path, files: &[Content]) -> bool {
    fs::read_dir(folder).is_ok_and(|listed| listed.count() == files.len())
        && files.iter().all(|(name, bytes)| fs::read(folder.join(name)).is_ok_and(|found| found == *bytes))
}
