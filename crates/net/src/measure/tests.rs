use proptest::prelude::*;

use super::average::{NEWEST, OUTLIER};
use super::device::DELIVERED_MIN;
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
