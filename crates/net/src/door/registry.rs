//! Who is in, and how many may be.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use webpki::CertRevocationList;

use super::Limits;
use super::passport::Passport;
use crate::identity::DeviceName;
use crate::status::{ConnectionRefusal, Metrics};

/// Everybody who has a place.
pub(super) struct Registry {
    limits: Limits,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    places: usize,
    places_ever: u64,
    /// Those who have not yet said who they are, by address.
    unknown: BTreeMap<IpAddr, usize>,
    /// Each device's connections, oldest first. Those that were cut are no longer among them.
    devices: BTreeMap<DeviceName, Vec<Live>>,
    revoked: Option<CertRevocationList<'static>>,
}

struct Live {
    id: u64,
    passport: Passport,
    cut: oneshot::Sender<()>,
}

/// A list that cannot be searched revokes everybody: better nobody than the wrong one.
fn is_on(list: &CertRevocationList<'_>, passport: &Passport) -> bool {
    !matches!(list.find_serial(&passport.serial), Ok(None))
}

impl Registry {
    pub(super) fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self { limits, metrics, state: Mutex::default() }
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    pub(super) fn count(&self, refusal: ConnectionRefusal) {
        self.metrics.connections_refused.add(refusal);
    }

    /// A place for somebody who has yet to say who it is.
    pub(super) fn arrive(self: &Arc<Self>, address: IpAddr) -> Result<Place, ConnectionRefusal> {
        let network = network(address);
        let mut state = self.locked();
        if state.places >= self.limits.connections_max {
            return Err(ConnectionRefusal::Full);
        }
        let unknown = state.unknown.entry(network).or_default();
        if *unknown >= self.limits.unknown_per_address_max {
            return Err(ConnectionRefusal::Address);
        }
        *unknown += 1;
        state.places += 1;
        Ok(Place { registry: Arc::clone(self), holder: Holder::Unknown(network) })
    }

    /// From now on this is the list; cuts those who are on it, and says how many.
    pub(super) fn revoke(&self, list: CertRevocationList<'static>) -> usize {
        let mut state = self.locked();
        let gone = |live: &Live| is_on(&list, &live.passport);
        let cut = self.cut(&mut state.devices, gone, ConnectionRefusal::Revoked);
        state.revoked = Some(list);
        cut
    }

    /// Cuts those whose certificate has expired by now, and says how many.
    pub(super) fn expire(&self, now_unix_secs: i64) -> usize {
        let gone = |live: &Live| live.passport.not_after_unix_secs < now_unix_secs;
        self.cut(&mut self.locked().devices, gone, ConnectionRefusal::Expired)
    }

    fn cut(
        &self,
        devices: &mut BTreeMap<DeviceName, Vec<Live>>,
        gone: impl Fn(&Live) -> bool,
        why: ConnectionRefusal,
    ) -> usize {
        let mut cut = 0;
        devices.retain(|_, lives| {
            for live in lives.extract_if(.., |live| gone(live)) {
                // One that has just ended by itself does not listen any more.
                let _ = live.cut.send(());
                self.count(why);
                cut += 1;
            }
            !lives.is_empty()
        });
        cut
    }

    /// Nothing in here panics half-way, so what another thread left is whole.
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place at the server, given up when dropped.
pub(super) struct Place {
    registry: Arc<Registry>,
    holder: Holder,
}

enum Holder {
    /// At that address, and has not said who it is.
    Unknown(IpAddr),
    Device(DeviceName, u64),
    /// On this machine, and nobody asks.
    Plain,
}

impl Place {
    /// It has said who it is; what is received is that the connection must end.
    pub(super) fn admit(&mut self, passport: Passport) -> Result<oneshot::Receiver<()>, ConnectionRefusal> {
        let registry = Arc::clone(&self.registry);
        let mut state = registry.locked();
        // The list may have changed while it was being asked.
        if state.revoked.as_ref().is_some_and(|list| is_on(list, &passport)) {
            return Err(ConnectionRefusal::Revoked);
        }
        let name = passport.caller.name.clone();
        state.places_ever += 1;
        let id = state.places_ever;
        let (cut, until) = oneshot::channel();
        let lives = state.devices.entry(name.clone()).or_default();
        lives.push(Live { id, passport, cut });
        if lives.len() > registry.limits.per_device_max {
            // A device that comes back must not be kept out by connections that it has long lost.
            let _ = lives.remove(0).cut.send(());
            registry.count(ConnectionRefusal::Superseded);
        }
        self.become_known(&mut state, Holder::Device(name, id));
        Ok(until)
    }

    /// On this machine, where nobody asks.
    pub(super) fn admit_plain(&mut self) {
        let registry = Arc::clone(&self.registry);
        self.become_known(&mut registry.locked(), Holder::Plain);
    }

    fn become_known(&mut self, state: &mut State, holder: Holder) {
        self.leave(state);
        self.holder = holder;
        self.registry.metrics.connections_open.add(1.0);
    }

    /// What its holder occupies, except for the place itself.
    fn leave(&self, state: &mut State) {
        match &self.holder {
            Holder::Unknown(network) => {
                let unknown = state.unknown.entry(*network).or_default();
                *unknown = unknown.saturating_sub(1);
                if *unknown == 0 {
                    state.unknown.remove(network);
                }
            }
            Holder::Device(name, id) => {
                if let Some(lives) = state.devices.get_mut(name) {
                    lives.retain(|live| live.id != *id);
                    if lives.is_empty() {
                        state.devices.remove(name);
                    }
                }
                self.registry.metrics.connections_open.add(-1.0);
            }
            Holder::Plain => self.registry.metrics.connections_open.add(-1.0),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.registry.locked();
        self.leave(&mut state);
        state.places = state.places.saturating_sub(1);
    }
}

/// Whoever has one address of IPv6 has the 2^64 beside it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address @ IpAddr::V4(_) => address,
    }
}
