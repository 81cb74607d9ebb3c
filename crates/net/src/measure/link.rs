//! Estimates the limit of a device's own link from uploads that were slower than their grant.
//!
//! The size of an update is known, so the time of an upload says how fast its link was. An upload at the granted rate says
//! nothing about the limit of the link; a slower one had its limit as its rate. Nobody is granted more than its limit, so
//! a limit would never be found too low: it rises with each upload that reaches it in time, a little at first and then
//! faster.

use serde::{Deserialize, Serialize};

/// An upload is slow if it takes this many times as long as at its granted rate …
const SLOW: f64 = 1.1;
/// … and this much longer: packets arrive in bursts, and one that is lost is sent again.
const SLOW_SECS: f64 = 0.1;
/// The same where a device was granted its limit: a slower upload then corrects the limit.
const OVER_LIMIT: f64 = 1.03;
const OVER_LIMIT_SECS: f64 = 0.02;
/// A grant of this share of the limit tells whether the limit is right.
const USED: f64 = 0.99;
/// A limit rises by this share with the first upload in time, and by twice as much with each further one in a row …
const RISE: f64 = 0.03;
/// … up to this share.
const RISE_MAX: f64 = 1.0;
/// The weight of a new rate against the limit before it.
const NEWEST: f64 = 0.5;
/// One upload counts as at most this many times slower than the limit.
const OUTLIER: f64 = 3.0;
/// No limit is lower, however slowly a device sends.
const LIMIT_MBPS_MIN: f64 = 1e-3;
/// A limit rises by this share with each round, whether the device takes part or not.
const AGE: f64 = 0.005;

/// Whether a transfer took longer than at its rate, and not only because packets arrive in bursts.
pub(crate) fn is_slow(secs: f64, expected_secs: f64) -> bool {
    secs > SLOW * expected_secs + SLOW_SECS
}

/// An upload that the server has received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Upload {
    /// The granted rate in Mbit/s.
    pub mbps: f64,
    /// The time of the upload at that rate.
    pub granted_secs: f64,
    /// The time from its first byte to its last, as far as the link decided.
    pub secs: f64,
}

impl Upload {
    /// The rate of the upload, which is at most the granted one.
    fn rate_mbps(&self) -> f64 {
        self.mbps * self.granted_secs / self.secs.max(self.granted_secs)
    }

    fn exceeds(&self, factor: f64, slack_secs: f64) -> bool {
        self.secs > factor * self.granted_secs + slack_secs
    }

    fn is_sound(&self) -> bool {
        let is_sound = |number: f64| number.is_finite() && number > 0.0;
        is_sound(self.mbps) && is_sound(self.granted_secs) && self.secs.is_finite() && self.secs >= 0.0
    }
}

/// The limit of a link, as far as uploads have shown one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct LinkEstimate {
    /// None while uploads are as fast as granted.
    limit_mbps: Option<f64>,
    /// The rate of the last upload or timed transfer, if it was slow and is the first one that was.
    suspected_mbps: Option<f64>,
    /// Uploads in a row that had the limit as their grant and were in time.
    in_time: u32,
}

impl LinkEstimate {
    pub(super) fn limit_mbps(&self) -> Option<f64> {
        self.limit_mbps
    }

    /// Notes a timed transfer, scaled to the size of an update if it [was slow](is_slow). A slow one gives no limit before an upload confirms it: it
    /// costs a device nothing, and the limit of one device decides about the q of all.
    pub(super) fn probed(&mut self, upload: Upload) {
        if upload.is_sound() && upload.exceeds(SLOW, 0.0) {
            self.suspected_mbps = Some(upload.rate_mbps().max(LIMIT_MBPS_MIN));
        }
    }

    /// Lets the limit rise with time, until it is none.
    pub(super) fn age(&mut self, alone_mbps: f64) {
        let limit_mbps = self.limit_mbps.map(|limit_mbps| limit_mbps * (1.0 + AGE));
        self.limit_mbps = limit_mbps.filter(|limit_mbps| *limit_mbps < alone_mbps);
    }

    /// Notes an upload. A single slow one gives no limit: a link may stall for a moment. A limit that reaches the rate of the
    /// whole bandwidth is none.
    pub(super) fn observe(&mut self, upload: Upload, alone_mbps: f64) {
        if !upload.is_sound() {
            return;
        }
        match self.limit_mbps {
            None if !upload.exceeds(SLOW, SLOW_SECS) => self.suspected_mbps = None,
            None => {
                let rate_mbps = upload.rate_mbps().max(LIMIT_MBPS_MIN);
                let before = self.suspected_mbps.replace(rate_mbps);
                if let Some(before) = before {
                    (self.limit_mbps, self.suspected_mbps) = (Some(before.max(rate_mbps)), None);
                }
            }
            Some(limit_mbps) => {
                self.limit_mbps = Some(self.followed(limit_mbps, upload).max(LIMIT_MBPS_MIN));
            }
        }
        self.limit_mbps = self.limit_mbps.filter(|limit_mbps| *limit_mbps < alone_mbps);
    }

    /// The limit after one more upload.
    fn followed(&mut self, limit_mbps: f64, upload: Upload) -> f64 {
        let is_used = upload.mbps >= USED * limit_mbps;
        let (factor, slack_secs) = if is_used { (OVER_LIMIT, OVER_LIMIT_SECS) } else { (SLOW, SLOW_SECS) };
        if upload.exceeds(factor, slack_secs) {
            self.in_time = 0;
            let rate_mbps = upload.rate_mbps().clamp(limit_mbps / OUTLIER, limit_mbps * OUTLIER);
            return limit_mbps + NEWEST * (rate_mbps - limit_mbps);
        }
        if !is_used {
            return limit_mbps;
        }
        let rise = (RISE * 2_f64.powi(self.in_time.min(30) as i32)).min(RISE_MAX);
        self.in_time = self.in_time.saturating_add(1);
        limit_mbps.max(upload.mbps) * (1.0 + rise)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::agent::pace::Pace;

    const BAND_MBPS: f64 = 100.0;

    /// A device with a link of this rate uploads at a grant, which is never above its estimated limit.
    fn upload(link: &mut LinkEstimate, payload_mbit: f64, wanted_mbps: f64, link_mbps: f64) {
        let mbps = link.limit_mbps().map_or(wanted_mbps, |limit_mbps| wanted_mbps.min(limit_mbps));
        let granted_secs = payload_mbit / mbps;
        // Timers and packets: some milliseconds.
        let secs = payload_mbit / mbps.min(link_mbps) + 0.005;
        link.observe(Upload { mbps, granted_secs, secs }, BAND_MBPS);
    }

    proptest! {
        #[test]
        fn a_limited_link_is_estimated_within_ten_percent_under_any_grants(
            link_mbps in 0.1..20.0_f64, secs in 1.0..60.0_f64,
            grants in prop::collection::vec(0.3..8.0_f64, 60..120),
        ) {
            let (mut link, payload_mbit) = (LinkEstimate::default(), secs * link_mbps);
            for (place, grant) in grants.iter().enumerate() {
                upload(&mut link, payload_mbit, (grant * link_mbps).min(BAND_MBPS), link_mbps);
                // As soon as two grants in a row were well above the limit, and for good.
                if place >= 40 && let Some(limit_mbps) = link.limit_mbps() {
                    prop_assert!((0.9..1.1).contains(&(limit_mbps / link_mbps)), "{limit_mbps} of {link_mbps}");
                }
            }
        }

        #[test]
        fn a_link_without_a_limit_gets_none(
            payload_mbit in 0.01..1000.0_f64, grants in prop::collection::vec(0.05..100.0_f64, 1..200),
        ) {
            let mut link = LinkEstimate::default();
            for mbps in grants {
                upload(&mut link, payload_mbit, mbps, 1e9);
                prop_assert_eq!(link.limit_mbps(), None);
            }
        }

        #[test]
        fn whatever_a_device_does_its_limit_is_a_rate(
            uploads in prop::collection::vec(prop::array::uniform3(prop_oneof![
                prop::num::f64::ANY, 0.0..100.0_f64, Just(1e18), Just(0.0)
            ]), 0..100),
        ) {
            let mut link = LinkEstimate::default();
            for [mbps, granted_secs, secs] in uploads {
                link.observe(Upload { mbps, granted_secs, secs }, BAND_MBPS);
                if let Some(limit_mbps) = link.limit_mbps() {
                    prop_assert!((LIMIT_MBPS_MIN..BAND_MBPS).contains(&limit_mbps), "{limit_mbps}");
                }
            }
        }
    }

    fn limited(link_mbps: f64) -> LinkEstimate {
        let mut link = LinkEstimate::default();
        (0..30).for_each(|_| upload(&mut link, 10.0, 50.0, link_mbps));
        assert!((link.limit_mbps().unwrap() / link_mbps - 1.0).abs() < 0.1, "{link:?}");
        link
    }

    #[test]
    fn a_limit_rises_and_falls_with_the_link_and_goes_when_the_link_is_fast() {
        let mut link = limited(2.0);
        for link_mbps in [6.0, 1.0, 20.0, 0.3] {
            (0..30).for_each(|_| upload(&mut link, 10.0, 50.0, link_mbps));
            let limit_mbps = link.limit_mbps().unwrap();
            assert!((limit_mbps / link_mbps - 1.0).abs() < 0.1, "{limit_mbps} of {link_mbps}");
        }
        let free = (1..40).find(|_| {
            upload(&mut link, 10.0, BAND_MBPS, 1e9);
            link.limit_mbps().is_none()
        });
        assert!(free.is_some_and(|uploads| uploads <= 15), "{free:?}");
    }

    #[test]
    fn one_stall_gives_no_limit_and_moves_a_known_one_for_some_uploads_only() {
        let stall = |mbps: f64| Upload { mbps, granted_secs: 1.0, secs: 60.0 };
        let mut link = LinkEstimate::default();
        for _ in 0..5 {
            link.observe(stall(10.0), BAND_MBPS);
            assert_eq!(link.limit_mbps(), None);
            upload(&mut link, 10.0, 10.0, 1e9);
        }
        let mut link = limited(5.0);
        let before = link.limit_mbps().unwrap();
        link.observe(stall(before), BAND_MBPS);
        assert!(link.limit_mbps().unwrap() > 0.6 * before);
        (0..10).for_each(|_| upload(&mut link, 10.0, 50.0, 5.0));
        assert!((link.limit_mbps().unwrap() / 5.0 - 1.0).abs() < 0.1, "{link:?}");
    }

    /// The device of a right limit takes part in one round of ten.
    #[test]
    fn a_wrong_limit_goes_away_without_uploads_and_a_right_one_stays_about_what_it_is() {
        let mut link = limited(BAND_MBPS / 10.0);
        let free = (1..1000).find(|_| {
            link.age(BAND_MBPS);
            link.limit_mbps().is_none()
        });
        assert!(free.is_some_and(|rounds| rounds < 500), "{free:?}");
        let mut link = limited(2.0);
        for round in 0..1000 {
            link.age(BAND_MBPS);
            if round % 10 == 0 {
                upload(&mut link, 10.0, 50.0, 2.0);
            }
            let limit_mbps = link.limit_mbps().unwrap();
            assert!((0.8..1.25).contains(&(limit_mbps / 2.0)), "{limit_mbps} in round {round}");
        }
    }

    #[test]
    fn the_least_limit_can_be_granted() {
        for share in [1.0, 0.1, 0.01] {
            assert!(Pace::new(share * LIMIT_MBPS_MIN).is_some());
        }
    }

    #[test]
    fn a_grant_below_the_limit_says_nothing_about_it() {
        let mut link = limited(5.0);
        let before = link.clone();
        (0..50).for_each(|_| upload(&mut link, 10.0, 2.0, 5.0));
        assert_eq!(link, before);
    }

    #[test]
    fn a_slow_timed_transfer_gives_a_limit_only_with_an_upload_that_confirms_it() {
        let slow = Upload { mbps: 100.0, granted_secs: 0.1, secs: 1.0 };
        let [mut quick, mut confirmed] = [LinkEstimate::default(), LinkEstimate::default()];
        [&mut quick, &mut confirmed].into_iter().for_each(|link| link.probed(slow));
        assert_eq!(confirmed.limit_mbps(), None);
        confirmed.observe(slow, BAND_MBPS);
        assert_eq!(confirmed.limit_mbps(), Some(10.0));
        quick.observe(Upload { secs: 0.1, ..slow }, BAND_MBPS);
        quick.observe(slow, BAND_MBPS);
        assert_eq!(quick.limit_mbps(), None, "an upload in time refutes the transfer");
    }
}
