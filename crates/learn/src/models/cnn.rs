//! Convolutional networks for images: the two for 28·28 grey ones, and the wide one in any size.

use crate::error::LearnError;
use crate::models::bounds::{Bound, COLOURS, FILTERS, HIDDEN, OUTPUTS};
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

/// The sizes of a network with two padded 5·5 convolutions, each followed by a 2·2 pooling, and two linear layers.
///
/// Takes [height, width, colours] per sample. Parameters are named `conv1`, `conv2`, `fc1`, `fc2`, each with `.weight`
/// and `.bias`, in PyTorch's layouts. A pooling leaves out an odd last row and column, as in PyTorch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CnnSizes {
    /// Height and width of the images, which must be equal.
    pub sides: [usize; 2],
    /// The number of values per pixel.
    pub colours: usize,
    /// Channels of the first convolution; the second one has twice as many.
    pub filters: usize,
    /// Units of the first linear layer.
    pub hidden: usize,
    /// Classes, or 1 for a regression.
    pub outputs: usize,
}

/// Two poolings leave something of every image.
const SIDE: Bound = Bound { name: "image height", range: 4..=4096, wanted: "a whole number from 4 to 4096" };

impl CnnSizes {
    /// The network, if it can have these sizes.
    pub fn network<T: Lanes>(self) -> Result<Network<T>, LearnError> {
        let [height, width] = self.sides;
        SIDE.check(height)?;
        if width != height {
            let wanted = "equal to the height: the cnn takes square images, mobilenet any others";
            return Err(LearnError::BadSetting { name: "image width", value: width as f64, wanted });
        }
        COLOURS.check(self.colours)?;
        FILTERS.check(self.filters)?;
        HIDDEN.check(self.hidden)?;
        OUTPUTS.check(self.outputs)?;
        Ok(self.unchecked())
    }

    fn unchecked<T: Lanes>(self) -> Network<T> {
        let Self { sides: [side, _], colours, filters, hidden, outputs } = self;
        let (half, quarter, twice) = (side / 2, side / 4, 2 * filters);
        Network::new(vec![
            Box::new(Conv::new("conv1", (colours, filters), side, 5, 2).samples_first()),
            Box::new(MaxPoolRelu::new(filters, side)),
            Box::new(Conv::new("conv2", (filters, twice), half, 5, 2)),
            Box::new(MaxPoolRelu::new(twice, half)),
            Box::new(Flatten::new(twice, quarter * quarter)),
            Box::new(Linear::relu("fc1", twice * quarter * quarter, hidden)),
            Box::new(Linear::new("fc2", hidden, outputs)),
        ])
    }
}

/// The wide one of the federated learning literature: 32 and 64 channels, padded; 1,663,370 parameters.
pub fn wide_cnn<T: Lanes>(classes: usize) -> Network<T> {
    CnnSizes { sides: [28, 28], colours: 1, filters: 32, hidden: 512, outputs: classes }.unchecked()
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
