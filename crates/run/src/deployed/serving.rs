//! From the settings of a server to its run.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::Path;
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::door::{Limits, Security};
use fedflip_net::server::{FleetCapacity, Server, ServerSettings, Timeouts};
use fedflip_net::status::Reach;
use fedflip_record::Summary;
use fedflip_scenario::Scenario;
use tracing::{info, warn};

use super::Deployed;
use super::checks::{check_for_devices, refuse_another_folder};
use super::error::DeployError;
use super::evaluator::ForeignEvaluation;
use super::host::Host;
use super::offer::{offer, rehearsed, shares};
use crate::error::RunError;
use crate::session::Session;

/// A scenario and the settings of the server that serves it.
pub struct Serving<'a> {
    /// The settings of the run.
    pub scenario: &'a Scenario,
    /// The run's folder; a run in it is resumed.
    pub out: &'a Path,
    /// The address at which devices connect.
    pub listen: SocketAddr,
    /// How server and devices prove who they are.
    pub security: Security,
    /// Where metrics and health are served, and to whom.
    pub status: Option<(SocketAddr, Reach)>,
    /// Whether α and β are measured on the devices first.
    pub pilots: bool,
    /// Devices that must have enrolled before the first plan; by default all of the scenario.
    pub devices_min: Option<usize>,
    /// The most devices at a time; by default those of the scenario.
    pub devices_max: Option<usize>,
    /// The most samples that a device may claim to hold where its data are its own.
    pub samples_max: u64,
    /// Rounds from one look at the plan to the next; none keeps the first plan.
    pub replan_every: Option<u64>,
    /// How long devices have to flip their coins, in seconds.
    pub window_secs: f64,
    /// The share of the fleet that must be there for a round to be opened.
    pub quorum: f64,
}

/// A run that was served until its end, or until it was to stop.
pub struct Served {
    /// The run so far; none before its first plan.
    pub summary: Option<Summary>,
    /// The server, which tells late devices that the run is over until it is dropped.
    pub server: Server,
}

impl<'a> Serving<'a> {
    /// A server of devices on this machine, without certificates, on a port that the system chooses.
    pub fn on_this_machine(scenario: &'a Scenario, out: &'a Path) -> Self {
        Self {
            scenario,
            out,
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            security: Security::Plain,
            status: None,
            pilots: false,
            devices_min: None,
            devices_max: None,
            samples_max: 10_000_000,
            replan_every: Some(20),
            window_secs: 5.0,
            quorum: 0.5,
        }
    }

    /// Refuses whatever can be refused before the run's folder is made: a server that cannot listen leaves nothing
    /// behind. `evaluates` says whether the caller evaluates models.
    pub fn check(&self, evaluates: bool) -> Result<(), RunError> {
        let wanted = "a number of seconds from 0.001 to 3600";
        in_range("window_secs", self.window_secs, 0.001..=3600.0, wanted)?;
        in_range("quorum", self.quorum, 0.0..=1.0, "a share from 0 to 1")?;
        in_range("samples_max", self.samples_max as f64, 1.0..=1e9, "from 1 to 1000000000")?;
        self.devices_min(self.capacity()?.devices_max)?;
        check_for_devices(self.scenario, evaluates, self.pilots)?;
        refuse_another_folder(self.out)?;
        self.rehearse()
    }

    /// Serves the scenario until the run is over or is to stop. `listening` is called as soon as devices can call. Call
    /// [`Serving::check`] first.
    pub fn run(
        &self,
        evaluation: Option<ForeignEvaluation>,
        session: &mut Session<'_>,
        listening: &mut dyn FnMut(&Server),
    ) -> Result<Served, RunError> {
        let Self { scenario, out, pilots, replan_every, .. } = *self;
        let capacity = self.capacity()?;
        let mut host = Host::new(scenario, session)?;
        if let Some(evaluation) = evaluation {
            host = session.observers.while_working("evaluating the first model", || {
                host.evaluated_by(evaluation, (scenario, out), pilots)
            })?;
        }
        let timeouts = Timeouts {
            window: Duration::from_secs_f64(self.window_secs),
            quorum: self.quorum,
            ..Timeouts::default()
        };
        let devices_min = self.devices_min(capacity.devices_max)?;
        let deployed = Deployed { scenario, host: &host, out, pilots, devices_min, replan_every, timeouts };
        let opened = deployed.open()?;
        let update_norm = host.update_norm(scenario, session)?;
        let offer = offer(scenario, &host, update_norm, (self.samples_max, capacity))?;
        let settings = self.settings(self.listen);
        let server = Server::start(&settings, &offer)?;
        scenario.target().into_iter().for_each(|target| server.metrics().ends_at(target));
        announce(&server, capacity.devices_max, settings.limits.connections_max);
        listening(&server);
        let summary = deployed.run(&server, opened, session)?;
        Ok(Served { summary, server })
    }

    fn settings(&self, listen: SocketAddr) -> ServerSettings {
        let (security, status) = (self.security.clone(), self.status);
        ServerSettings { listen, security, limits: Limits::of_this_process(), status }
    }

    /// Tries the address, then the certificates and the address of the metrics behind a port that nobody knows.
    fn rehearse(&self) -> Result<(), RunError> {
        let address = self.listen;
        if self.security == Security::Plain && !address.ip().is_loopback() {
            return Err(NetError::PlainText { address }.into());
        }
        TcpListener::bind(address).map_err(|source| NetError::Listen { address, source })?;
        let listen = SocketAddr::new(address.ip(), 0);
        Server::start(&self.settings(listen), &rehearsed(self.scenario)?)?;
        Ok(())
    }

    /// How many devices may enrol. Where each slot has its own share of a data set, there are no more slots than shares.
    fn capacity(&self) -> Result<FleetCapacity, DeployError> {
        let devices_max = self.devices_max.unwrap_or_else(|| self.scenario.devices());
        let slots_max = shares(self.scenario);
        let (most, wanted) = match slots_max {
            Some(shares) => (
                shares as f64,
                format!("at most fleet.devices, the number of shares of the data set, which is {shares}"),
            ),
            None => (f64::from(u32::MAX), "at least 1".to_owned()),
        };
        in_range("devices_max", devices_max as f64, 1.0..=most, &wanted)?;
        Ok(FleetCapacity { devices_max, slots_max })
    }

    /// By default the fleet of the scenario: a larger `devices_max` makes room for others, and waits for none of them.
    fn devices_min(&self, devices_max: usize) -> Result<usize, DeployError> {
        let Some(least) = self.devices_min else { return Ok(self.scenario.devices().min(devices_max)) };
        let wanted = format!("from 1 to the number of devices, which is {devices_max}");
        in_range("devices_min", least as f64, 1.0..=devices_max as f64, &wanted)?;
        Ok(least)
    }
}

/// The address that a text stands for.
pub fn address(setting: &'static str, text: &str) -> Result<SocketAddr, DeployError> {
    let found = text.to_socket_addrs().ok().and_then(|mut addresses| addresses.next());
    found.ok_or_else(|| DeployError::BadAddress { setting, text: text.to_owned() })
}

fn in_range(
    setting: &'static str,
    value: f64,
    range: std::ops::RangeInclusive<f64>,
    wanted: &str,
) -> Result<(), DeployError> {
    match range.contains(&value) {
        true => Ok(()),
        false => Err(DeployError::Range { setting, value, wanted: wanted.to_owned() }),
    }
}

fn announce(server: &Server, devices: usize, connections_max: usize) {
    info!(address = %server.address(), devices, connections_max, "listening");
    if connections_max < devices {
        warn!(devices, connections_max, "not all devices can be connected at once: raise `ulimit -n`");
    }
    if let Some(address) = server.status_address() {
        info!(%address, "serving metrics and health");
    }
}
