//! The slots of devices: those of before a restart, and those of devices that enrol later.

use super::Server;
use super::member::Silence;
use crate::coin::CoinPublic;
use crate::door::Caller;
use crate::error::NetError;
use crate::state::{EnrolledDevice, RunState, STATE};

impl Server {
    /// Gives devices that enrolled before a restart their slots again; from now on other devices may enrol. A run that
    /// follows pilots starts with the devices of the pilots.
    pub fn restore(&self, devices: &[EnrolledDevice]) -> Result<(), NetError> {
        let mut state = self.hub.state();
        for device in devices {
            let damaged = |problem| NetError::damaged(STATE, format!("device {}: {problem}", device.slot));
            let name = device.name.parse().map_err(|_| damaged("its name is not valid"))?;
            let coin = CoinPublic::from_bytes(device.coin).ok_or_else(|| damaged("its coin is not valid"))?;
            if state.seat(&Caller { name, coin }, |_| device.clone()) != Ok(device.slot) {
                return Err(damaged("its place is taken"));
            }
        }
        // Rounds are counted anew: answers to a pilot belong to other rounds.
        for member in &mut state.members {
            (member.silence, member.evaluating) = (Silence::default(), Silence::default());
        }
        state.open = true;
        Ok(())
    }
}

/// Stores devices that have enrolled since the last call; `first` is called before each is stored.
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
