//! MobileNet v1 for small images: depthwise and pointwise convolutions in turn.
//!
//! As in the paper (Howard et al. 2017), but the first convolution has stride 1, so that small images keep
//! their pixels. Takes [height, width, colours], channels last. Every convolution is followed by a normalisation and
//! ReLU. Parameters are named `stem`, `stem_norm`, `block1.depthwise`, `block1.depthwise_norm`,
//! `block1.pointwise`, `block1.pointwise_norm`, …, `block13.pointwise_norm`, `classifier`, each with
//! `.weight` and where it has one `.bias`, in PyTorch's layouts.

use crate::error::LearnError;
use crate::layer::Layer;
use crate::models::bounds::{Bound, COLOURS, OUTPUTS};
use crate::network::Network;
use crate::nn::batch_norm::BatchNorm;
use crate::nn::depthwise::Depthwise;
use crate::nn::global_pool::GlobalPool;
use crate::nn::group_norm::GroupNorm;
use crate::nn::linear::Linear;
use crate::nn::pointwise::Pointwise;
use crate::nn::stem::Stem;
use crate::real::Real;

/// What follows each convolution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Norm {
    /// Group normalisation, [`groups`] of them: each sample by itself, nothing to aggregate but weights.
    #[default]
    Group,
    /// Batch normalisation, with running statistics among the parameters.
    Batch,
}

/// The sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MobileNetSizes {
    /// Height and width of the images.
    pub sides: [usize; 2],
    /// The number of values per pixel.
    pub colours: usize,
    /// What all channels are multiplied by: 0.25 to 1 in the paper.
    pub width: f64,
    /// What follows each convolution.
    pub norm: Norm,
    /// Classes, or 1 for a regression.
    pub outputs: usize,
}

const HEIGHT: Bound =
    Bound { name: "image height", range: 8..=4096, wanted: "a whole number from 8 to 4096" };
const WIDTH: Bound = Bound { name: "image width", ..HEIGHT };
/// Channels after the first convolution, at width 1.
const STEM: usize = 32;
/// Channels after each block at width 1, and the stride of its depthwise convolution.
const BLOCKS: [(usize, usize); 13] = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
];

/// Channels at a width: rounded to a multiple of 8, at least 8, so that they fill vector registers.
pub fn channels(full: usize, width: f64) -> usize {
    (full as f64 * width / 8.0).round().max(1.0) as usize * 8
}

/// Groups of a group normalisation: one per 16 channels (the size that Wu and He found best), or as many
/// fewer as it takes to divide the channels evenly.
pub fn groups(channels: usize) -> usize {
    let most = (channels / 16).max(1);
    (1..=most).rev().find(|&groups| channels.is_multiple_of(groups)).unwrap_or(1)
}

/// The network for CIFAR's images, with all channels multiplied by `width`, 0.25 to 1 in the paper.
pub fn mobilenet<T: Real>(width: f64, norm: Norm, classes: usize) -> Network<T> {
    Network::new(layers(MobileNetSizes::cifar(width, norm, classes)))
}

impl MobileNetSizes {
    /// For 32×32 pixels of three colours.
    pub fn cifar(width: f64, norm: Norm, classes: usize) -> Self {
        Self { sides: [32, 32], colours: 3, width, norm, outputs: classes }
    }

    /// The network, if it can have these sizes.
    pub fn network<T: Real>(self) -> Result<Network<T>, LearnError> {
        HEIGHT.check(self.sides[0])?;
        WIDTH.check(self.sides[1])?;
        COLOURS.check(self.colours)?;
        OUTPUTS.check(self.outputs)?;
        if !(self.width > 0.0 && self.width <= 4.0) {
            let wanted = "a number above 0, at most 4";
            return Err(LearnError::BadSetting { name: "width", value: self.width, wanted });
        }
        Ok(Network::new(layers(self)))
    }
}

/// Its layers one by one, for whoever measures or changes them.
pub fn layers<T: Real>(sizes: MobileNetSizes) -> Vec<Box<dyn Layer<T>>> {
    let MobileNetSizes { mut sides, colours, width, norm, outputs: classes } = sizes;
    let norm = |name: &str, pixels: usize, channels: usize| -> Box<dyn Layer<T>> {
        match norm {
            Norm::Group => Box::new(GroupNorm::relu(name, pixels, channels, groups(channels))),
            Norm::Batch => Box::new(BatchNorm::relu(name, pixels, channels)),
        }
    };
    let mut inputs = channels(STEM, width);
    let mut layers: Vec<Box<dyn Layer<T>>> = vec![
        Box::new(Stem::new("stem", sides, colours, inputs)),
        norm("stem_norm", sides.iter().product(), inputs),
    ];
    for (number, (full, stride)) in (1..).zip(BLOCKS) {
        let depthwise = Depthwise::new(&format!("block{number}.depthwise"), sides, inputs, stride);
        let outputs = channels(full, width);
        sides = depthwise.output_sides();
        let pixels = sides.iter().product();
        layers.push(Box::new(depthwise));
        layers.push(norm(&format!("block{number}.depthwise_norm"), pixels, inputs));
        layers.push(Box::new(Pointwise::new(&format!("block{number}.pointwise"), pixels, inputs, outputs)));
        layers.push(norm(&format!("block{number}.pointwise_norm"), pixels, outputs));
        inputs = outputs;
    }
    layers.push(Box::new(GlobalPool::new(sides.iter().product(), inputs)));
    layers.push(Box::new(Linear::new("classifier", inputs, classes)));
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: convolutions 27·32 + Σ (9·in + in·out), two numbers per normalised channel, the classifier.
    #[test]
    fn parameters_by_the_formula() {
        for width in [0.25, 0.5, 0.75, 1.0] {
            let scaled = |full: usize| (full as f64 * width) as usize;
            let mut inputs = scaled(32);
            let mut convolutions = 27 * inputs;
            let mut normalised = inputs;
            for (full, _) in BLOCKS {
                let outputs = scaled(full);
                convolutions += 9 * inputs + inputs * outputs;
                normalised += inputs + outputs;
                inputs = outputs;
            }
            let classifier = 10 * inputs + 10;
            let group = mobilenet::<f32>(width, Norm::Group, 10).params_len();
            assert_eq!(group, convolutions + 2 * normalised + classifier);
            let batch = mobilenet::<f32>(width, Norm::Batch, 10).params_len();
            assert_eq!(batch, convolutions + 4 * normalised + classifier);
        }
        // As PyTorch counts (tests/golden/torch_models.py, at width 1).
        assert_eq!(mobilenet::<f32>(1.0, Norm::Group, 10).params_len(), 3_217_226);
    }

    #[test]
    fn names_and_shapes_of_the_torch_twin() {
        let params = mobilenet::<f32>(0.25, Norm::Group, 10).params();
        let shape = |name: &str| params.iter().find(|(own, _)| own == name).map(|(_, spec)| &*spec.shape);
        assert_eq!(shape("stem.weight"), Some(&[8, 3, 3, 3][..]));
        assert_eq!(shape("stem_norm.bias"), Some(&[8][..]));
        assert_eq!(shape("block3.depthwise.weight"), Some(&[32, 1, 3, 3][..]));
        assert_eq!(shape("block13.pointwise.weight"), Some(&[256, 256, 1, 1][..]));
        assert_eq!(shape("classifier.weight"), Some(&[10, 256][..]));
    }

    #[test]
    fn groups_divide() {
        assert_eq!([8, 16, 24, 40, 56, 1024].map(groups), [1, 1, 1, 2, 2, 64]);
        for channels in 1..200 {
            assert_eq!(channels % groups(channels), 0);
        }
    }
}
