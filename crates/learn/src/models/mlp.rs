//! A perceptron: with one hidden layer, or with none.

use crate::error::LearnError;
use crate::layer::Layer;
use crate::models::bounds::{FEATURES, HIDDEN, OUTPUTS};
use crate::network::Network;
use crate::nn::linear::Linear;
use crate::real::Real;

/// The sizes of a perceptron.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MlpSizes {
    /// The number of values per sample.
    pub features: usize,
    /// Units of the hidden layer; 0 for none.
    pub hidden: usize,
    /// Classes, or 1 for a regression.
    pub outputs: usize,
}

impl MlpSizes {
    /// The network, if it can have these sizes.
    pub fn network<T: Real>(self) -> Result<Network<T>, LearnError> {
        FEATURES.check(self.features)?;
        HIDDEN.check(self.hidden.max(1))?;
        OUTPUTS.check(self.outputs)?;
        Ok(mlp(self.features, self.hidden, self.outputs))
    }
}

/// Softmax regression if `hidden` is 0, otherwise one hidden layer with this number of rectified units.
pub fn mlp<T: Real>(features: usize, hidden: usize, outputs: usize) -> Network<T> {
    let layers: Vec<Box<dyn Layer<T>>> = if hidden == 0 {
        vec![Box::new(Linear::new("fc", features, outputs))]
    } else {
        vec![Box::new(Linear::relu("fc1", features, hidden)), Box::new(Linear::new("fc2", hidden, outputs))]
    };
    Network::new(layers)
}
