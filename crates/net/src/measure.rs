//! Measurements of devices in rounds: compute times, loads, availability, and whether they deliver.
//!
//! Nothing here reads a clock: callers pass measured times. Only the server's own measurements count in full; a device's
//! claims, and the times of a single device, are bounded by the times of the others.

mod average;
mod believed;
mod bench;

use fedflip_fleet::bandwidth::Job;
use fedflip_fleet::{Device, Fleet, FleetError, Probability, Samples, Secs, Weights};
use serde::{Deserialize, Serialize};

use self::average::{Average, Frequency};
use self::bench::Conduct;
use crate::state::EnrolledDevice;

pub use self::believed::Believed;
pub use self::bench::BenchChange;

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
        /// The time from the grant to the first byte.
        compute_secs: f64,
        /// The earliest time for the first byte: the device may have been done before.
        upload_from_secs: f64,
        /// The time from the first byte to the last.
        upload_secs: f64,
        /// The granted rate in Mbit/s.
        mbps: f64,
    },
    Missed {
        /// The time that the others waited for the device.
        waited_secs: f64,
    },
    /// The division of the bandwidth left the device too little time: it is not to blame.
    CrowdedOut,
}

/// The measurements of all devices, by slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures {
    devices: Vec<Measured>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    /// The compute time that the device claimed when it enrolled; it counts only until the first report.
    #[serde(default)]
    claimed_secs: f64,
    compute_secs: Average,
    comm_mbit: Average,
    /// Misses in a row, and the least compute time that follows from them.
    #[serde(default)]
    misses: u32,
    #[serde(default)]
    overdue_secs: f64,
    reached: Frequency,
    reported: Frequency,
    #[serde(default)]
    conduct: Conduct,
}

impl Measured {
    fn compute_secs(&self, claimed_secs_max: f64) -> f64 {
        let secs = self.compute_secs.value().unwrap_or(self.claimed_secs.min(claimed_secs_max));
        if self.misses >= MISSES_TO_BELIEVE { secs.max(self.overdue_secs) } else { secs }
    }

    fn report(&mut self, [took_secs, upload_from_secs, upload_secs]: [f64; 3], mbps: f64) {
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
        // The time of the upload at 1 Mbit/s.
        self.comm_mbit.observe(upload_secs * mbps);
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
    pub fn calibrated(&mut self, device: &EnrolledDevice) {
        if device.slot >= self.devices.len() {
            self.devices.resize_with(device.slot + 1, Measured::default);
        }
        let measured = &mut self.devices[device.slot];
        measured.claimed_secs = device.compute_secs;
        measured.comm_mbit.observe(device.comm_mbit);
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
            Outcome::Reported { compute_secs, upload_from_secs, upload_secs, mbps } => {
                measured.reported.count(true);
                measured.report([compute_secs, upload_from_secs, upload_secs], mbps);
            }
            Outcome::Missed { waited_secs } => {
                measured.reported.count(false);
                measured.miss(waited_secs);
            }
            Outcome::CrowdedOut => {}
        }
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
        let sent = self.devices.iter().filter_map(|measured| measured.comm_mbit.value());
        Believed::beside(reported.collect(), claimed.collect(), sent.collect())
    }

    /// A device's job as the automatic deadline counts it: by reports only, once there are any.
    pub fn deadline_job(&self, slot: usize, believed: Believed) -> Job {
        let Job { load_mbit, .. } = self.job(slot, believed);
        let measured = self.devices.get(slot);
        let reported_secs = measured.and_then(|measured| measured.compute_secs.value());
        let claimed_secs = measured.map_or(0.0, |measured| measured.claimed_secs);
        Job::new(believed.deadline_secs(reported_secs, claimed_secs), load_mbit)
    }

    /// A device's expected job in a round.
    pub fn job(&self, slot: usize, believed: Believed) -> Job {
        let Some(measured) = self.devices.get(slot) else { return Job::new(0.0, 0.0) };
        let load_mbit = measured.comm_mbit.value().unwrap_or(0.0).min(believed.comm_mbit_max);
        Job::new(measured.compute_secs(believed.compute_secs_max), load_mbit)
    }

    /// The measured fleet, for the planner; `devices` are in the order of their slots. The weights stand where a fleet has
    /// sample counts.
    pub fn fleet(&self, devices: &[EnrolledDevice], weights: &Weights) -> Result<Fleet, FleetError> {
        let believed = self.believed();
        let mut builder = Fleet::builder();
        for device in devices {
            let known = device.slot < self.devices.len();
            let job = match known {
                true => self.job(device.slot, believed),
                false => Job::new(device.compute_secs, device.comm_mbit),
            };
            let refuse = |what, wanted: &str| FleetError::Recipe {
                what,
                problem: format!("{} has none that can be planned with", device.name),
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
                link_mbps: None,
                snr_db: None,
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

    fn measures() -> Measures {
        let mut measures = Measures::default();
        measures.calibrated(&device(0));
        measures
    }

    fn reported(compute_secs: f64) -> Outcome {
        Outcome::Reported { compute_secs, upload_from_secs: 0.0, upload_secs: 4.0, mbps: 2.0 }
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
        let error = measures().fleet(&[device(0), wrong], &Weights::Samples).unwrap_err().to_string();
        assert!(error.contains("compute_secs") && error.contains("phone-1"), "{error}");
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
                    Event::Reported([compute_secs, upload_secs, mbps]) => {
                        measures.granted(0, Outcome::Reported { compute_secs, upload_from_secs: 0.0, upload_secs, mbps });
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
            let stored: Measures = serde_json::from_str(&serde_json::to_string(&measures).unwrap()).unwrap();
            let restored = stored.fleet(&[device(0)], &Weights::Samples).unwrap();
            prop_assert!((restored.compute_secs()[0] - fleet.compute_secs()[0]).abs() <= 1e-15 * fleet.compute_secs()[0]);
            prop_assert!((restored.availability()[0] - fleet.availability()[0]).abs() <= 1e-15);
        }
    }
}
