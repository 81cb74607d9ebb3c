//! Images of data sets: IDX, gzipped IDX, CIFAR-10 as records and as PNG with labels beside it, digits as CSV.
//!
//! Every decoder gets the same bytes: the formats do not look alike, and what one of them makes of another's is
//! worth knowing too.

use fedflip_datasets::digits_csv::{self, Part};
use fedflip_datasets::{cifar, idx};

use crate::memory;

/// Of a packed file, this much is expected.
const UNPACKED_BYTES: u64 = 4096;
/// The number of images in a batch.
const LABELS: [u8; 2] = [3, 9];

/// What comes out has the size that was announced, or there is a refusal.
pub fn check(bytes: &[u8]) {
    for rank in [1, 3] {
        dimensions(bytes, rank);
    }
    if let Ok(unpacked) = memory::within(1 << 18, || idx::gunzip(bytes, UNPACKED_BYTES, "fuzz.gz")) {
        assert!(unpacked.len() as u64 <= UNPACKED_BYTES + 1);
        dimensions(&unpacked, 3);
    }
    records(bytes);
    // PNG's own buffers, and two rows.
    let made = memory::within(1 << 20, || cifar::records_from_png(bytes, &LABELS, "fuzz.png"));
    if let Ok(made) = made {
        assert_eq!(made.len(), LABELS.len() * cifar::RECORD_BYTES);
        records(&made);
    }
    if let Ok(labels) = memory::within((1 << 16) + 8 * bytes.len(), || {
        cifar::labels_from_json(bytes, LABELS.len(), "fuzz.json")
    }) {
        assert_eq!(labels.len(), LABELS.len());
    }
    digits(bytes);
}

fn dimensions(bytes: &[u8], rank: u8) {
    if let Ok(found) = memory::within(1 << 16, || idx::parse(bytes, rank, "fuzz.idx")) {
        assert_eq!(found.dims.len(), usize::from(rank));
        assert_eq!(found.dims.iter().product::<usize>(), found.data.len());
        assert!(bytes.ends_with(found.data));
    }
}

fn records(bytes: &[u8]) {
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    if cifar::parse_records(bytes, "fuzz.bin", &mut images, &mut labels).is_ok() {
        assert_eq!(images.len() + labels.len(), bytes.len());
        assert!(labels.iter().all(|&label| label < cifar::CLASSES));
    }
}

fn digits(bytes: &[u8]) {
    let read =
        |part| memory::within((1 << 16) + 4 * bytes.len(), || digits_csv::to_idx(bytes, part, "fuzz.csv"));
    let (images, labels) = (read(Part::Images), read(Part::Labels));
    assert_eq!(images.is_ok(), labels.is_ok());
    if let (Ok(images), Ok(labels)) = (images, labels) {
        let images = idx::parse(&images, 3, "images").expect("what is made can be read");
        let labels = idx::parse(&labels, 1, "labels").expect("what is made can be read");
        assert_eq!(images.dims[0], labels.dims[0]);
    }
}
