//! What rounds tell about devices: how long they compute, what they send, how often they are there.
//!
//! Averages that forget: a phone that is on its charger now computes as it does now. One odd round moves them
//! little, however odd it is. No clock: whoever measures says what was measured.

use fedflip_fleet::bandwidth::Job;
use fedflip_fleet::{Device, Fleet, FleetError, Probability, Samples, Secs};
use serde::{Deserialize, Serialize};

use crate::state::EnrolledDevice;

/// What a new observation counts for, against all before it.
const NEWEST: f64 = 0.2;
/// Observations that count alike, before forgetting begins.
const FIRST_FEW: u32 = 4;
/// After these, one observation is taken to be at most so many times more or less than the average.
const OUTLIER: f64 = 3.0;

/// What a round keeps of its weight with each later one: 33 rounds are remembered.
const KEPT: f64 = 0.97;
/// Rounds in which a new device is taken to have been there: one miss is not yet a habit.
const PRIOR_ROUNDS: f64 = 4.0;
/// Nobody is given up: a device that is hardly ever there may come back.
pub const AVAILABILITY_MIN: f64 = 0.05;

/// What came of a grant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// An update that could be used.
    Reported {
        /// How long the device computed.
        compute_secs: f64,
        /// How long it sent.
        upload_secs: f64,
        /// At which rate it was to send, in Mbit/s.
        mbps: f64,
    },
    /// None.
    Missed,
}

/// What is known of all devices by now, by slot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Measures {
    devices: Vec<Measured>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Measured {
    compute_secs: Average,
    comm_mbit: Average,
    /// When a round was opened.
    reached: Presence,
    /// When it had joined.
    reported: Presence,
}

impl Measures {
    /// Takes what a device measured of itself when it came, or came again.
    pub fn calibrated(&mut self, device: &EnrolledDevice) {
        if device.slot >= self.devices.len() {
            self.devices.resize_with(device.slot + 1, Measured::default);
        }
        let measured = &mut self.devices[device.slot];
        measured.compute_secs.observe(device.compute_secs);
        measured.comm_mbit.observe(device.comm_mbit);
    }

    /// A round was opened, and the device answered, joining or not; or it could not be reached.
    pub fn opened(&mut self, slot: usize, answered: bool) {
        if let Some(measured) = self.devices.get_mut(slot) {
            measured.reached.count(answered);
        }
    }

    /// The device had joined, and this came of it.
    pub fn granted(&mut self, slot: usize, outcome: Outcome) {
        let Some(measured) = self.devices.get_mut(slot) else { return };
        measured.reported.count(outcome != Outcome::Missed);
        if let Outcome::Reported { compute_secs, upload_secs, mbps } = outcome {
            measured.compute_secs.observe(compute_secs);
            // What it would have taken over 1 Mbit/s.
            measured.comm_mbit.observe(upload_secs * mbps);
        }
    }

    /// The share of rounds in which the device can be reached and, having joined, reports: exactly 1 while it
    /// has missed nothing, and never 0.
    pub fn availability(&self, slot: usize) -> f64 {
        let share = |measured: &Measured| measured.reached.share() * measured.reported.share();
        self.devices.get(slot).map_or(1.0, share).clamp(AVAILABILITY_MIN, 1.0)
    }

    /// Devices that something is known of.
    pub fn len(&self) -> usize {
        self.devices.len()
    }

    /// Whether nothing is known of anybody.
    pub fn is_empty(&self) -> bool {
        self.devices.is_empty()
    }

    /// What a device has to do in a round, as far as is known.
    pub fn job(&self, slot: usize) -> Job {
        let measured = self.devices.get(slot);
        Job {
            compute_secs: measured.map_or(0.0, |measured| measured.compute_secs.value),
            load_mbit: measured.map_or(0.0, |measured| measured.comm_mbit.value),
        }
    }

    /// The fleet as it was measured, for the planner; `devices` are in the order of their slots.
    pub fn fleet(&self, devices: &[EnrolledDevice]) -> Result<Fleet, FleetError> {
        let mut builder = Fleet::builder();
        for device in devices {
            let measured = self.devices.get(device.slot);
            let average = |of: fn(&Measured) -> &Average, first: f64| {
                measured.map(of).filter(|average| average.seen > 0).map_or(first, |average| average.value)
            };
            let refuse = |what, wanted: &str| FleetError::Recipe {
                what,
                problem: format!("{} has none that can be planned with", device.name),
                hint: format!("it must be {wanted}"),
            };
            builder.push(Device {
                name: &device.name,
                compute_secs: time(average(|measured| &measured.compute_secs, device.compute_secs))
                    .ok_or_else(|| refuse("compute_secs", Secs::WANTED))?,
                comm_secs: time(average(|measured| &measured.comm_mbit, device.comm_mbit))
                    .ok_or_else(|| refuse("comm_secs", Secs::WANTED))?,
                samples: Samples::new(device.samples).map_err(|_| refuse("samples", Samples::WANTED))?,
                availability: Probability::new(self.availability(device.slot))
                    .map_err(|_| refuse("availability", Probability::WANTED))?,
            })?;
        }
        builder.build()
    }
}

/// A time that a fleet can hold; what is too short to tell from nothing is nothing.
fn time(secs: f64) -> Option<Secs> {
    Secs::new(if secs < 1e-9 { 0.0 } else { secs }).ok().filter(|_| secs >= 0.0)
}

/// A mean over the last some observations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Average {
    value: f64,
    /// Observations, as far as they matter.
    seen: u32,
}

impl Average {
    fn observe(&mut self, observed: f64) {
        // A device says these: what is no time is not heard.
        if Secs::new(observed).is_err() {
            return;
        }
        if self.seen < FIRST_FEW {
            self.seen += 1;
            self.value += (observed - self.value) / f64::from(self.seen);
            return;
        }
        // Nothing is a multiple of nothing: such an average takes whatever comes.
        let plausible = if self.value > 0.0 {
            observed.clamp(self.value / OUTLIER, self.value * OUTLIER)
        } else {
            observed
        };
        self.value += NEWEST * (plausible - self.value);
    }
}

/// How often somebody was there, of the rounds that are remembered.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Presence {
    missed: f64,
    rounds: f64,
}

impl Presence {
    fn count(&mut self, was_there: bool) {
        self.missed = KEPT * self.missed + f64::from(u8::from(!was_there));
        self.rounds = KEPT * self.rounds + 1.0;
    }

    /// Exactly 1 where nothing was missed, whatever the rounding.
    fn share(&self) -> f64 {
        1.0 - self.missed / (self.rounds + PRIOR_ROUNDS)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        Outcome::Reported { compute_secs, upload_secs: 4.0, mbps: 2.0 }
    }

    fn compute_secs(measures: &Measures) -> f64 {
        measures.fleet(&[device(0)]).unwrap().compute_secs()[0]
    }

    #[test]
    fn what_stays_the_same_is_measured_exactly_and_what_changes_is_followed() {
        let mut measures = measures();
        (0..50).for_each(|_| measures.granted(0, reported(2.0)));
        let fleet = measures.fleet(&[device(0)]).unwrap();
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
        (0..500).for_each(|_| measures.granted(0, Outcome::Missed));
        assert_eq!(measures.availability(0), AVAILABILITY_MIN);
        (0..300).for_each(|_| measures.opened(0, true));
        (0..300).for_each(|_| measures.granted(0, reported(2.0)));
        assert!(measures.availability(0) > 0.99);
        // Of somebody whom nobody knows nothing is known.
        measures.opened(7, false);
        measures.granted(7, Outcome::Missed);
        assert_eq!(measures.availability(7), 1.0);
    }

    #[test]
    fn devices_that_cannot_be_planned_with_are_refused_by_name() {
        let wrong = EnrolledDevice { samples: 0.0, ..device(0) };
        let error = measures().fleet(&[wrong]).unwrap_err().to_string();
        assert!(error.contains("samples") && error.contains("phone-0"), "{error}");
        let wrong = EnrolledDevice { compute_secs: -1.0, ..device(1) };
        let error = measures().fleet(&[device(0), wrong]).unwrap_err().to_string();
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
                        measures.granted(0, Outcome::Reported { compute_secs, upload_secs, mbps });
                    }
                    Event::Missed => {
                        missed = true;
                        measures.granted(0, Outcome::Missed);
                    }
                }
                let share = measures.availability(0);
                prop_assert!((AVAILABILITY_MIN..=1.0).contains(&share));
                prop_assert_eq!(share == 1.0, !missed);
            }
            let fleet = measures.fleet(&[device(0)]).unwrap();
            let stored: Measures = serde_json::from_str(&serde_json::to_string(&measures).unwrap()).unwrap();
            let restored = stored.fleet(&[device(0)]).unwrap();
            prop_assert!((restored.compute_secs()[0] - fleet.compute_secs()[0]).abs() <= 1e-15 * fleet.compute_secs()[0]);
            prop_assert!((restored.availability()[0] - fleet.availability()[0]).abs() <= 1e-15);
        }
    }
}
