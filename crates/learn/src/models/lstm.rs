//! The next character of a text: embedding, two LSTM layers, linear on the last step.

use crate::error::LearnError;
use crate::models::bounds;
use crate::network::Network;
use crate::nn::embedding::Embedding;
use crate::nn::last_step::LastStep;
use crate::nn::linear::Linear;
use crate::nn::lstm::Lstm;
use crate::nn::vectors::Lanes;

/// Characters that the model of Shakespeare sees.
pub const STEPS: usize = 80;
/// Characters that it knows.
pub const SYMBOLS: usize = 80;

/// The sizes of a network that reads a sequence of symbols: embedding, two LSTM layers, linear on the last step.
///
/// Takes the codes of `steps` symbols per sample. The names are those of the `state_dict` of this module, in this order:
///
/// ```python
/// self.embedding = torch.nn.Embedding(symbols, embedded)
/// self.lstm = torch.nn.LSTM(embedded, hidden, num_layers=2)  # time first
/// self.linear = torch.nn.Linear(hidden, outputs)             # of the last step
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LstmSizes {
    /// The number of symbols per sample.
    pub steps: usize,
    /// Different symbols that there may be.
    pub symbols: usize,
    /// Numbers of the vector that stands for a symbol.
    pub embedded: usize,
    /// Units of each LSTM layer.
    pub hidden: usize,
    /// Classes, or 1 for a regression; as many as symbols where the next symbol is predicted.
    pub outputs: usize,
}

impl LstmSizes {
    /// The network, if it can have these sizes.
    pub fn network<T: Lanes>(self) -> Result<Network<T>, LearnError> {
        bounds::STEPS.check(self.steps)?;
        bounds::SYMBOLS.check(self.symbols)?;
        bounds::EMBEDDED.check(self.embedded)?;
        bounds::HIDDEN.check(self.hidden)?;
        bounds::OUTPUTS.check(self.outputs)?;
        Ok(self.unchecked())
    }

    fn unchecked<T: Lanes>(self) -> Network<T> {
        let Self { steps, symbols, embedded, hidden, outputs } = self;
        Network::new(vec![
            Box::new(Embedding::new("embedding", steps, symbols, embedded)),
            Box::new(Lstm::new("lstm", 0, steps, embedded, hidden)),
            Box::new(Lstm::new("lstm", 1, steps, hidden, hidden)),
            Box::new(LastStep::new(steps, hidden)),
            Box::new(Linear::new("linear", hidden, outputs)),
        ])
    }
}

/// `shakespeare-lstm`: 80 codes of characters in, one sample after the other; 80 scores for the next
/// character out. 819,920 parameters.
pub fn shakespeare_lstm<T: Lanes>() -> Network<T> {
    LstmSizes { steps: STEPS, symbols: SYMBOLS, embedded: 8, hidden: 256, outputs: SYMBOLS }.unchecked()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_as_in_pytorch() {
        let network = shakespeare_lstm::<f32>();
        assert_eq!(network.params_len(), 819_920);
        assert_eq!(shakespeare_lstm::<f64>().params_len(), 819_920);
        let params: Vec<String> =
            network.params().into_iter().map(|(name, spec)| format!("{name} {:?}", spec.shape)).collect();
        assert_eq!(
            params,
            [
                "embedding.weight [80, 8]",
                "lstm.weight_ih_l0 [1024, 8]",
                "lstm.weight_hh_l0 [1024, 256]",
                "lstm.bias_ih_l0 [1024]",
                "lstm.bias_hh_l0 [1024]",
                "lstm.weight_ih_l1 [1024, 256]",
                "lstm.weight_hh_l1 [1024, 256]",
                "lstm.bias_ih_l1 [1024]",
                "lstm.bias_hh_l1 [1024]",
                "linear.weight [80, 256]",
                "linear.bias [80]",
            ]
        );
    }

    /// f32 with its approximations and the widest vectors against f64 with the standard library's
    /// functions, at the model's own size.
    #[test]
    fn single_precision_close_to_double() {
        let batch = 3;
        let labels = [5.0, 79.0, 0.0];
        let number = |n: usize, by: usize| ((n * by) % 1009) as f64 / 1009.0 - 0.5;
        let gradient = |params: &[f64]| -> (f64, Vec<f64>, Vec<f64>) {
            let (single, double) = (shakespeare_lstm::<f32>(), shakespeare_lstm::<f64>());
            let mut buffers = double.buffers(batch);
            let code = |n: usize| ((n * n + 3 * n) % SYMBOLS) as f64;
            buffers.input().iter_mut().enumerate().for_each(|(n, to)| *to = code(n));
            let loss = double.gradient(params, &mut buffers, &labels).loss_sum;
            let params: Vec<f32> = params.iter().map(|&p| p as f32).collect();
            let mut buffers_single = single.buffers(batch);
            buffers_single.input().iter_mut().enumerate().for_each(|(n, to)| *to = code(n) as f32);
            let loss_single = single.gradient(&params, &mut buffers_single, &labels).loss_sum;
            assert!((loss - loss_single).abs() < 1e-4, "{loss_single} for {loss}");
            let grad_single = buffers_single.params_grad.iter().map(|&g| f64::from(g)).collect();
            (loss, buffers.params_grad, grad_single)
        };
        let params: Vec<f64> = (0..819_920).map(|n| f64::from((0.125 * number(n, 613)) as f32)).collect();
        let (loss, double, single) = gradient(&params);
        assert!(loss.is_finite() && loss > 0.0);
        let largest = double.iter().fold(0.0, |max: f64, g| max.max(g.abs()));
        let off = double.iter().zip(&single).fold(0.0, |max: f64, (d, s)| max.max((d - s).abs()));
        assert!(off < 1e-5 * largest.max(1.0), "off by {off}, largest {largest}");
    }
}
