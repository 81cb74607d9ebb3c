//! Local training allocates nothing of its own: buffers are planned once per worker.
//!
//! The one exception is the `gemm` crate, which takes its packing buffer and a row of flags anew for every
//! product and frees both on return. Its `std` feature keeps a third one, and offers no way to hand these in.
//! So an allocation inside `train` or `score` must have `gemm` on its stack; any other fails the test with
//! the place it came from. A process of its own, because it replaces the allocator.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(unsafe_code, reason = "an allocator is unsafe by its signature")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::{Cell, RefCell};

use fedflip_learn::models::mobilenet::{Norm, mobilenet};
use fedflip_learn::models::{cnn, lstm};
use fedflip_learn::network::Network;
use fedflip_learn::sgd::{LocalOptions, SgdLearner, SgdSettings, Steps};
use fedflip_learn::shards::{SampleBuffer, Shards};
use fedflip_learn::{Learner, Sums, TrainKey};

thread_local! {
    static WATCHED: Cell<bool> = const { Cell::new(false) };
    /// Stacks of the allocations while watched.
    static STACKS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Watching;

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // Noting an allocation allocates: that is not watched.
        if WATCHED.replace(false) {
            let stack = Backtrace::force_capture().to_string();
            STACKS.with_borrow_mut(|stacks| stacks.push(stack));
            WATCHED.set(true);
        }
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised; `alloc` is the system's.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watching = Watching;

/// The stacks of all allocations that `work` makes.
fn allocations(work: impl FnOnce()) -> Vec<String> {
    WATCHED.set(true);
    work();
    WATCHED.set(false);
    STACKS.take()
}

/// Two devices, of 17 and 3 samples made from their positions; whole numbers, so that they are texts too.
struct Numbers;

impl Numbers {
    fn write(positions: impl Iterator<Item = u16>, features: &mut [f32], labels: &mut [f32]) {
        let each = features.len() / labels.len();
        for ((sample, label), position) in features.chunks_exact_mut(each).zip(labels).zip(positions) {
            sample.iter_mut().zip(0_u16..).for_each(|(x, j)| *x = f32::from((j + position) % 7));
            *label = f32::from(position % 10);
        }
    }
}

impl Shards for Numbers {
    fn devices(&self) -> usize {
        2
    }

    fn samples(&self, device: usize) -> usize {
        [17, 3][device]
    }

    fn write_batch(
        &self,
        device: usize,
        _made: &SampleBuffer,
        picks: &[u32],
        features: &mut [f32],
        labels: &mut [f32],
    ) {
        Self::write(picks.iter().map(|&pick| (17 * device) as u16 + pick as u16), features, labels);
    }

    fn test_samples(&self) -> usize {
        20
    }

    fn write_test_batch(&self, first: usize, features: &mut [f32], labels: &mut [f32]) {
        Self::write(first as u16.., features, labels);
    }
}

/// Trains and evaluates once to warm up, then watched. The second device holds less than a batch.
fn assert_none_of_ours(network: Network<f32>) {
    assert_none_of_ours_with(network, SgdSettings::plain(1e-3, 8, 2));
}

fn assert_none_of_ours_with(network: Network<f32>, settings: SgdSettings) {
    let learner = SgdLearner::new(network, Box::new(Numbers), settings).unwrap();
    let model = learner.initial_model(1);
    let mut worker = learner.worker();
    let mut update = vec![0.0; learner.params_len()];
    let mut sums = Sums::default();
    let mut round = |round| {
        for device in [0, 1] {
            learner
                .train(&mut worker, model.as_slice(), TrainKey::new(1, round, device), &mut update)
                .unwrap();
        }
        sums.reset();
        learner.score(&mut worker, model.as_slice(), 0..learner.test_samples(), &mut sums).unwrap();
    };
    round(0);
    for stack in allocations(|| round(1)) {
        assert!(stack.contains("gemm_common::"), "an allocation inside a step:\n{stack}");
    }
}

#[test]
fn an_allocation_is_noticed_with_its_place() {
    let stacks = allocations(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(stacks.len(), 1);
    assert!(stacks[0].contains("an_allocation_is_noticed_with_its_place"), "{}", stacks[0]);
    assert!(!stacks[0].contains("gemm_common::"));
}

#[test]
fn the_cnns() {
    assert_none_of_ours(cnn::cnn(10));
    assert_none_of_ours(cnn::wide_cnn(10));
}

#[test]
fn the_options_of_local_training() {
    let options = LocalOptions { momentum: 0.9, weight_decay: 1e-4, proximal: 0.1 };
    let plain = SgdSettings::plain(1e-3, 8, 2);
    assert_none_of_ours_with(cnn::cnn(10), SgdSettings { steps: Steps::Epochs(2), options, ..plain });
}

#[test]
fn mobilenet_with_either_normalisation() {
    assert_none_of_ours(mobilenet(0.25, Norm::Group, 10));
    assert_none_of_ours(mobilenet(0.25, Norm::Batch, 10));
}

#[test]
fn the_lstm() {
    assert_none_of_ours(lstm::shakespeare_lstm());
}
