//! A device's link, and the bandwidth that links share: what a part of the bandwidth is worth to a device.
//!
//! A linear band is a number of Mbit/s, and a device with f of them sends at the rate f. A band of spectrum is a number
//! of MHz, and the rate follows Shannon: with b of the B MHz a device sends at b·log₂(1 + SNR·B/b), where SNR is the
//! signal-to-noise ratio of its signal over the whole band. The narrower the part, the denser the signal, so the rate is
//! concave in b: half of the band gives more than half of the rate.

use std::f64::consts::LN_2;

use crate::units::{Decibel, Mbps, Mhz};

/// What limits a device's own link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The largest rate of the device, however much of the bandwidth it gets; infinite if it has no limit of its own.
    pub limit_mbps: f64,
    /// The signal-to-noise ratio over the whole band, as a factor. Only a band of spectrum depends on it.
    pub snr: f64,
}

impl Default for Link {
    fn default() -> Self {
        Self { limit_mbps: f64::INFINITY, snr: 1.0 }
    }
}

impl Link {
    /// A link with these limits, where they are known.
    pub fn new(limit: Option<Mbps>, snr: Option<Decibel>) -> Self {
        let unlimited = Self::default();
        Self {
            limit_mbps: limit.map_or(unlimited.limit_mbps, Mbps::get),
            snr: snr.map_or(unlimited.snr, Decibel::factor),
        }
    }
}

/// The bandwidth that the uploads of a round share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Band {
    /// Rates that add up to f_tot, as in the paper.
    Linear(Mbps),
    /// Spectrum, whose parts have the rates of Shannon.
    Shannon(Mhz),
}

impl From<Mbps> for Band {
    fn from(bandwidth: Mbps) -> Self {
        Self::Linear(bandwidth)
    }
}

impl Band {
    /// The whole bandwidth, in Mbit/s or MHz.
    pub fn total(self) -> f64 {
        match self {
            Self::Linear(bandwidth) => bandwidth.get(),
            Self::Shannon(spectrum) => spectrum.get(),
        }
    }

    /// The rate of a device that has `part` of the bandwidth, in Mbit/s.
    pub fn rate_mbps(self, part: f64, link: Link) -> f64 {
        let rate = match self {
            Self::Linear(_) => part,
            Self::Shannon(_) if part <= 0.0 => 0.0,
            Self::Shannon(spectrum) => part * (link.snr * spectrum.get() / part).ln_1p() / LN_2,
        };
        rate.min(link.limit_mbps)
    }

    /// The rate of a device that has the whole bandwidth for itself.
    pub fn alone_mbps(self, link: Link) -> f64 {
        self.rate_mbps(self.total(), link)
    }

    /// The part of the bandwidth with which a device sends at `rate_mbps`; infinite for a rate above its limits.
    pub fn part_for(self, rate_mbps: f64, link: Link) -> f64 {
        if rate_mbps > link.limit_mbps {
            return f64::INFINITY;
        }
        match self {
            Self::Linear(_) => rate_mbps,
            Self::Shannon(spectrum) => spectrum_for(rate_mbps, link.snr * spectrum.get()).0,
        }
    }
}

/// The MHz with which a signal of strength SNR·B has this rate, and their derivative by the rate. Infinite where no
/// spectrum suffices.
///
/// In x = SNR·B/b the rate is SNR·B·log₂(1 + x)/x, so x solves ln(1 + x) = k·x with k = ln 2·rate/(SNR·B). The
/// difference of both sides is concave and falls at the root. Newton's method therefore comes down to it from any point
/// above, such as the bound −W₋₁(−e^(−1−u)) ≤ 1 + √(2u) + u on Lambert's function.
pub(crate) fn spectrum_for(rate_mbps: f64, signal_mhz: f64) -> (f64, f64) {
    let k = LN_2 * rate_mbps / signal_mhz;
    if k <= 0.0 {
        return (0.0, 0.0);
    }
    // As the band grows without bound, the rate approaches SNR·B/ln 2.
    if k.is_nan() || k >= 1.0 {
        return (f64::INFINITY, f64::INFINITY);
    }
    let u = k - 1.0 - k.ln();
    let mut x = (1.0 + (2.0 * u).sqrt() + u) / k - 1.0;
    for _ in 0..60 {
        let fall = k - 1.0 / (1.0 + x);
        let step = (k * x - x.ln_1p()) / fall;
        if step.is_nan() || step <= x * 1e-15 {
            break;
        }
        x -= step;
    }
    let slope_mbps = (x.ln_1p() - x / (1.0 + x)) / LN_2;
    (signal_mhz / x, 1.0 / slope_mbps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spectrum(mhz: f64) -> Band {
        Band::Shannon(Mhz::new(mhz).unwrap())
    }

    #[test]
    fn rates_of_shannon() {
        let link = Link::new(None, Some(Decibel::new(10.0 * 3.0_f64.log10()).unwrap()));
        let band = spectrum(20.0);
        assert!((band.alone_mbps(link) - 40.0).abs() < 1e-12, "20 MHz · log2(1 + 3)");
        assert!((band.rate_mbps(10.0, link) - 10.0 * 7.0_f64.log2()).abs() < 1e-12);
        assert_eq!(band.rate_mbps(0.0, link), 0.0);
        let limited = Link { limit_mbps: 7.0, ..link };
        assert_eq!((band.alone_mbps(limited), band.part_for(7.1, limited)), (7.0, f64::INFINITY));
        // No spectrum carries more than SNR·B/ln 2.
        assert_eq!(band.part_for(60.001 / LN_2, link), f64::INFINITY);
        assert_eq!(band.part_for(0.0, link), 0.0);
    }

    #[test]
    fn a_linear_band_is_its_rate() {
        let band = Band::from(Mbps::new(10.0).unwrap());
        let link = Link { limit_mbps: 4.0, ..Link::default() };
        assert_eq!((band.alone_mbps(Link::default()), band.alone_mbps(link)), (10.0, 4.0));
        assert_eq!((band.part_for(3.0, link), band.part_for(5.0, link)), (3.0, f64::INFINITY));
    }

    proptest! {
        #[test]
        fn a_part_has_the_rate_that_it_is_for(
            snr_db in -30.0..60.0_f64, mhz in 0.1..100.0_f64, share in -12.0..0.0_f64,
        ) {
            let link = Link::new(None, Some(Decibel::new(snr_db).unwrap()));
            let (band, part) = (spectrum(mhz), mhz * share.exp());
            let rate = band.rate_mbps(part, link);
            let back = band.part_for(rate, link);
            // Where the signal is weak, the rate hardly depends on the part, and the part loses digits.
            let slope = spectrum_for(rate, link.snr * mhz).1;
            prop_assert!((back - part).abs() <= 1e-12 * (part + rate * slope), "{back} is not {part}");
        }

        #[test]
        fn the_derivative_is_the_finite_difference(
            snr_db in -10.0..40.0_f64, mhz in 0.1..100.0_f64, share in 0.01..1.0_f64,
        ) {
            let link = Link::new(None, Some(Decibel::new(snr_db).unwrap()));
            let (band, signal) = (spectrum(mhz), link.snr * mhz);
            let rate = band.rate_mbps(mhz * share, link);
            let at = |factor: f64| spectrum_for(rate * factor, signal).0;
            let difference = (at(1.0 + 1e-5) - at(1.0 - 1e-5)) / (2e-5 * rate);
            let slope = spectrum_for(rate, signal).1;
            prop_assert!((difference / slope - 1.0).abs() < 1e-5, "{difference} {slope}");
        }

        #[test]
        fn half_of_the_band_is_more_than_half_of_the_rate(snr_db in -30.0..60.0_f64, mhz in 0.1..100.0_f64) {
            let link = Link::new(None, Some(Decibel::new(snr_db).unwrap()));
            let band = spectrum(mhz);
            prop_assert!(band.rate_mbps(mhz / 2.0, link) > band.alone_mbps(link) / 2.0);
        }
    }
}
