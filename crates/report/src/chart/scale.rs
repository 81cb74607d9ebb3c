//! From values to pixels, with ticks that people can read.

/// A linear map from values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    pub low: f64,
    pub high: f64,
    low_px: f64,
    high_px: f64,
}

impl Scale {
    /// `low_px` may be above `high_px`: an axis that goes up.
    pub(crate) fn new((low, high): (f64, f64), (low_px, high_px): (f64, f64)) -> Self {
        let low = if low.is_finite() { low } else { 0.0 };
        // All values equal, or none: some room all the same.
        let high = if high.is_finite() && high > low { high } else { low + low.abs().max(1.0) };
        Self { low, high, low_px, high_px }
    }

    pub(crate) fn px(self, value: f64) -> f64 {
        self.low_px + (value - self.low) / (self.high - self.low) * (self.high_px - self.low_px)
    }

    /// About the given number of ticks, at multiples of 1, 2 or 5 times a power of ten.
    pub(crate) fn ticks(self, about: usize) -> Vec<f64> {
        let step = nice_step((self.high - self.low) / about.max(1) as f64);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step * (1.0 + 1e-12)).floor() as i64;
        (first..=last.min(first + 100)).map(|number| number as f64 * step).collect()
    }

    /// The same, each with its text.
    pub(crate) fn labelled_ticks(self, about: usize) -> Vec<(f64, String)> {
        let ticks = self.ticks(about);
        let step = match ticks[..] {
            [first, second, ..] => second - first,
            [only] => only.abs().max(1e-9),
            [] => 1.0,
        };
        ticks.into_iter().map(|tick| (tick, tick_label(tick, step))).collect()
    }
}

/// The next 1, 2 or 5 times a power of ten.
pub(crate) fn nice_step(rough: f64) -> f64 {
    let power = 10_f64.powf(rough.log10().floor());
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| nice * power >= rough * (1.0 - 1e-9));
    nice.unwrap_or(10.0) * power
}

/// The unit in which times up to `secs` are read best, and how many seconds it has.
pub(crate) fn time_unit(secs: f64) -> (&'static str, f64) {
    match secs {
        s if s < 0.5 => ("ms", 1e-3),
        s if s < 300.0 => ("s", 1.0),
        s if s < 3.0 * 3600.0 => ("min", 60.0),
        _ => ("hours", 3600.0),
    }
}

/// A tick's number, with as many digits as its neighbours need.
pub(crate) fn tick_label(value: f64, step: f64) -> String {
    if step >= 1e7 {
        return format!("{value:.0e}");
    }
    let decimals = (-step.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ticks_are_round_numbers() {
        let scale = Scale::new((0.0, 9.7), (0.0, 100.0));
        assert_eq!(scale.ticks(5), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(tick_label(0.30000000000000004, 0.1), "0.3");
        assert_eq!(tick_label(20.0, 20.0), "20");
        assert_eq!(Scale::new((2.0, 2.0), (0.0, 1.0)).high, 4.0);
        assert_eq!(Scale::new((f64::NAN, f64::NAN), (0.0, 1.0)).px(0.5), 0.5);
    }

    proptest! {
        #[test]
        fn ticks_are_few_and_within(low in -1e6..1e6_f64, width in 1e-6..1e6_f64, about in 2..12_usize) {
            let scale = Scale::new((low, low + width), (0.0, 100.0));
            let ticks = scale.ticks(about);
            prop_assert!(ticks.len() <= about + 1, "{ticks:?}");
            prop_assert!(ticks.iter().all(|&tick| tick >= low - 1e-6 * width && tick <= low + width * (1.0 + 1e-6)));
        }
    }
}
