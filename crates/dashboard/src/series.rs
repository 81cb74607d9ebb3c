//! A curve of bounded size, whatever the length of the run.
//!
//! Points come in pairs: the lowest and the highest of some rounds, in their order. When there are too many,
//! neighbouring pairs are merged and the rounds per pair double. So every peak stays on the curve, and with
//! it the highest and the lowest point of the whole run.

use serde::{Serialize, Serializer};

/// The most points that a curve keeps: more than a wide screen has columns to draw them in.
pub const POINTS_MAX: usize = 2_000;

/// Points that show the rounds since the last whole pair: its lowest, its highest, the last one.
const TAIL_MAX: usize = 3;

/// A point of a curve. Seven digits are more than a screen shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub secs: f32,
    pub value: f32,
}

/// Points of a curve. As JSON they are one flat list, time and value in turn: half the brackets of a list of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points(pub Vec<Point>);

impl Serialize for Points {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().flat_map(|point| [point.secs, point.value]))
    }
}

/// How a curve has grown.
#[derive(Debug, Serialize)]
pub struct Growth {
    new: Points,
    /// The end, which replaces the last one.
    tail: Points,
}

/// The rounds since the last whole pair.
#[derive(Clone, Copy, Debug)]
struct Pending {
    rounds: u64,
    low: Point,
    high: Point,
}

/// A curve that grows at its end.
#[derive(Clone, Debug)]
pub struct Series {
    points: Vec<Point>,
    pending: Option<Pending>,
    /// The latest round, which need not be one of a pair.
    last: Option<Point>,
    rounds_per_pair: u64,
    halvings: u32,
}

/// How much of a curve somebody has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    halvings: u32,
    points: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self { points: Vec::new(), pending: None, last: None, rounds_per_pair: 2, halvings: 0 }
    }
}

impl Series {
    /// One more round. What is no number is left out: it cannot be drawn.
    pub fn push(&mut self, secs: f64, value: f64) {
        let point = Point { secs: secs as f32, value: value as f32 };
        if !point.secs.is_finite() || !point.value.is_finite() {
            return;
        }
        self.last = Some(point);
        let mut pending = self.pending.take().unwrap_or(Pending { rounds: 0, low: point, high: point });
        pending.rounds += 1;
        if point.value < pending.low.value {
            pending.low = point;
        }
        // The later one of equals, so that a flat stretch has two ends.
        if point.value >= pending.high.value {
            pending.high = point;
        }
        if pending.rounds < self.rounds_per_pair {
            self.pending = Some(pending);
            return;
        }
        self.points.extend(in_order(pending.low, pending.high));
        if self.points.len() >= POINTS_MAX {
            self.points = halved(&self.points);
            self.rounds_per_pair *= 2;
            self.halvings += 1;
        }
    }

    /// The end of the curve, which changes with every round: at most three points.
    fn tail(&self) -> Vec<Point> {
        self.tail_after(self.points.last().copied())
    }

    /// Up to the latest round, where that is not what stands before.
    fn tail_after(&self, before: Option<Point>) -> Vec<Point> {
        let mut tail = Vec::with_capacity(TAIL_MAX);
        if let Some(Pending { low, high, .. }) = self.pending {
            tail.extend(in_order(low, high));
            tail.dedup();
        }
        tail.extend(self.last.filter(|last| tail.last().copied().or(before) != Some(*last)));
        tail
    }

    pub fn seen(&self) -> Seen {
        Seen { halvings: self.halvings, points: self.points.len() }
    }

    /// How much of the curve somebody has who has nothing.
    pub fn unseen(&self) -> Seen {
        Seen { points: 0, ..self.seen() }
    }

    /// What came after `seen`; none if the points before it are no longer what they were.
    pub fn since(&self, seen: Seen) -> Option<Growth> {
        let new = self.points.get(seen.points..).filter(|_| seen.halvings == self.halvings)?;
        Some(Growth { new: Points(new.to_vec()), tail: Points(self.tail()) })
    }

    /// The whole curve, to its last round, in about as many points as asked for.
    pub fn shrunk(&self, points_max: usize) -> Points {
        let mut points = self.points.clone();
        while points.len() > points_max.max(4) {
            points = halved(&points);
        }
        points.extend(self.tail_after(points.last().copied()));
        Points(points)
    }
}

fn in_order(a: Point, b: Point) -> [Point; 2] {
    if b.secs < a.secs { [b, a] } else { [a, b] }
}

/// Of any four neighbours the lowest and the highest.
fn halved(points: &[Point]) -> Vec<Point> {
    let mut kept = Vec::with_capacity(points.len() / 2 + 2);
    for four in points.chunks(4) {
        let low = four.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        let high = four.iter().max_by(|a, b| a.value.total_cmp(&b.value));
        if let (Some(&low), Some(&high)) = (low, high) {
            kept.extend(in_order(low, high));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn series(values: &[f64]) -> Series {
        let mut series = Series::default();
        values.iter().enumerate().for_each(|(n, &value)| series.push(n as f64, value));
        series
    }

    fn whole(series: &Series) -> Vec<Point> {
        series.points.iter().copied().chain(series.tail()).collect()
    }

    #[test]
    fn a_short_curve_has_every_point() {
        let series = series(&[3.0, 1.0, 2.0]);
        let values: Vec<f32> = whole(&series).iter().map(|point| point.value).collect();
        assert_eq!(values, [3.0, 1.0, 2.0]);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let series = series(&[1.0, f64::NAN, f64::INFINITY, 1e300, 2.0]);
        assert_eq!(whole(&series).len(), 2);
    }

    #[test]
    fn one_peak_among_a_hundred_thousand_rounds_stays() {
        let mut values = vec![0.5; 100_000];
        values[61_803] = 0.9;
        values[31_415] = 0.1;
        let series = series(&values);
        assert!(series.points.len() <= POINTS_MAX, "{}", series.points.len());
        let has = |secs: f32, value: f32| whole(&series).contains(&Point { secs, value });
        assert!(has(61_803.0, 0.9) && has(31_415.0, 0.1));
        let Points(shrunk) = series.shrunk(200);
        assert!(shrunk.len() <= 200 + TAIL_MAX, "{}", shrunk.len());
        assert!(shrunk.contains(&Point { secs: 61_803.0, value: 0.9 }));
        assert_eq!(shrunk.last().map(|point| point.secs), Some(99_999.0));
    }

    #[test]
    fn who_has_seen_a_part_gets_the_rest_until_it_is_halved() {
        let mut series = series(&[1.0; 10]);
        let seen = series.seen();
        let new = |series: &Series| series.since(seen).map(|growth| growth.new.0.len());
        assert_eq!(new(&series), Some(0));
        (10..20).for_each(|n| series.push(f64::from(n), 2.0));
        assert_eq!(new(&series), Some(10));
        (20..POINTS_MAX as i32).for_each(|n| series.push(f64::from(n), 2.0));
        assert_eq!(new(&series), None);
    }

    proptest! {
        #[test]
        fn bounded_in_order_and_true_to_extremes_and_end(
            values in proptest::collection::vec(-1e3_f64..1e3, 1..9_000),
        ) {
            let series = series(&values);
            let points = whole(&series);
            prop_assert!(points.len() < POINTS_MAX + TAIL_MAX);
            prop_assert!(points.is_sorted_by(|a, b| a.secs <= b.secs));
            // Every point that is shown is one that there was.
            prop_assert!(points.iter().all(|point| values[point.secs as usize] as f32 == point.value));
            let extreme = |fold: fn(f32, f32) -> f32, of: &mut dyn Iterator<Item = f32>| of.reduce(fold);
            for fold in [f32::min as fn(f32, f32) -> f32, f32::max] {
                let shown = extreme(fold, &mut points.iter().map(|point| point.value));
                let real = extreme(fold, &mut values.iter().map(|&value| value as f32));
                prop_assert_eq!(shown, real);
            }
            prop_assert_eq!(points.last().map(|point| point.secs as usize), Some(values.len() - 1));
            let Points(shrunk) = series.shrunk(100);
            prop_assert!(shrunk.len() <= 100 + TAIL_MAX);
            prop_assert!(shrunk.is_sorted_by(|a, b| a.secs <= b.secs));
            prop_assert_eq!(shrunk.last(), points.last());
        }
    }
}
