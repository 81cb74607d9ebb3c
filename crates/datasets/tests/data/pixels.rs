//! Bytes become the numbers that PyTorch's transforms make of them, to the last bit.

use std::collections::BTreeMap;

use fedflip_datasets::Dataset;
use fedflip_datasets::catalogue::{CIFAR10, FASHION_MNIST, MNIST};
use fedflip_datasets::dataset::Images;
use fedflip_datasets::sums::md5_hex;
use serde::Deserialize;

#[derive(Deserialize)]
struct Golden {
    md5: String,
    some: [f32; 3],
}

#[test]
fn every_byte_is_normalised_as_pytorch_does() {
    let golden: BTreeMap<String, Vec<Golden>> =
        serde_json::from_str(include_str!("../../../learn/tests/golden/normalise.json")).unwrap();
    for spec in [&MNIST, &FASHION_MNIST, &CIFAR10] {
        let (name, channels) = (spec.name, spec.channels);
        // One image for each byte, with that byte in all channels.
        let bytes = (0..=255).flat_map(|byte| vec![byte; channels.len()]).collect();
        let images = Images { bytes, labels: vec![0; 256], train: 256, classes: 1 };
        let set = Dataset::images(images, channels, "x").unwrap();
        let positions: Vec<u32> = (0..256).collect();
        let (mut features, mut labels) = (vec![0.0; 256 * channels.len()], vec![0.0; 256]);
        set.write_batch(&positions, &mut features, &mut labels);
        assert_eq!(golden[name].len(), channels.len());
        for (channel, golden) in golden[name].iter().enumerate() {
            let row: Vec<f32> = features.iter().skip(channel).step_by(channels.len()).copied().collect();
            assert_eq!([row[0], row[128], row[255]], golden.some, "{name}");
            let bits: Vec<u8> = row.iter().flat_map(|feature| feature.to_le_bytes()).collect();
            assert_eq!(md5_hex(&bits), golden.md5, "{name}");
        }
    }
}
