//! The fleets that are timed: made from the seed alone, with as many different devices as there are.

use fedflip_fleet::{Device, Fleet, Mbps, Probability, Purpose, Samples, Secs, StreamKey};
use fedflip_plan::{Constants, Problem};
use rand::RngExt;

/// Times over two orders of magnitude, data over two, a tenth of the devices not always reachable.
pub(crate) fn fleet(devices: usize) -> Fleet {
    let mut stream = StreamKey { seed: 1, purpose: Purpose::FleetSamples, round: devices as u64 }.shared();
    let mut log_uniform = |low: f64, high: f64| low * (high / low).powf(stream.random::<f64>());
    let mut builder = Fleet::builder();
    for n in 0..devices {
        let availability = log_uniform(0.5, 5.0).min(1.0);
        builder
            .push(Device {
                name: &n.to_string(),
                compute_secs: Secs::new(log_uniform(0.02, 2.0)).unwrap(),
                comm_secs: Secs::new(log_uniform(0.5, 5.0)).unwrap(),
                samples: Samples::new(log_uniform(20.0, 2000.0)).unwrap(),
                availability: Probability::new(availability).unwrap(),
                link_mbps: None,
                snr_db: None,
            })
            .unwrap();
    }
    builder.build().unwrap()
}

/// A target that P3 can just reach: some devices are at their cap.
pub(crate) fn problem(fleet: &Fleet) -> (Problem<'_>, Constants) {
    let devices = fleet.len() as f64;
    let floors = fleet.weights().iter().zip(fleet.availability()).map(|(a, cap)| a * a * devices / cap);
    let beta = 1.1 * floors.fold(0.0, f64::max);
    (Problem::new(fleet, Mbps::new(100.0).unwrap()), Constants::new(28.5, beta).unwrap())
}
