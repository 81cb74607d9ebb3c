//! A curve one line high: `▁▂▄▆▇▇█`.

/// From nothing to full.
pub(crate) const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Values over time as `width` bars of equal time, the first from time 0 on; `range` is the lowest bar and the
/// highest. A stretch without a value keeps the one before it. Nothing, if there are less than two values: a
/// point is no curve.
pub(crate) fn sparkline(points: &[(f64, f64)], width: usize, range: (f64, f64)) -> String {
    let is_number = |(time, value): &&(f64, f64)| time.is_finite() && value.is_finite();
    let points: Vec<(f64, f64)> = points.iter().filter(is_number).copied().collect();
    let [(_, first), .., (end, _)] = points[..] else { return String::new() };
    let mut bins = vec![(0.0, 0_u32); width];
    for (time, value) in points {
        // The last point is the end of the last bar.
        let place = if end > 0.0 { (time / end * width as f64).ceil() as usize } else { width };
        if let Some((sum, count)) = bins.get_mut(place.saturating_sub(1).min(width.saturating_sub(1))) {
            *sum += value;
            *count += 1;
        }
    }
    let mut before = first;
    let means = bins.into_iter().map(|(sum, count)| {
        before = if count > 0 { sum / f64::from(count) } else { before };
        before
    });
    means.map(|mean| bar(mean, range)).collect()
}

/// Lowest and highest of all values that are numbers.
pub(crate) fn range_of(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn bar(value: f64, (low, high): (f64, f64)) -> char {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    let place = (share.clamp(0.0, 1.0) * (BARS.len() - 1) as f64).round() as usize;
    BARS[place.min(BARS.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_rise_and_fall_in_equal_steps_of_time() {
        let line: Vec<(f64, f64)> = (1..=80).map(|n| (f64::from(n), f64::from(n))).collect();
        assert_eq!(sparkline(&line, 8, (0.0, 80.0)), "▁▂▃▄▅▆▇█");
        // All of the rise in the first tenth of the time.
        let steep = [(0.5, 0.0), (1.0, 1.0), (10.0, 1.0)];
        assert_eq!(sparkline(&steep, 10, (0.0, 1.0)), "▅▅▅▅▅▅▅▅▅█");
        let fall: Vec<(f64, f64)> = line.iter().map(|&(time, value)| (time, -value)).collect();
        assert_eq!(sparkline(&fall, 4, range_of(fall.iter().map(|&(_, value)| value))), "▇▅▄▂");
    }

    #[test]
    fn it_is_as_wide_as_it_is_said_to_be_whatever_it_shows() {
        let cases: [&[(f64, f64)]; 5] = [
            &[(0.0, 1.0), (0.0, 2.0)],
            &[(1.0, 5.0), (2.0, 5.0)],
            &[(1.0, f64::NAN), (2.0, 1.0), (3.0, f64::INFINITY), (4.0, 1e300)],
            &[(1e-300, -1e300), (1e300, 1e300)],
            &[(100.0, 0.1), (100.1, 0.2)],
        ];
        for points in cases {
            let range = range_of(points.iter().map(|&(_, value)| value));
            for width in [1, 12, 16] {
                assert_eq!(sparkline(points, width, range).chars().count(), width, "{points:?}");
            }
        }
        assert_eq!(sparkline(&[(1.0, 1.0)], 12, (0.0, 1.0)), "");
        assert_eq!(sparkline(&[], 12, (f64::INFINITY, f64::NEG_INFINITY)), "");
    }
}
