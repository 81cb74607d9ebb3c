//! The convolutional networks for 28·28 grey images.

use crate::network::Network;
use crate::nn::conv::Conv;
use crate::nn::linear::Linear;
use crate::nn::pool::{Flatten, MaxPoolRelu};
use crate::nn::vectors::Lanes;

/// The paper's CNN: two 5·5 convolutions with 10 and 20 channels, two linear layers; 21,840 parameters.
pub fn cnn<T: Lanes>(classes: usize) -> Network<T> {
    Network::new(vec![
        Box::new(Conv::new("conv1", (1, 10), 28, 5, 0).samples_first()),
        Box::new(MaxPoolRelu::new(10, 24)),
        Box::new(Conv::new("conv2", (10, 20), 12, 5, 0)),
        Box::new(MaxPoolRelu::new(20, 8)),
        Box::new(Flatten::new(20, 16)),
        Box::new(Linear::relu("fc1", 320, 50)),
        Box::new(Linear::new("fc2", 50, classes)),
    ])
}

/// The wide one of the federated learning literature: 32 and 64 channels, padded; 1,663,370 parameters.
pub fn wide_cnn<T: Lanes>(classes: usize) -> Network<T> {
    Network::new(vec![
        Box::new(Conv::new("conv1", (1, 32), 28, 5, 2).samples_first()),
        Box::new(MaxPoolRelu::new(32, 28)),
        Box::new(Conv::new("conv2", (32, 64), 14, 5, 2)),
        Box::new(MaxPoolRelu::new(64, 14)),
        Box::new(Flatten::new(64, 49)),
        Box::new(Linear::relu("fc1", 3136, 512)),
        Box::new(Linear::new("fc2", 512, classes)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_have_the_papers_parameters() {
        assert_eq!(cnn::<f32>(10).params_len(), 21_840);
        assert_eq!(wide_cnn::<f32>(10).params_len(), 1_663_370);
        let names: Vec<String> = cnn::<f32>(10).params().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names[..3], ["conv1.weight", "conv1.bias", "conv2.weight"]);
    }
}
