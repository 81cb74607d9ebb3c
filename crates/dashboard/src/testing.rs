//! What the tests of several files share.

use fedflip_fleet::{Device, Fleet, Probability, Samples, Secs};
use fedflip_fleet::{Direction, Display, MetricInfo};
use fedflip_record::{Header, Round, Target, TargetMode};

/// A fleet of this number of devices, of two types in turn.
pub(crate) fn fleet(devices: usize) -> Fleet {
    let mut fleet = Fleet::builder();
    for n in 0..devices {
        let device = Device {
            name: &format!("{}-{n:06}", ["phone", "tablet"][n % 2]),
            compute_secs: Secs::new(0.1 + 0.01 * (n % 7) as f64).unwrap(),
            comm_secs: Secs::new(0.5 + 0.1 * (n % 5) as f64).unwrap(),
            samples: Samples::new(1.0 + n as f64).unwrap(),
            availability: Probability::ONE,
            link_mbps: None,
            snr_db: None,
        };
        fleet.push(device).unwrap();
    }
    fleet.build().unwrap()
}

pub(crate) fn header(devices: usize) -> Header {
    Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "0.1.0".to_owned(),
        task: "synthetic".to_owned(),
        scheme: "exact".to_owned(),
        seed: 7,
        devices,
        parameters: 610,
        bandwidth_mbps: 100.0,
        costs: Default::default(),
        metrics: vec![
            MetricInfo::new("accuracy", Direction::Larger, Display::Share),
            MetricInfo::new("loss", Direction::Smaller, Display::Number),
        ],
        stop: Some(Target { metric: "accuracy".to_owned(), at: 0.7, mode: TargetMode::Max }),
        pilot: false,
        expected_participants: 1.0,
        expected_rounds: Some(500.0),
        expected_round_secs: Some(0.1),
        unbiased: None,
        deployed: None,
    }
}

/// Of a task that has no accuracy.
pub(crate) fn regression_header(devices: usize) -> Header {
    Header {
        metrics: vec![
            MetricInfo::new("rmse", Direction::Smaller, Display::Number),
            MetricInfo::new("loss", Direction::Smaller, Display::Number),
        ],
        stop: Some(Target { metric: "rmse".to_owned(), at: 0.5, mode: TargetMode::Min }),
        ..header(devices)
    }
}

/// A round of a tenth of a second in which devices 0 and 1 took part.
pub(crate) fn round(number: u64, accuracy: f64) -> Round {
    Round {
        round: number,
        start_secs: 0.1 * (number - 1) as f64,
        round_secs: 0.1,
        cohort: vec![0, 1],
        mbps: vec![60.0, 40.0],
        metrics: [("accuracy", accuracy), ("loss", 1.0 - accuracy)].into(),
        ..Round::default()
    }
}
