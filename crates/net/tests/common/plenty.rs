//! Many runs, each from a seed of its own, some at a time.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::replay::Replayed;

/// Does as many runs as the environment says, or `few`; what they came to together. One that fails says its seed.
pub(crate) fn runs(few: u64, at_once: usize, run: impl Fn(u64) -> Replayed + Sync) -> Replayed {
    let number = |name: &str, otherwise: u64| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
    };
    let (runs, first) = (number("FEDFLIP_FAULT_RUNS", few), number("FEDFLIP_FAULT_SEED", 1));
    let next = AtomicU64::new(first);
    let total = Mutex::new(Replayed::default());
    std::thread::scope(|scope| {
        for _ in 0..at_once {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + runs {
                        return;
                    }
                    let failed = Failed { seed };
                    let replayed = run(seed);
                    std::mem::forget(failed);
                    let mut total = total.lock().unwrap();
                    total.rounds += replayed.rounds;
                    total.accepted += replayed.accepted;
                    total.lost += replayed.lost;
                    let done = seed - first + 1;
                    if done.is_multiple_of(50) {
                        println!("run {done} of {runs}: {total:?}");
                    }
                }
            });
        }
    });
    total.into_inner().unwrap()
}

/// Says which seed to try again with when a run panics.
struct Failed {
    seed: u64,
}

impl Drop for Failed {
    fn drop(&mut self) {
        let Self { seed } = self;
        println!("this run failed: FEDFLIP_FAULT_SEED={seed} FEDFLIP_FAULT_RUNS=1 repeats it alone");
    }
}
