//! A perceptron: with one hidden layer, or with none.

use crate::layer::Layer;
use crate::network::Network;
use crate::nn::linear::Linear;
use crate::real::Real;

/// Softmax regression if `hidden` is 0, otherwise one hidden layer with this number of rectified units.
pub fn mlp<T: Real>(features: usize, hidden: usize, classes: usize) -> Network<T> {
    let layers: Vec<Box<dyn Layer<T>>> = if hidden == 0 {
        vec![Box::new(Linear::new("fc", features, classes))]
    } else {
        vec![Box::new(Linear::relu("fc1", features, hidden)), Box::new(Linear::new("fc2", hidden, classes))]
    };
    Network::new(layers)
}
