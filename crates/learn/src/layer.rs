//! Layers: functions of parameters and input, with their derivatives.

use crate::real::Real;

/// The values of a parameter before the first round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Uniform in ±bound, from the keyed stream of the run.
    Uniform(f64),
    /// Normal with mean 0 and this standard deviation.
    Normal(f64),
    /// The same number everywhere.
    Constant(f64),
}

impl Init {
    /// PyTorch's default for linear and convolutional layers: ±1/√inputs.
    pub fn fan_in(inputs: usize) -> Self {
        Self::Uniform(1.0 / (inputs as f64).sqrt())
    }
}

/// One named array of parameters, in the shape and layout that PyTorch uses.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamSpec {
    /// The name within the layer, such as `weight`.
    pub name: &'static str,
    /// The lengths of the dimensions; numbers are in row-major order.
    pub shape: Vec<usize>,
    /// The values before the first round.
    pub init: Init,
    /// Whether SGD moves the parameter. Otherwise it is a running statistic: the layer's backward pass writes the
    /// old value minus the new one in place of a gradient, and the step size is 1.
    pub trained: bool,
}

impl ParamSpec {
    /// Parameters that SGD moves.
    pub fn trained(name: &'static str, shape: &[usize], init: Init) -> Self {
        Self { name, shape: shape.to_vec(), init, trained: true }
    }

    /// The number of numbers in the array.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether the array has no numbers.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The arguments of a forward pass.
pub struct Forward<'a, T> {
    /// Samples in the batch.
    pub batch: usize,
    /// The layer's parameters, one array after the other in the order of [`Layer::params`].
    pub params: &'a [T],
    /// The inputs of the batch: `batch · input_len` numbers.
    pub input: &'a [T],
    /// `batch · output_len` numbers, to be written.
    pub output: &'a mut [T],
    /// `scratch_len` numbers, which the backward pass finds as the forward pass leaves them.
    pub scratch: &'a mut [T],
    /// Whether a backward pass follows.
    pub training: bool,
}

/// The arguments of a backward pass; `input`, `output` and `scratch` are those of the forward pass before it.
pub struct Backward<'a, T> {
    /// Samples in the batch.
    pub batch: usize,
    /// The parameters of this layer.
    pub params: &'a [T],
    /// The input of the forward pass.
    pub input: &'a [T],
    /// The output of the forward pass.
    pub output: &'a [T],
    /// ∂loss/∂output; may be overwritten.
    pub output_grad: &'a mut [T],
    /// ∂loss/∂input, to be written; empty for the first layer, which has no layer to pass it to.
    pub input_grad: &'a mut [T],
    /// ∂loss/∂parameters, to be written.
    pub params_grad: &'a mut [T],
    /// The scratch as the forward pass left it; may be overwritten.
    pub scratch: &'a mut [T],
}

/// The sizes of a layer per sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The number of input numbers.
    pub input: usize,
    /// The number of output numbers.
    pub output: usize,
    /// The multiply-adds of a forward pass, for layers in which they are most of the work. A backward pass takes as many
    /// for the parameters, and as many for the input.
    pub multiply_adds: usize,
}

/// A differentiable step of a network. The order of numbers within a batch is an agreement between neighbouring layers:
/// the documentation of each layer describes its input and output.
pub trait Layer<T: Real>: Send + Sync {
    /// The prefix of parameter names, such as `conv1`; layers without parameters may share a name.
    fn name(&self) -> &str;
    /// The parameters, in the order of their numbers; none by default.
    fn params(&self) -> Vec<ParamSpec> {
        Vec::new()
    }
    /// The numbers per sample that go in and come out, and the work between.
    fn sizes(&self) -> Sizes;
    /// The number of input numbers per sample.
    fn input_len(&self) -> usize {
        self.sizes().input
    }
    /// The number of output numbers per sample.
    fn output_len(&self) -> usize {
        self.sizes().output
    }
    /// Numbers that the layer keeps between the passes or works in; none by default.
    fn scratch_len(&self, _batch: usize) -> usize {
        0
    }
    /// Computes the output of a batch.
    fn forward(&self, pass: Forward<'_, T>);
    /// Computes the gradients of the parameters and of the input.
    fn backward(&self, pass: Backward<'_, T>);
}

/// Cuts a slice, from its beginning, into parts of these lengths.
pub(crate) fn cut<T, const N: usize>(slice: &mut [T], lens: [usize; N]) -> [&mut [T]; N] {
    let mut rest = slice;
    lens.map(|len| rest.split_off_mut(..len).unwrap_or_default())
}
