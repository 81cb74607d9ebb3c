//! Radio links of generated fleets: a signal for each device, and the rate that its signal allows.
//!
//! `docs/reference/device-types.md` derives every figure and names its source.

use rand_distr::{Distribution, StandardNormal};

use crate::error::FleetError;
use crate::profile::{LinkColumns, too_much};
use crate::stream::{Purpose, StreamKey};
use crate::units::{Decibel, Mbps};

/// A radio technology with the signals that its devices receive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radio {
    /// The width of the channel over which signals are measured, in MHz.
    pub spectrum_mhz: f64,
    /// The median signal-to-noise ratio of a device, in dB.
    pub median_db: f64,
    /// The standard deviation of the ratio in dB: shadowing, which is normal in dB.
    pub shadowing_db: f64,
    /// The rate in Mbit/s from each signal-to-noise ratio in dB on; both ascend. A device never falls below the first
    /// step: it would have no connection.
    pub steps: &'static [(f64, f64)],
}

/// IEEE 802.11ac: VHT-MCS 3 to 9 of one stream at 80 MHz.
pub const WIFI: Radio = Radio {
    spectrum_mhz: 80.0,
    median_db: 27.0,
    shadowing_db: 5.0,
    steps: &[
        (17.0, 83.7),
        (21.0, 125.6),
        (24.0, 167.4),
        (26.0, 188.4),
        (31.0, 209.3),
        (35.0, 251.2),
        (37.0, 279.0),
    ],
};

/// LTE: CQI 3 to 12 of a carrier of 20 MHz, up to the largest uplink rate of category 4.
pub const LTE: Radio = Radio {
    spectrum_mhz: 18.0,
    median_db: 8.0,
    shadowing_db: 8.0,
    steps: &[
        (-3.18, 5.43),
        (-1.254, 8.66),
        (0.761, 12.63),
        (2.7, 16.93),
        (4.697, 21.26),
        (6.528, 27.56),
        (8.576, 34.65),
        (10.37, 39.32),
        (12.3, 47.84),
        (14.18, 51.02),
    ],
};

/// NB-IoT: category NB1 with 128 repetitions to 1.
pub const NB_IOT: Radio = Radio {
    spectrum_mhz: 0.18,
    median_db: -2.55,
    shadowing_db: 8.0,
    steps: &[
        (-14.54, 0.001_908),
        (-11.53, 0.003_731),
        (-8.52, 0.007_143),
        (-5.51, 0.013_16),
        (-2.5, 0.022_73),
        (0.51, 0.035_71),
        (3.52, 0.05),
        (6.53, 0.0625),
    ],
};

impl Radio {
    /// The largest rate over the smallest that a device can have.
    pub fn spread(&self) -> f64 {
        match self.steps {
            [(_, least), .., (_, most)] => most / least,
            _ => 1.0,
        }
    }

    /// The rate in Mbit/s that a signal allows.
    pub fn rate_mbps(&self, snr_db: f64) -> f64 {
        let reached = self.steps.partition_point(|&(from_db, _)| from_db <= snr_db);
        self.steps.get(reached.saturating_sub(1)).map_or(f64::NAN, |&(_, mbps)| mbps)
    }

    /// The link of the device at a position. It depends on the seed and the position alone, not on the fleet's size.
    pub(crate) fn draw(&self, seed: u64, position: usize) -> Result<LinkColumns, FleetError> {
        let key = StreamKey { seed, purpose: Purpose::FleetLinks, round: 0 };
        let shadowing: f64 = StandardNormal.sample(&mut key.device(position as u64));
        let weakest_db = self.steps.first().map_or(self.median_db, |&(from_db, _)| from_db);
        // Hundredths of a dB keep files readable. The weakest signal has three decimals, and must not be rounded down.
        let rounded_db = ((self.median_db + self.shadowing_db * shadowing) * 100.0).round() / 100.0;
        let snr_db = rounded_db.max(weakest_db);
        let limit = Mbps::new(self.rate_mbps(snr_db)).map_err(|error| too_much("profile", "link", &error))?;
        let signal = Decibel::new(snr_db).map_err(|error| too_much("profile", "link", &error))?;
        Ok((Some(limit), Some(signal)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(ours: f64, expected: f64) {
        assert!((ours / expected - 1.0).abs() < 1e-3, "{ours} is not {expected}");
    }

    /// PHY rates of one stream at 80 MHz with a short guard interval, and the share that a transfer gets of them.
    #[test]
    fn wifi_follows_the_rates_of_the_standard() {
        let measured_share = 533.0 / 866.7 / 0.955;
        let rates = [130.0, 195.0, 260.0, 292.5, 325.0, 390.0, 433.3];
        assert_eq!(rates.len(), WIFI.steps.len());
        rates.iter().zip(WIFI.steps).for_each(|(rate, step)| close(step.1, rate * measured_share));
        close(WIFI.spread(), 3.333);
    }

    /// 1,200 subcarriers with 12 data symbols per millisecond, and 51,024 bits per millisecond at most.
    #[test]
    fn lte_follows_the_efficiencies_of_the_standard() {
        let efficiencies =
            [0.3770, 0.6016, 0.8770, 1.1758, 1.4766, 1.9141, 2.4063, 2.7305, 3.3223, 3.9023_f64];
        assert_eq!(efficiencies.len(), LTE.steps.len());
        for (efficiency, step) in efficiencies.iter().zip(LTE.steps) {
            close(step.1, (1200.0 * 12.0 * 1e-3 * efficiency).min(51.024));
        }
        close(LTE.spread(), 9.396);
    }

    /// 1,000 bits in 4 ms for each repetition and 12 ms of control; each doubling makes up for 3 dB.
    #[test]
    fn nb_iot_follows_repetitions() {
        assert_eq!(NB_IOT.steps.len(), 8);
        for (doublings, step) in NB_IOT.steps.iter().rev().enumerate() {
            let repetitions = 2.0_f64.powi(doublings as i32);
            close(step.1, 1e-3 * 1000.0 / (12.0 + 4.0 * repetitions));
            assert!((step.0 - (6.53 - 10.0 * repetitions.log10())).abs() < 0.01, "{step:?}");
        }
        close(NB_IOT.spread(), 32.76);
        // 23 dBm, a coupling loss of 144 dB, thermal noise over 180 kHz and a noise figure of 3 dB.
        let noise_dbm = -174.0 + 10.0 * 180e3_f64.log10() + 3.0;
        assert!((NB_IOT.median_db - (23.0 - 144.0 - noise_dbm)).abs() < 0.01);
    }

    #[test]
    fn a_signal_has_the_rate_of_the_step_that_it_reaches() {
        for radio in [WIFI, LTE, NB_IOT] {
            assert!(radio.steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 < b.1));
            for pair in radio.steps.windows(2) {
                assert_eq!(radio.rate_mbps(pair[0].0), pair[0].1);
                assert_eq!(radio.rate_mbps(pair[1].0 - 1e-9), pair[0].1);
            }
            assert_eq!(radio.rate_mbps(-60.0), radio.steps[0].1);
            assert_eq!(radio.rate_mbps(120.0), radio.steps[radio.steps.len() - 1].1);
        }
    }

    #[test]
    fn signals_have_the_documented_median_and_deviation() {
        for radio in [WIFI, LTE, NB_IOT] {
            let mut signals: Vec<f64> =
                (0..20_000).map(|n| radio.draw(3, n).unwrap().1.unwrap().get()).collect();
            signals.sort_by(f64::total_cmp);
            assert!((signals[10_000] - radio.median_db).abs() < 0.02 * radio.shadowing_db);
            // The upper 16 % are one standard deviation away; the lower tail ends at the first step.
            let deviation = signals[16_827] - signals[10_000];
            assert!((deviation / radio.shadowing_db - 1.0).abs() < 0.04, "{deviation}");
            assert!(signals[0] >= radio.steps[0].0);
        }
    }
}
