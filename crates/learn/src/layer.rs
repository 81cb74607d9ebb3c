//! What a layer is: a function of parameters and input, and its derivative.

use crate::real::Real;

/// How a parameter starts, before the first round.
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
    /// Within its layer, such as `weight`.
    pub name: &'static str,
    /// In row-major order.
    pub shape: Vec<usize>,
    /// How it starts.
    pub init: Init,
    /// Whether SGD moves it. Otherwise it is a running statistic: the layer's backward pass puts the
    /// old value less the new one where a gradient would be, and the step size is 1.
    pub trained: bool,
}

impl ParamSpec {
    /// Parameters that SGD moves.
    pub fn trained(name: &'static str, shape: &[usize], init: Init) -> Self {
        Self { name, shape: shape.to_vec(), init, trained: true }
    }

    /// How many numbers it holds.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What a forward pass gets.
pub struct Forward<'a, T> {
    /// Samples in the batch.
    pub batch: usize,
    /// The layer's parameters, one array after the other in the order of [`Layer::params`].
    pub params: &'a [T],
    /// `batch · input_len` numbers.
    pub input: &'a [T],
    /// `batch · output_len` numbers, to be written.
    pub output: &'a mut [T],
    /// `scratch_len` numbers; what is left here is there in the backward pass.
    pub scratch: &'a mut [T],
    /// Whether a backward pass follows.
    pub training: bool,
}

/// What a backward pass gets; `input`, `output` and `scratch` are those of the forward pass before it.
pub struct Backward<'a, T> {
    /// Samples in the batch.
    pub batch: usize,
    /// The layer's parameters.
    pub params: &'a [T],
    /// As in the forward pass.
    pub input: &'a [T],
    /// As in the forward pass.
    pub output: &'a [T],
    /// ∂loss/∂output; may be overwritten.
    pub output_grad: &'a mut [T],
    /// ∂loss/∂input, to be written; empty where nobody needs it (the first layer).
    pub input_grad: &'a mut [T],
    /// ∂loss/∂parameters, to be written.
    pub params_grad: &'a mut [T],
    /// As left by the forward pass; may be overwritten.
    pub scratch: &'a mut [T],
}

/// A differentiable step of a network. The order of numbers within a batch is a matter between neighbours:
/// each layer says in its documentation what it takes and gives.
pub trait Layer<T: Real>: Send + Sync {
    /// The prefix of parameter names, such as `conv1`; layers without parameters may share a name.
    fn name(&self) -> &str;
    /// The parameters, in the order of their numbers; none by default.
    fn params(&self) -> Vec<ParamSpec> {
        Vec::new()
    }
    /// Numbers per sample that go in.
    fn input_len(&self) -> usize;
    /// Numbers per sample that come out.
    fn output_len(&self) -> usize;
    /// Numbers that the layer keeps between the passes or works in; none by default.
    fn scratch_len(&self, _batch: usize) -> usize {
        0
    }
    /// Products per sample in a forward pass, where they are most of the work; a backward pass takes as many
    /// again for the parameters and for the input.
    fn multiply_adds(&self) -> u64 {
        0
    }
    /// Computes the output.
    fn forward(&self, pass: Forward<'_, T>);
    /// Computes the gradients; bounds as in the forward pass.
    fn backward(&self, pass: Backward<'_, T>);
}

/// Cuts a slice, from its beginning, into parts of these lengths.
pub(crate) fn cut<T, const N: usize>(slice: &mut [T], lens: [usize; N]) -> [&mut [T]; N] {
    let mut rest = slice;
    lens.map(|len| rest.split_off_mut(..len).unwrap_or_default())
}
