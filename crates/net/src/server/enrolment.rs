//! Devices and their places: as they were before a restart, and as more of them come.

use super::Server;
use super::member::{Enrolment, Member, Silence};
use super::quorum::{self, Quorum};
use crate::coin::CoinPublic;
use crate::error::NetError;
use crate::state::{EnrolledDevice, RunState, STATE};

impl Server {
    /// Those who enrolled before a restart have their places; from now on others may come. Where pilots come before
    /// a run, its devices are the ones to begin with: those of the pilots are the same, as far as they came.
    pub fn restore(&self, devices: &[EnrolledDevice]) -> Result<(), NetError> {
        let mut state = self.hub.state();
        for device in devices {
            let damaged = |problem: &str| NetError::Damaged {
                path: STATE.to_owned(),
                problem: format!("device {}: {problem}", device.slot),
            };
            let name = device.name.parse().map_err(|_| damaged("its name is not one"))?;
            let coin = CoinPublic::from_bytes(device.coin).ok_or_else(|| damaged("its coin is not one"))?;
            let enrolment = Enrolment {
                samples: device.samples as u64,
                compute_secs: device.compute_secs,
                comm_mbit: device.comm_mbit,
            };
            if state.enrol(&name, coin, |_| enrolment) != Ok(device.slot) {
                return Err(damaged("its place is taken"));
            }
        }
        // Rounds are counted anew: what a pilot heard of a device is of other rounds.
        state.members.iter_mut().for_each(|member| member.silence = Silence::default());
        state.open = true;
        Ok(())
    }
}

/// Brings to the state who has enrolled since; `first` hears of it before.
pub(super) fn keep(
    server: &Server,
    state: &mut RunState,
    first: &mut dyn FnMut(&EnrolledDevice) -> Result<(), NetError>,
    kept: &mut Vec<EnrolledDevice>,
) -> Result<(), NetError> {
    let enrolled = server.hub.state().members.len();
    server.metrics.devices_enrolled.set(enrolled as f64);
    for slot in kept.len()..enrolled {
        let device = {
            let state = server.hub.state();
            let Member { name, coin, enrolment, .. } = &state.members[slot];
            EnrolledDevice {
                slot,
                name: name.as_str().to_owned(),
                coin: coin.to_bytes(),
                samples: enrolment.samples as f64,
                compute_secs: enrolment.compute_secs,
                comm_mbit: enrolment.comm_mbit,
            }
        };
        first(&device)?;
        state.enrol(&device)?;
        kept.push(device);
    }
    Ok(())
}

/// Waits until so many devices have enrolled, which `count` keeps and counts; false if the run is to stop.
pub(super) fn gather(
    server: &Server,
    wanted: usize,
    stop: &dyn Fn() -> bool,
    mut count: impl FnMut() -> Result<usize, NetError>,
) -> Result<bool, NetError> {
    quorum::gather(&server.hub, &server.runtime, "waiting for devices to enrol", || {
        Ok(match count()? {
            enrolled if enrolled >= wanted => Quorum::Reached,
            _ if stop() => Quorum::Cancelled,
            enrolled => Quorum::Missing { there: enrolled, wanted },
        })
    })
}
