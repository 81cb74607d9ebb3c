//! Models of other sizes than the paper's: their gradients, their parameters, and the sizes that are refused.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use fedflip_learn::LearnError;
use fedflip_learn::loss::Loss;
use fedflip_learn::models::cnn::{self, CnnSizes};
use fedflip_learn::models::lstm::LstmSizes;
use fedflip_learn::models::mlp::MlpSizes;
use fedflip_learn::models::mobilenet::{self, MobileNetSizes, Norm};
use fedflip_learn::network::Network;
use fedflip_learn::nn::gradient_check::assert_network_gradients;

const MLP: MlpSizes = MlpSizes { features: 7, hidden: 5, outputs: 3 };
const CNN: CnnSizes = CnnSizes { sides: [8, 8], colours: 3, filters: 3, hidden: 7, outputs: 5 };
const MOBILENET: MobileNetSizes =
    MobileNetSizes { sides: [8, 8], colours: 1, width: 0.25, norm: Norm::Group, outputs: 3 };
const LSTM: LstmSizes = LstmSizes { steps: 5, symbols: 6, embedded: 3, hidden: 7, outputs: 4 };

/// Labels of a classifier, and values of a regression.
const CLASSES: [f32; 3] = [2.0, 0.0, 1.0];
const VALUES: [f32; 3] = [0.25, -1.5, 3.0];

#[test]
fn gradients_of_perceptrons_with_both_losses() {
    for hidden in [0, 5] {
        let sizes = MlpSizes { hidden, ..MLP };
        assert_network_gradients(&sizes.network().unwrap(), &CLASSES, 1, 100, |x| x);
        let regression = MlpSizes { outputs: 1, ..sizes }.network().unwrap();
        let regression = regression.with_loss(Loss::SquaredError).unwrap();
        assert_network_gradients(&regression, &VALUES, 2, 100, |x| x);
    }
}

#[test]
fn gradients_of_cnns() {
    let odd = CnnSizes { sides: [7, 7], colours: 2, filters: 4, ..CNN };
    let least = CnnSizes { sides: [4, 4], colours: 16, filters: 1, ..CNN };
    for sizes in [CNN, odd, least] {
        assert_network_gradients(&sizes.network().unwrap(), &CLASSES, 3, 300, |x| x);
    }
    let regression = CnnSizes { outputs: 1, ..CNN }.network().unwrap().with_loss(Loss::SquaredError).unwrap();
    assert_network_gradients(&regression, &VALUES, 4, 300, |x| x);
}

#[test]
fn gradients_of_mobilenets() {
    let oblong = MobileNetSizes { sides: [9, 13], colours: 4, ..MOBILENET };
    for sizes in [MOBILENET, oblong] {
        assert_network_gradients(&sizes.network().unwrap(), &CLASSES, 5, 200, |x| x);
    }
}

#[test]
fn gradients_of_lstms() {
    let code = |x: f64| ((x + 1.0) * 3.0).floor();
    for sizes in [LSTM, LstmSizes { steps: 1, ..LSTM }] {
        assert_network_gradients(&sizes.network().unwrap(), &CLASSES, 6, 300, code);
    }
    let regression =
        LstmSizes { outputs: 1, ..LSTM }.network().unwrap().with_loss(Loss::SquaredError).unwrap();
    assert_network_gradients(&regression, &VALUES, 7, 300, code);
}

/// Channels come last: a kernel that looks at one colour sees that colour of every pixel.
#[test]
fn a_cnn_takes_its_colours_last() {
    let sizes = CnnSizes { sides: [4, 4], colours: 3, filters: 1, hidden: 1, outputs: 1 };
    let network: Network<f64> = sizes.network::<f64>().unwrap().with_loss(Loss::SquaredError).unwrap();
    // The middle of the 5·5 kernels: conv1 passes colour 1 on, conv2 its only channel, fc1 and fc2 the sum.
    let mut params = vec![0.0; network.params_len()];
    let mut at = 0;
    for (name, spec) in network.params() {
        match name.as_str() {
            "conv1.weight" => params[at + 25 + 12] = 1.0,
            "conv2.weight" => params[at + 12] = 1.0,
            "fc1.weight" | "fc2.weight" => params[at] = 1.0,
            _ => {}
        }
        at += spec.len();
    }
    let mut buffers = network.buffers(1);
    let pixels = (0..16).flat_map(|pixel| [100.0, f64::from(pixel), -100.0]);
    buffers.input().iter_mut().zip(pixels).for_each(|(to, x)| *to = x);
    // The largest of colour 1 is that of the last pixel.
    assert_eq!(network.evaluate(&params, &mut buffers, &[10.0], |_| {}).loss_sum, 25.0);
}

#[test]
fn the_papers_models_are_cases_of_the_general_ones() {
    let wide = CnnSizes { sides: [28, 28], colours: 1, filters: 32, hidden: 512, outputs: 10 };
    assert_eq!(wide.network::<f32>().unwrap().params(), cnn::wide_cnn::<f32>(10).params());
    let cifar = MobileNetSizes::cifar(0.5, Norm::Batch, 10);
    assert_eq!(
        cifar.network::<f32>().unwrap().params(),
        mobilenet::mobilenet::<f32>(0.5, Norm::Batch, 10).params()
    );
}

/// The largest sizes that are taken do not overflow, with the largest batch.
#[test]
fn sizes_out_of_range_are_refused_and_the_largest_do_not_overflow() {
    let many = usize::MAX;
    let refused = [
        (MlpSizes { features: 0, ..MLP }.network::<f32>(), "features"),
        (MlpSizes { hidden: many, ..MLP }.network(), "hidden"),
        (MlpSizes { outputs: 0, ..MLP }.network(), "outputs"),
        (CnnSizes { sides: [3, 3], ..CNN }.network(), "image height"),
        (CnnSizes { sides: [8, 12], ..CNN }.network(), "image width"),
        (CnnSizes { colours: 0, ..CNN }.network(), "colours"),
        (CnnSizes { filters: many, ..CNN }.network(), "filters"),
        (CnnSizes { hidden: 0, ..CNN }.network(), "hidden"),
        (CnnSizes { outputs: many, ..CNN }.network(), "outputs"),
        (MobileNetSizes { sides: [7, 8], ..MOBILENET }.network(), "image height"),
        (MobileNetSizes { sides: [8, many], ..MOBILENET }.network(), "image width"),
        (MobileNetSizes { colours: 17, ..MOBILENET }.network(), "colours"),
        (MobileNetSizes { width: f64::NAN, ..MOBILENET }.network(), "width"),
        (MobileNetSizes { outputs: 0, ..MOBILENET }.network(), "outputs"),
        (LstmSizes { steps: 0, ..LSTM }.network(), "steps"),
        (LstmSizes { symbols: many, ..LSTM }.network(), "symbols"),
        (LstmSizes { embedded: 0, ..LSTM }.network(), "embedded"),
        (LstmSizes { hidden: many, ..LSTM }.network(), "hidden"),
        (LstmSizes { outputs: many, ..LSTM }.network(), "outputs"),
    ];
    for (result, expected) in refused {
        match result.err() {
            Some(LearnError::BadSetting { name, .. }) => assert_eq!(name, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
    let (outputs, hidden) = (1 << 20, 65_536);
    let largest = [
        MlpSizes { features: 1 << 28, hidden, outputs }.network::<f32>(),
        CnnSizes { sides: [4096; 2], colours: 16, filters: 1024, hidden, outputs }.network(),
        MobileNetSizes { sides: [4096; 2], colours: 16, width: 4.0, norm: Norm::Batch, outputs }.network(),
        LstmSizes { steps: 65_536, symbols: 1 << 20, embedded: 65_536, hidden, outputs }.network(),
    ];
    for network in largest {
        let network = network.unwrap();
        // Overflow checks are on in tests.
        assert!(network.buffer_bytes(65_536) > 1 << 40);
        assert!(network.step_flop(65_536).is_finite());
    }
}
