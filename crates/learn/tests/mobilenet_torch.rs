//! MobileNet against PyTorch: losses and final parameters of a few steps from the same start, in f64.
//!
//! In f64 because a network with normalisations, trained on noise, is chaotic: in f32 two right
//! implementations part within a dozen steps, with batch normalisation after the first. The numbers come
//! from `mobilenet_torch.py`.

use fedflip_learn::layer::Init;
use fedflip_learn::models::mobilenet::{Norm, mobilenet};

const GROUP: ([f64; 6], f64) = (
    [
        2.4772189253805577,
        2.0428373452853883,
        1.8017671220796236,
        1.6740062776259352,
        1.5119398089433687,
        1.4421065518009297,
    ],
    3655.3699756117867,
);
const BATCH: ([f64; 6], f64) = (
    [
        2.4854284021675177,
        2.32831666034406,
        2.3850761048005658,
        2.1329022108132274,
        2.1774412751485293,
        2.0912718161664676,
    ],
    4615.844575171807,
);

/// Losses step by step, and the sum of the squares of all parameters after them.
fn train(norm: Norm) -> (Vec<f64>, f64) {
    let batch = 4;
    let network = mobilenet::<f64>(0.25, norm, 10);
    let mut state = 1_u32;
    let mut uniform = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / 8_388_608.0 - 1.0
    };
    let (mut params, mut rates) = (Vec::new(), Vec::new());
    for (_, spec) in network.params() {
        for _ in 0..spec.len() {
            params.push(match spec.init {
                Init::Uniform(bound) | Init::Normal(bound) => uniform() * bound,
                Init::Constant(number) => number,
            });
            rates.push(if spec.trained { 0.01 } else { 1.0 });
        }
    }
    let mut buffers = network.buffers(batch);
    buffers.input().iter_mut().for_each(|x| *x = uniform());
    let mut losses = Vec::new();
    for _ in 0..6 {
        let score = network.gradient(&params, &mut buffers, &[0, 1, 2, 3]);
        losses.push(score.loss_sum / batch as f64);
        for ((param, grad), rate) in params.iter_mut().zip(&buffers.params_grad).zip(&rates) {
            *param -= rate * grad;
        }
    }
    (losses, params.iter().map(|param| param * param).sum())
}

fn assert_close(norm: Norm, (losses, squares): (&[f64], f64)) {
    let ours = train(norm);
    for (step, (ours, theirs)) in ours.0.iter().zip(losses).enumerate() {
        assert!(
            (ours - theirs).abs() < TOLERANCE * theirs,
            "{norm:?}, step {step}: {ours}, PyTorch {theirs}"
        );
    }
    assert!((ours.1 - squares).abs() < TOLERANCE * squares, "{norm:?}: {}, PyTorch {squares}", ours.1);
}

/// Relative.
const TOLERANCE: f64 = 1e-7;

#[test]
fn group_normalisation_as_in_pytorch() {
    assert_close(Norm::Group, (&GROUP.0, GROUP.1));
}

#[test]
fn batch_normalisation_and_its_running_statistics_as_in_pytorch() {
    assert_close(Norm::Batch, (&BATCH.0, BATCH.1));
}
