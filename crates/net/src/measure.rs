//! Measurements of devices in rounds: compute times, links, downloads, availability, and whether they deliver; and of the
//! server's own part of a round.
//!
//! Nothing here reads a clock: callers pass measured times. Only the server's own measurements count in full; a device's
//! claims, and the times of a single device, are bounded by the times of the others.

mod average;
mod believed;
mod bench;
mod downloads;
mod link;
mod server_times;
mod uplink;

use fedflip_fleet::bandwidth::Job;
use fedflip_fleet::{Decibel, Device, Fleet, FleetError, Link, Mbps, Probability, Samples, Secs, Weights};
use serde::{Deserialize, Serialize};

use self::average::{Average, Frequency};
use self::bench::Conduct;
use self::link::LinkEstimate;
use self::server_times::ServerTimes;
use crate::state::EnrolledDevice;

pub use self::believed::Believed;
pub use self::bench::BenchChange;
pub use self::link::Upload;
pub(crate) use self::link::is_slow;
pub use self::server_times::RoundTimes;
pub use self::uplink::{Signals, Uplink};

/// The least availability: a device that hardly ever attends may come back.
pub const AVAILABILITY_MIN: f64 = 0.05;
/// A device's coin makes up for failures to deliver down to this share; a device that delivers less is benched instead.
const DELIVERED_MIN: f64 = 0.5;
/// The number of consecutive missed deadlines after which a device counts as too slow.
const MISSES_TO_BELIEVE: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// The device delivered an update that counts.
    Reported {
        /// The time from the moment when it had both its grant and the model to the first byte, and what it waited for the
        /// model beyond the modelled download.
        compute_secs: f64,
        /// The earliest time for the first byte: the device may have been done before.
        upload_from_secs: f64,
        upload: Upload,
        /// The measured time of the download in units of the modelled one, where both are known.
        download_ratio: Option<f64>,
    },
    Missed {
        /// The time that the others waited for the device.
        waited_secs: f64,
    },
    /// The division of the bandwidth left the device too little time: it is not to blame.
    CrowdedOut,
}

/// The measurements of all devices, by slot, and of the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measures {
    devices: Vec<Measured>,
    server: ServerTimes,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// The compute time that the device claimed when it enrolled; it counts only until the first report.
    claimed_secs: f64,
    compute_secs: Average,
    /// The size of an update with its framing.
    payload_mbit: f64,
    /// The rate of the whole bandwidth, if the device had it for itself and its link had no limit.
    alone_mbps: f64,
    /// The signal-to-noise ratio of a fleet file, where the band is spectrum.
    snr_db: Option<f64>,
    link: LinkEstimate,
    download_ratio: Average,
    /// Misses in a row, and the least compute time that follows from them.
    misses: u32,
    overdue_secs: f64,
    reached: Frequency,
    reported: Frequency,
    conduct: Conduct,
}

impl Measured {
    fn compute_secs(&self, claimed_secs_max: f64) -> f64 {
        let secs = self.compute_secs.value().unwrap_or(self.claimed_secs.min(claimed_secs_max));
        if self.misses >= MISSES_TO_BELIEVE { secs.max(self.overdue_secs) } else { secs }
    }

    /// The upload of the device with the whole bandwidth for itself.
    fn upload_alone_secs(&self) -> f64 {
        self.payload_mbit / self.link.limit_mbps().unwrap_or(f64::INFINITY).min(self.alone_mbps)
    }

    /// The link as plans, grants and deadlines count it: not slower than the links of others by more than is believed.
    fn link(&self, believed: Believed) -> Link {
        let limit_mbps = self.link.limit_mbps().unwrap_or(f64::INFINITY);
        let limit_mbps = limit_mbps.max(self.payload_mbit / believed.upload_secs_max);
        Link { limit_mbps, snr: self.signal().map_or(Link::default().snr, Decibel::factor) }
    }

    fn signal(&self) -> Option<Decibel> {
        self.snr_db.and_then(|snr_db| Decibel::new(snr_db).ok())
    }

    fn report(&mut self, took_secs: f64, upload_from_secs: f64, upload: Upload) {
        (self.misses, self.overdue_secs) = (0, 0.0);
        self.conduct.delivered();
        // A device that had to wait was done before it began to send.
        let waited = took_secs <= 1.1 * upload_from_secs + 0.1;
        let compute_secs = match self.compute_secs.value() {
            Some(known) if waited && upload_from_secs > 0.0 => took_secs.min(known),
            None if waited && upload_from_secs > 0.0 => took_secs.min(self.claimed_secs),
            _ => took_secs,
        };
        self.compute_secs.observe(compute_secs);
        self.link.observe(upload, self.alone_mbps);
    }

    fn miss(&mut self, waited_secs: f64) {
        self.misses = self.misses.saturating_add(1);
        if waited_secs.is_finite() {
            self.overdue_secs = self.overdue_secs.max(waited_secs);
        }
        self.conduct.failed(waited_secs);
    }
}

impl Measures {
    /// Notes the measurements of a device's enrolment.
    pub fn calibrated(&mut self, device: &EnrolledDevice, uplink: &Uplink) {
        if device.slot >= self.devices.len() {
            self.devices.resize_with(device.slot + 1, Measured::default);
        }
        let measured = &mut self.devices[device.slot];
        measured.claimed_secs = device.compute_secs;
        measured.payload_mbit = uplink.payload_mbit;
        measured.alone_mbps = uplink.alone_mbps(device);
        measured.snr_db = uplink.signals.of(&device.name).map(Decibel::get);
        measured.link.probed(uplink.probe(device));
    }

    /// Notes whether the device answered when a round opened, joining or not.
    pub fn opened(&mut self, slot: usize, answered: bool) {
        if let Some(measured) = self.devices.get_mut(slot) {
            measured.reached.count(answered);
        }
    }

    /// Notes the outcome of a device that had joined.
    pub fn granted(&mut self, slot: usize, outcome: Outcome) {
        let Some(measured) = self.devices.get_mut(slot) else { return };
        match outcome {
            Outcome::Reported { compute_secs, upload_from_secs, upload, download_ratio } => {
                measured.reported.count(true);
                measured.report(compute_secs, upload_from_secs, upload);
                if let Some(ratio) = download_ratio {
                    measured.download_ratio.observe(ratio);
                }
            }
            Outcome::Missed { waited_secs } => {
                measured.reported.count(false);
                measured.miss(waited_secs);
            }
            Outcome::CrowdedOut => {}
        }
    }

    /// Notes the server's part of a round, whose overhead counts up to a bound.
    pub fn round(&mut self, times: RoundTimes, secs_max: f64) {
        self.server.observe(times, secs_max);
    }

    /// Lets the limits of links rise a little at the end of a round: a device that is hardly ever asked, because its link
    /// seems slow, would never show that it is not.
    pub fn age_limits(&mut self) {
        self.devices.iter_mut().for_each(|measured| measured.link.age(measured.alone_mbps));
    }

    /// The server's overhead of a mean round, of which the given share is evaluated; none before the first round.
    pub fn overhead_secs(&self, evaluated_share: f64) -> Option<f64> {
        self.server.overhead_secs(evaluated_share)
    }

    /// The time of downloads in units of the modelled time, within bounds: the median over devices, so that no few of them
    /// decide. None before enough devices have downloaded.
    pub fn download_ratio(&self) -> Option<f64> {
        let ratios = self.devices.iter().filter_map(|measured| measured.download_ratio.value());
        downloads::ratio(ratios.collect())
    }

    /// Benches devices that keep failing to deliver, and lets devices return whose pause is over.
    pub fn review(&mut self, now_secs: f64) -> BenchChange {
        bench::review(self.devices.iter_mut().map(|measured| &mut measured.conduct), now_secs)
    }

    /// Ends the pause of a benched device at once, because too few others attend. Returns whether it was benched.
    pub fn recall(&mut self, slot: usize) -> bool {
        self.devices.get_mut(slot).is_some_and(|measured| measured.conduct.recall())
    }

    /// Whether a device is not asked at the moment.
    pub fn is_benched(&self, slot: usize) -> bool {
        self.devices.get(slot).is_some_and(|measured| measured.conduct.is_benched())
    }

    /// The share of rounds in which the device can be reached and delivers after it has joined: exactly 1 while it has missed
    /// nothing, and never 0.
    pub fn availability(&self, slot: usize) -> f64 {
        let share =
            |measured: &Measured| measured.reached.share() * measured.reported.share().max(DELIVERED_MIN);
        self.devices.get(slot).map_or(1.0, share).clamp(AVAILABILITY_MIN, 1.0)
    }

    /// The number of devices with measurements.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// The bounds on the numbers of a single device, by the measurements of the others.
    pub fn believed(&self) -> Believed {
        let reported = self.devices.iter().filter_map(|measured| measured.compute_secs.value());
        let claimed = self.devices.iter().map(|measured| measured.claimed_secs);
        let uploads = self.devices.iter().map(Measured::upload_alone_secs).filter(|secs| secs.is_finite());
        Believed::beside(reported.collect(), claimed.collect(), uploads.collect())
    }

    /// A device's job as the automatic deadline counts it: by reports only, once there are any.
    pub fn deadline_job(&self, slot: usize, believed: Believed) -> Job {
        let measured = self.devices.get(slot);
        let reported_secs = measured.and_then(|measured| measured.compute_secs.value());
        let claimed_secs = measured.map_or(0.0, |measured| measured.claimed_secs);
        let compute_secs = believed.deadline_secs(reported_secs, claimed_secs);
        Job { compute_secs, ..self.job(slot, believed) }
    }

    /// A device's expected job in a round.
    pub fn job(&self, slot: usize, believed: Believed) -> Job {
        let Some(measured) = self.devices.get(slot) else { return Job::new(0.0, 0.0) };
        let compute_secs = measured.compute_secs(believed.compute_secs_max);
        Job { compute_secs, load_mbit: measured.payload_mbit, link: measured.link(believed) }
    }

    /// The measured fleet, for the planner; `devices` are in the order of their slots, and all of them are calibrated. The
    /// weights stand where a fleet has sample counts.
    pub fn fleet(&self, devices: &[EnrolledDevice], weights: &Weights) -> Result<Fleet, FleetError> {
        let believed = self.believed();
        let mut builder = Fleet::builder();
        for device in devices {
            let job = self.job(device.slot, believed);
            let refuse = |what, wanted: &str| FleetError::Recipe {
                what,
                problem: format!("{} has no value that a plan can use", device.name),
                hint: format!("it must be {wanted}"),
            };
            let weight = weights.of(&device.name, device.samples);
            let weight = weight.ok_or_else(|| weights.without(&device.name))?;
            builder.push(Device {
                name: &device.name,
                compute_secs: time(job.compute_secs).ok_or_else(|| refuse("compute_secs", Secs::WANTED))?,
                comm_secs: time(job.load_mbit).ok_or_else(|| refuse("comm_secs", Secs::WANTED))?,
                samples: Samples::new(weight).map_err(|_| refuse("samples", Samples::WANTED))?,
                availability: Probability::new(self.availability(device.slot))
                    .map_err(|_| refuse("availability", Probability::WANTED))?,
                link_mbps: Mbps::new(job.link.limit_mbps).ok(),
                snr_db: self.devices.get(device.slot).and_then(Measured::signal),
            })?;
        }
        builder.build()
    }
}

/// A time that a fleet can hold; a time below a nanosecond is 0.
fn time(secs: f64) -> Option<Secs> {
    Secs::new(if secs < 1e-9 { 0.0 } else { secs }).ok().filter(|_| secs >= 0.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::average::{NEWEST, OUTLIER};
    use super::*;

    const MISSED: Outcome = Outcome::Missed { waited_secs: 3.0 };

    fn device(slot: usize) -> EnrolledDevice {
        EnrolledDevice {
            slot,
            name: format!("phone-{slot}"),
            coin: [0; 32],
            samples: 10.0,
            compute_secs: 2.0,
            comm_mbit: 8.0,
        }
    }

    fn uplink() -> Uplink {
        let band = Mbps::new(4.0).unwrap().into();
        Uplink { payload_mbit: 8.0, band, probe_mbps: 4.0, signals: Signals::default() }
    }

    fn measures() -> Measures {
        let mut measures = Measures::default();
        measures.calibrated(&device(0), &uplink());
        measures
    }

    fn reported(compute_secs: f64) -> Outcome {
        let upload = Upload { mbps: 2.0, granted_secs: 4.0, secs: 4.0 };
        Outcome::Reported { compute_secs, upload_from_secs: 0.0, upload, download_ratio: None }
    }

    fn compute_secs(measures: &Measures) -> f64 {
        measures.fleet(&[device(0)], &Weights::Samples).unwrap().compute_secs()[0]
    }

    #[test]
    fn what_stays_the_same_is_measured_exactly_and_what_changes_is_followed() {
        let mut measures = measures();
        (0..50).for_each(|_| measures.granted(0, reported(2.0)));
        let fleet = measures.fleet(&[device(0)], &Weights::Samples).unwrap();
        assert_eq!((fleet.compute_secs(), fleet.comm_secs()), (&[2.0][..], &[8.0][..]));
        assert_eq!((fleet.availability(), fleet.name(0)), (&[1.0][..], "phone-0"));
        // Ten times slower, and then as before: neither takes more than some tens of rounds.
        (0..30).for_each(|_| measures.granted(0, reported(20.0)));
        assert!((compute_secs(&measures) - 20.0).abs() < 0.5, "{}", compute_secs(&measures));
        (0..40).for_each(|_| measures.granted(0, reported(2.0)));
        assert!((compute_secs(&measures) - 2.0).abs() < 0.1, "{}", compute_secs(&measures));
    }

    #[test]
    fn one_odd_round_moves_little() {
        let mut measures = measures();
        (0..10).for_each(|_| measures.granted(0, reported(2.0)));
        measures.granted(0, reported(1e6));
        assert!(compute_secs(&measures) <= 2.0 * (1.0 + NEWEST * (OUTLIER - 1.0)) + 1e-9);
        for nonsense in [f64::NAN, f64::INFINITY, -1.0] {
            let before = measures.clone();
            measures.granted(0, reported(nonsense));
            assert_eq!(compute_secs(&measures), compute_secs(&before));
        }
    }

    #[test]
    fn presence_is_the_share_of_rounds() {
        let mut measures = measures();
        (0..100).for_each(|_| measures.opened(0, true));
        (0..20).for_each(|_| measures.granted(0, reported(2.0)));
        assert_eq!(measures.availability(0).to_bits(), 1.0_f64.to_bits());
        // Two rounds in three.
        (0..300).for_each(|round| measures.opened(0, round % 3 != 0));
        assert!((measures.availability(0) - 0.7).abs() < 0.05, "{}", measures.availability(0));
        (0..500).for_each(|_| measures.opened(0, false));
        (0..500).for_each(|_| measures.granted(0, MISSED));
        // Absence is made up for in full, and failures to deliver only to a half.
        assert!((measures.availability(0) - 0.107 * DELIVERED_MIN).abs() < 0.001);
        (0..300).for_each(|_| measures.opened(0, true));
        (0..300).for_each(|_| measures.granted(0, reported(2.0)));
        assert!(measures.availability(0) > 0.99);
        // Of somebody whom nobody knows nothing is known.
        measures.opened(7, false);
        measures.granted(7, MISSED);
        assert_eq!(measures.availability(7), 1.0);
    }

    #[test]
    fn devices_that_cannot_be_planned_with_are_refused_by_name() {
        let wrong = EnrolledDevice { samples: 0.0, ..device(0) };
        let error = measures().fleet(&[wrong], &Weights::Samples).unwrap_err().to_string();
        assert!(error.contains("samples") && error.contains("phone-0"), "{error}");
        let wrong = EnrolledDevice { compute_secs: -1.0, ..device(1) };
        let mut measures = measures();
        measures.calibrated(&wrong, &uplink());
        let error = measures.fleet(&[device(0), wrong], &Weights::Samples).unwrap_err().to_string();
        assert!(error.contains("compute_secs") && error.contains("phone-1"), "{error}");
    }

    /// Devices take part in turn, over links of 1, 2 and 40 Mbit/s and under the grants that follow from what is known.
    #[test]
    fn slow_links_are_limits_in_plans_and_grants_and_payloads_stay_what_they_are() {
        let (devices, links_mbps) = ([0, 1, 2].map(device), [1.0, 2.0, 40.0]);
        let mut measures = Measures::default();
        devices.iter().for_each(|device| measures.calibrated(device, &uplink()));
        for round in 0..60 {
            let believed = measures.believed();
            for (slot, link_mbps) in links_mbps.into_iter().enumerate() {
                let wanted_mbps = if round % 3 == 0 { 1.5 } else { 4.0 };
                let mbps = measures.job(slot, believed).link.limit_mbps.min(wanted_mbps);
                let upload = Upload { mbps, granted_secs: 8.0 / mbps, secs: 8.0 / mbps.min(link_mbps) };
                let (compute_secs, upload_from_secs, download_ratio) = (2.0, 0.0, None);
                let seen = Outcome::Reported { compute_secs, upload_from_secs, upload, download_ratio };
                measures.granted(slot, seen);
            }
        }
        let fleet = measures.fleet(&devices, &Weights::Samples).unwrap();
        assert_eq!(fleet.comm_secs(), [8.0; 3]);
        for (slot, link_mbps) in [(0, 1.0), (1, 2.0)] {
            let limit_mbps = fleet.link(slot).limit_mbps;
            assert!((limit_mbps / link_mbps - 1.0).abs() < 0.1, "{limit_mbps} of {link_mbps}");
        }
        assert_eq!(fleet.link(2).limit_mbps, f64::INFINITY);
    }

    /// A device that trickles counts as one that takes ten times as long as the others to upload.
    #[test]
    fn a_limit_counts_down_to_a_tenth_of_the_others_rates() {
        let mut measures = Measures::default();
        (0..3).for_each(|slot| measures.calibrated(&device(slot), &uplink()));
        for _ in 0..100 {
            let upload = Upload { mbps: 4.0, granted_secs: 2.0, secs: 86_400.0 };
            let seen =
                Outcome::Reported { compute_secs: 2.0, upload_from_secs: 0.0, upload, download_ratio: None };
            measures.granted(0, seen);
        }
        let believed = measures.believed();
        for of in [Measures::job, Measures::deadline_job] {
            let [trickles, other] = [0, 1].map(|slot| of(&measures, slot, believed).link.limit_mbps);
            assert!((trickles - 0.4).abs() < 1e-9 && other == f64::INFINITY, "{trickles} {other}");
        }
        let devices = [0, 1, 2].map(device);
        let planned = measures.fleet(&devices, &Weights::Samples).unwrap().link(0).limit_mbps;
        assert!((planned - 0.4).abs() < 1e-9, "{planned}");
    }

    #[derive(Clone, Debug)]
    enum Event {
        Opened(bool),
        Reported([f64; 3]),
        Missed,
    }

    fn event() -> impl Strategy<Value = Event> {
        prop_oneof![
            any::<bool>().prop_map(Event::Opened),
            prop::array::uniform3(prop::num::f64::ANY).prop_map(Event::Reported),
            prop::array::uniform3(0.0..100.0_f64).prop_map(Event::Reported),
            Just(Event::Missed),
        ]
    }

    proptest! {
        /// Whatever devices say, there is a fleet to plan with; and it survives being stored.
        #[test]
        fn any_history_gives_a_fleet(history in prop::collection::vec(event(), 0..200)) {
            let mut measures = measures();
            let mut missed = false;
            for event in history {
                match event {
                    Event::Opened(answered) => {
                        missed |= !answered;
                        measures.opened(0, answered);
                    }
                    Event::Reported([compute_secs, secs, mbps]) => {
                        let upload = Upload { mbps, granted_secs: 8.0 / mbps, secs };
                        let download_ratio = Some(secs);
                        measures.granted(0, Outcome::Reported { compute_secs, upload_from_secs: 0.0, upload, download_ratio });
                        let times = RoundTimes { overhead_secs: secs, evaluation_secs: Some(compute_secs) };
                        measures.round(times, mbps);
                        measures.age_limits();
                    }
                    Event::Missed => {
                        missed = true;
                        measures.granted(0, MISSED);
                    }
                }
                let share = measures.availability(0);
                prop_assert!((AVAILABILITY_MIN..=1.0).contains(&share));
                prop_assert_eq!(share == 1.0, !missed);
            }
            let fleet = measures.fleet(&[device(0)], &Weights::Samples).unwrap();
            prop_assert_eq!(fleet.comm_secs()[0], 8.0, "the payload is known");
            prop_assert!(measures.overhead_secs(1.0).is_none_or(|secs| Secs::new(secs).is_ok()));
            prop_assert!(measures.download_ratio().is_none_or(|ratio| ratio >= 0.0));
            let stored: Measures = serde_json::from_str(&serde_json::to_string(&measures).unwrap()).unwrap();
            let restored = stored.fleet(&[device(0)], &Weights::Samples).unwrap();
            prop_assert!((restored.compute_secs()[0] - fleet.compute_secs()[0]).abs() <= 1e-15 * fleet.compute_secs()[0]);
            prop_assert!((restored.availability()[0] - fleet.availability()[0]).abs() <= 1e-15);
        }
    }
}
