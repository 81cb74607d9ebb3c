//! The connections of the server, and their limits.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use webpki::CertRevocationList;

use super::device_certificate::DeviceCertificate;
use super::waiting::Waiting;
use super::{EXPIRES_SOON_SECS, Limits};
use crate::identity::DeviceName;
use crate::status::{ConnectionRefusal, Metrics};

/// The log repeats this often that a device's certificate is about to expire.
const EXPIRY_TOLD_EVERY_SECS: i64 = 86_400;

pub(super) struct Registry {
    pub(super) limits: Limits,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    pub(super) revoked_names: Arc<RevokedNames>,
}

/// The names of revoked devices, as far as the server has learnt them: certificates are revoked by number.
#[derive(Debug, Default)]
pub struct RevokedNames(Mutex<BTreeSet<String>>);

impl RevokedNames {
    pub fn add(&self, names: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
    }

    pub fn contains(&self, name: &str) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

#[derive(Default)]
struct State {
    places: usize,
    places_ever: u64,
    /// The handshakes in progress, by address block.
    waiting: Waiting,
    /// Each device's connections, the oldest first, without those that were cut.
    devices: BTreeMap<DeviceName, Vec<Live>>,
    revoked: Option<CertRevocationList<'static>>,
    /// When the log said last that a device's certificate is about to expire.
    expiry_told_unix_secs: BTreeMap<DeviceName, i64>,
}

struct Live {
    id: u64,
    device_certificate: DeviceCertificate,
    cut: oneshot::Sender<()>,
}

/// A list that cannot be searched revokes all devices: that is safer than to admit a revoked one.
fn is_on(list: &CertRevocationList<'_>, device_certificate: &DeviceCertificate) -> bool {
    !matches!(list.find_serial(&device_certificate.serial), Ok(None))
}

impl Registry {
    pub(super) fn new(limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self { limits, metrics, state: Mutex::default(), revoked_names: Arc::default() }
    }

    pub(super) fn count(&self, refusal: ConnectionRefusal) {
        self.metrics.connections_refused.add(refusal);
    }

    /// The number of handshakes in progress.
    pub(super) fn waiting(&self) -> usize {
        self.locked().waiting.len()
    }

    /// A place for a new handshake. Without a free place another handshake gives way; authenticated devices do not.
    pub(super) fn arrive(self: &Arc<Self>, address: IpAddr) -> Result<Arrival, ConnectionRefusal> {
        let mut state = self.locked();
        let is_full = state.places >= self.limits.connections_max;
        if is_full || state.waiting.len() >= self.limits.handshakes_max {
            if state.waiting.make_room() {
                self.count(ConnectionRefusal::Crowded);
                state.places = state.places.saturating_sub(1);
            } else if is_full {
                return Err(ConnectionRefusal::Full);
            }
        }
        let within = self.limits.handshake_within(state.waiting.len());
        let (id, give_way) = state.waiting.come(address);
        state.places += 1;
        let place = Place { registry: Arc::clone(self), holder: Holder::Unknown(id) };
        Ok(Arrival { place, within, give_way })
    }

    /// Replaces the list of revoked certificates and cuts the devices on it. Returns their number.
    pub(super) fn revoke(&self, list: CertRevocationList<'static>) -> usize {
        let mut state = self.locked();
        let gone = |live: &Live| is_on(&list, &live.device_certificate);
        let named = state.devices.iter().filter(|(_, lives)| lives.iter().any(gone));
        self.revoked_names.add(named.map(|(name, _)| name.to_string()));
        let cut = self.cut(&mut state.devices, gone, ConnectionRefusal::Revoked);
        state.revoked = Some(list);
        cut
    }

    /// Cuts devices whose certificate has expired. Returns their number.
    pub(super) fn expire(&self, now_unix_secs: i64) -> usize {
        let gone = |live: &Live| live.device_certificate.not_after_unix_secs < now_unix_secs;
        self.cut(&mut self.locked().devices, gone, ConnectionRefusal::Expired)
    }

    /// Connected devices whose certificate is about to expire; each of them once a day.
    pub(super) fn expiring(&self, now_unix_secs: i64) -> Vec<String> {
        let State { devices, expiry_told_unix_secs, .. } = &mut *self.locked();
        expiry_told_unix_secs.retain(|_, told| now_unix_secs.saturating_sub(*told) < EXPIRY_TOLD_EVERY_SECS);
        let mut due = Vec::new();
        for (name, lives) in devices {
            // The newest connection has the newest certificate.
            let until = lives.last().map(|live| live.device_certificate.not_after_unix_secs);
            let is_due = until.is_some_and(|until| until < now_unix_secs.saturating_add(EXPIRES_SOON_SECS));
            if is_due && !expiry_told_unix_secs.contains_key(name) {
                expiry_told_unix_secs.insert(name.clone(), now_unix_secs);
                due.push(name.to_string());
            }
        }
        due
    }

    pub(super) fn metrics(&self) -> &Metrics {
        &self.metrics
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
                // A connection that has just ended does not listen any more.
                let _ = live.cut.send(());
                self.count(why);
                cut += 1;
            }
            !lives.is_empty()
        });
        cut
    }

    /// No code panics while it changes the state, so a poisoned lock still guards a consistent state.
    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A handshake in progress, with its place at the server.
pub(super) struct Arrival {
    pub(super) place: Place,
    /// The time for the handshake.
    pub(super) within: Duration,
    /// Resolves when the handshake must make room for another one.
    pub(super) give_way: oneshot::Receiver<()>,
}

/// A place at the server, freed when it is dropped.
pub(super) struct Place {
    pub(super) registry: Arc<Registry>,
    holder: Holder,
}

enum Holder {
    /// A handshake in progress.
    Unknown(u64),
    Device(DeviceName, u64),
    /// A peer on this machine, which is not authenticated.
    Plain,
}

impl Place {
    /// Admits an authenticated device, or, without a certificate, a peer on this machine. The receiver of a device resolves
    /// when its connection must end.
    pub(super) fn admit(
        &mut self,
        device: Option<DeviceCertificate>,
    ) -> Result<Option<oneshot::Receiver<()>>, ConnectionRefusal> {
        let registry = Arc::clone(&self.registry);
        let mut state = registry.locked();
        // The list may have changed during the handshake.
        if state.revoked.as_ref().zip(device.as_ref()).is_some_and(|(list, device)| is_on(list, device)) {
            return Err(ConnectionRefusal::Revoked);
        }
        if !self.leave(&mut state) {
            return Err(ConnectionRefusal::Crowded);
        }
        registry.metrics.connections_open.add(1.0);
        let Some(device_certificate) = device else {
            self.holder = Holder::Plain;
            return Ok(None);
        };
        let name = device_certificate.caller.name.clone();
        state.places_ever += 1;
        let id = state.places_ever;
        let (cut, until) = oneshot::channel();
        let lives = state.devices.entry(name.clone()).or_default();
        lives.push(Live { id, device_certificate, cut });
        if lives.len() > registry.limits.per_device_max {
            // Connections that a device has lost must not keep it out.
            let _ = lives.remove(0).cut.send(());
            registry.count(ConnectionRefusal::Superseded);
        }
        self.holder = Holder::Device(name, id);
        Ok(Some(until))
    }

    /// Frees the holder's entries, except for the place itself. Returns false if another handshake has the place by now.
    fn leave(&self, state: &mut State) -> bool {
        match &self.holder {
            Holder::Unknown(id) => return state.waiting.go(*id),
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
        true
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.registry.locked();
        if self.leave(&mut state) {
            state.places = state.places.saturating_sub(1);
        }
    }
}
