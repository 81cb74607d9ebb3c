//! Devices and their places: as they were before a restart, and as more of them come.

use super::Server;
use super::member::Silence;
use super::quorum::{self, Quorum};
use crate::coin::CoinPublic;
use crate::door::Caller;
use crate::error::NetError;
use crate::state::{EnrolledDevice, RunState, STATE};

impl Server {
    /// Those who enrolled before a restart have their places; from now on others may come. Where pilots come before
    /// a run, its devices are the ones to begin with: those of the pilots are the same, as far as they came.
    pub fn restore(&self, devices: &[EnrolledDevice]) -> Result<(), NetError> {
        let mut state = self.hub.state();
        for device in devices {
            let damaged = |problem| NetError::damaged(STATE, format!("device {}: {problem}", device.slot));
            let name = device.name.parse().map_err(|_| damaged("its name is not one"))?;
            let coin = CoinPublic::from_bytes(device.coin).ok_or_else(|| damaged("its coin is not one"))?;
            if state.enrol(&Caller { name, coin }, |_| device.clone()) != Ok(device.slot) {
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
    server.hub.metrics.devices_enrolled.set(enrolled as f64);
    for slot in kept.len()..enrolled {
        let device = server.hub.state().members[slot].device.clone();
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
    quorum::gather(server, "waiting for devices to enrol", || {
        Ok(match count()? {
            enrolled if enrolled >= wanted => Quorum::Reached,
            _ if stop() => Quorum::Cancelled,
            enrolled => Quorum::Missing { there: enrolled, wanted },
        })
    })
}
