//! What a number is kept in. All of them may be changed and read by many at once; none ever waits.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A float that many may change at once.
#[derive(Debug, Default)]
struct AtomicFloat(AtomicU64);

impl AtomicFloat {
    fn add(&self, more: f64) {
        let sum = |bits| Some((f64::from_bits(bits) + more).to_bits());
        // It always has a sum, so it always succeeds.
        let _ = self.0.fetch_update(Relaxed, Relaxed, sum);
    }

    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
}

/// A number that goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicFloat);

impl Gauge {
    pub fn set(&self, value: f64) {
        self.0.0.store(value.to_bits(), Relaxed);
    }

    pub fn add(&self, more: f64) {
        self.0.add(more);
    }

    pub fn get(&self) -> f64 {
        self.0.get()
    }
}

/// How often something took how long, or was how large.
#[derive(Debug)]
pub struct Histogram {
    /// The upper ends of all buckets but the last, which has none; ascending.
    bounds: &'static [f64],
    counts: Vec<AtomicU64>,
    sum: AtomicFloat,
}

impl Histogram {
    /// With these upper ends, ascending.
    pub fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum: AtomicFloat::default() }
    }

    /// One more. What is no number is left out: it would spoil the sum for ever.
    pub fn observe(&self, value: f64) {
        if value.is_finite() {
            let bucket = self.bounds.partition_point(|&bound| bound < value);
            if let Some(count) = self.counts.get(bucket) {
                count.fetch_add(1, Relaxed);
                self.sum.add(value);
            }
        }
    }

    /// Each upper end, infinity last, with how many were at or below it; the last is how many there were.
    pub fn cumulative(&self) -> Vec<(f64, u64)> {
        let mut below = 0;
        let ends = self.bounds.iter().copied().chain([f64::INFINITY]);
        ends.zip(&self.counts)
            .map(|(end, count)| {
                below += count.load(Relaxed);
                (end, below)
            })
            .collect()
    }

    pub fn sum(&self) -> f64 {
        self.sum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_its_upper_end() {
        let histogram = Histogram::new(&[0.5, 1.0]);
        for value in [0.1, 0.5, 0.500_001, 1.0, 7.0, f64::NAN, f64::INFINITY] {
            histogram.observe(value);
        }
        assert_eq!(histogram.cumulative(), [(0.5, 2), (1.0, 4), (f64::INFINITY, 5)]);
        assert!((histogram.sum() - 9.100_001).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_lost_between_threads() {
        let (counter, gauge, histogram) = (Counter::default(), Gauge::default(), Histogram::new(&[1.0]));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..1000 {
                        counter.add(2);
                        gauge.add(0.5);
                        histogram.observe(2.0);
                    }
                });
            }
        });
        assert_eq!((counter.get(), gauge.get()), (8000, 2000.0));
        assert_eq!((histogram.cumulative()[1].1, histogram.sum()), (4000, 8000.0));
    }
}
