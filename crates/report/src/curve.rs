//! Seeds of a scheme as one curve with a band, at few enough points to draw.

use crate::run_view::RunView;

/// Points of a curve that is drawn: more than a figure has pixels to spare for.
pub const POINTS_MAX: usize = 240;

/// Mean, least and most over the seeds, at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Since the run began.
    pub secs: f64,
    /// The mean over the seeds.
    pub mean: f64,
    /// The smallest value of the seeds.
    pub low: f64,
    /// The largest value of the seeds.
    pub high: f64,
}

/// The curve of a metric over all seeds that were ever evaluated. Between evaluations a seed has its last value, also
/// after its end, so the mean is always of the same seeds; it starts when each has been evaluated once.
pub fn curve(runs: &[RunView], metric: &str) -> Vec<CurvePoint> {
    let seeds = runs.iter().map(|run| run.fold.curve.of(metric)).filter(|seed| !seed.is_empty());
    band(&seeds.collect::<Vec<_>>())
}

fn band(seeds: &[Vec<(f64, f64)>]) -> Vec<CurvePoint> {
    let first = seeds.iter().filter_map(|seed| seed.first()).map(|at| at.0).fold(0.0, f64::max);
    let mut times: Vec<f64> = seeds.iter().flatten().map(|at| at.0).filter(|&secs| secs >= first).collect();
    times.sort_unstable_by(f64::total_cmp);
    times.dedup();
    let mut places = vec![0; seeds.len()];
    let mut points = Vec::new();
    for secs in thinned(&times) {
        let (mut sum, mut low, mut high) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
        for (seed, place) in seeds.iter().zip(&mut places) {
            while seed.get(*place + 1).is_some_and(|next| next.0 <= secs) {
                *place += 1;
            }
            let value = seed[*place].1;
            sum += value;
            low = low.min(value);
            high = high.max(value);
        }
        points.push(CurvePoint { secs, mean: sum / seeds.len() as f64, low, high });
    }
    points
}

/// At most [`POINTS_MAX`] of sorted times, spread evenly over time, the first and the last always.
fn thinned(times: &[f64]) -> Vec<f64> {
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else { return Vec::new() };
    if times.len() <= POINTS_MAX {
        return times.to_vec();
    }
    let step = (last - first) / (POINTS_MAX - 1) as f64;
    let mut kept = vec![first];
    for &secs in times {
        // One time in each step is enough to see it.
        if secs >= first + kept.len() as f64 * step && kept.len() < POINTS_MAX - 1 {
            kept.push(secs);
        }
    }
    if kept.last() != Some(&last) {
        kept.push(last);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_seed_that_has_ended_keeps_its_value() {
        let seeds = [vec![(1.0, 0.2), (2.0, 0.6)], vec![(0.5, 0.0), (3.0, 0.8)]];
        let points = band(&seeds);
        let means: Vec<(f64, f64)> = points.iter().map(|point| (point.secs, point.mean)).collect();
        assert_eq!(means, [(1.0, 0.1), (2.0, 0.3), (3.0, 0.7)]);
        assert_eq!((points[2].low, points[2].high), (0.6, 0.8));
        assert_eq!(band(&[]), []);
    }

    proptest! {
        #[test]
        fn thinned_times_are_few_sorted_and_end_where_they_ended(steps in prop::collection::vec(0.0..10.0_f64, 1..3000)) {
            let mut at = 0.0;
            let times: Vec<f64> = steps.iter().map(|step| { at += step; at }).collect();
            let kept = thinned(&times);
            prop_assert!(kept.len() <= POINTS_MAX);
            prop_assert!(kept.is_sorted());
            prop_assert_eq!(kept.first(), times.first());
            prop_assert_eq!(kept.last(), times.last());
        }
    }
}
