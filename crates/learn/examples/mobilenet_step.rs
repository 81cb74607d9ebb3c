//! How long one training step of MobileNet takes on one thread, by kind of layer.
//!
//! Each layer's share is its best time of all steps, which a busy machine disturbs least.
//!
//! `cargo run --release -p fedflip-learn --example mobilenet_step [-- WIDTH [STEPS [batch]]]`, the last
//! word for batch instead of group normalisation.

#![expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
#![expect(clippy::print_stdout, reason = "a measurement prints its result")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fedflip_learn::layer::{Backward, Forward, Init, Layer, ParamSpec, Sizes};
use fedflip_learn::models::mobilenet::{MobileNetSizes, Norm, layers};
use fedflip_learn::network::Network;

const BATCH: usize = 32;

type Clock = Arc<Mutex<BTreeMap<(String, String), Duration>>>;

/// A layer that books the least time it takes.
struct Timed {
    layer: Box<dyn Layer<f32>>,
    kind: String,
    clock: Clock,
}

impl Timed {
    fn book(&self, direction: &str, start: Instant) {
        let elapsed = start.elapsed();
        let mut clock = self.clock.lock().unwrap_or_else(PoisonError::into_inner);
        let least = clock.entry((format!("{} {direction}", self.kind), self.name().to_owned()));
        let least = least.or_insert(elapsed);
        *least = elapsed.min(*least);
    }
}

impl Layer<f32> for Timed {
    fn name(&self) -> &str {
        self.layer.name()
    }
    fn params(&self) -> Vec<ParamSpec> {
        self.layer.params()
    }
    fn sizes(&self) -> Sizes {
        self.layer.sizes()
    }
    fn scratch_len(&self, batch: usize) -> usize {
        self.layer.scratch_len(batch)
    }
    fn forward(&self, pass: Forward<'_, f32>) {
        let start = Instant::now();
        self.layer.forward(pass);
        self.book("forward", start);
    }
    fn backward(&self, pass: Backward<'_, f32>) {
        let start = Instant::now();
        self.layer.backward(pass);
        self.book("backward", start);
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let width = arguments.next().and_then(|width| width.parse().ok()).unwrap_or(1.0);
    let steps = arguments.next().and_then(|steps| steps.parse().ok()).unwrap_or(20_u32).max(1);
    let norm = if arguments.next().as_deref() == Some("batch") { Norm::Batch } else { Norm::Group };
    let clock = Clock::default();
    // Multiplications of the matrix products per sample, once forward and twice back.
    let mut products = 0;
    let timed = layers::<f32>(MobileNetSizes::cifar(width, norm, 10)).into_iter().map(|layer| {
        let kind = layer.name().rsplit('.').next().unwrap_or_default().replace("stem_", "");
        if kind == "pointwise" || kind == "stem" {
            let shape = &layer.params()[0].shape;
            products += layer.output_len() * shape[1..].iter().product::<usize>();
        }
        Box::new(Timed { layer, kind, clock: Arc::clone(&clock) }) as Box<dyn Layer<f32>>
    });
    let network = Network::new(timed.collect());

    // Any numbers will do, the same in every run.
    let mut state = 1_u32;
    let mut uniform = move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    let mut params = Vec::new();
    for (_, spec) in network.params() {
        params.extend((0..spec.len()).map(|_| match spec.init {
            Init::Uniform(bound) | Init::Normal(bound) => uniform() * bound as f32,
            Init::Constant(number) => number as f32,
        }));
    }
    let mut buffers = network.buffers(BATCH);
    buffers.input().iter_mut().for_each(|x| *x = uniform());
    let labels: Vec<f32> = (0..BATCH).map(|i| (i % 10) as f32).collect();

    let mut best = Duration::MAX;
    let mut total = Duration::ZERO;
    for step in 0..=steps {
        let start = Instant::now();
        let score = network.gradient(&params, &mut buffers, &labels);
        params.iter_mut().zip(&buffers.params_grad).for_each(|(param, grad)| *param -= 0.01 * grad);
        if step == 0 {
            // The first one touches the memory.
            println!("loss {:.6} at first", score.loss_sum / BATCH as f64);
            clock.lock().unwrap_or_else(PoisonError::into_inner).clear();
            continue;
        }
        if step == steps {
            println!("loss {:.6} after {step} steps", score.loss_sum / BATCH as f64);
        }
        best = best.min(start.elapsed());
        total += start.elapsed();
    }
    println!("width {width}, batch {BATCH}: {:.1?} per step, best {best:.1?}", total / steps);
    let mut kinds = BTreeMap::<String, Duration>::new();
    for ((kind, _), &time) in &*clock.lock().unwrap_or_else(PoisonError::into_inner) {
        *kinds.entry(kind.clone()).or_default() += time;
    }
    let sum: Duration = kinds.values().sum();
    println!("every layer at its best: {sum:.1?}");
    let mut gemm = Duration::ZERO;
    for (kind, &time) in &kinds {
        println!("{kind:26} {time:>9.2?}  {:4.1} %", 100.0 * time.as_secs_f64() / sum.as_secs_f64());
        if kind.starts_with("pointwise ") || kind.starts_with("stem ") {
            gemm += time;
        }
    }
    let operations = (6 * products * BATCH) as f64 / 1e9;
    println!("products: {operations:.2} GFLOP in {gemm:.1?}: {:.0} GFLOP/s", operations / gemm.as_secs_f64());
}
