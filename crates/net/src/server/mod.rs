//! The server: its devices, its rounds and their commits.
//!
//! # Layout
//!
//! - here: a server that listens, on a runtime of its own or in given [`Surroundings`].
//! - `hub`: the state that calls and the round loop share; `exchange`: models and updates in it; `member`: a device of
//!   the fleet; `newcomers`: devices that are about to enrol; `capacity`: their number; `round`: a round in progress; `grant`: a device's
//!   bandwidth in it; `transfer`: its download.
//! - `service`: the calls of devices; `attend`: the call that stays open; `intake`: uploads; `download`: models;
//!   `probe`: timed transfers; `probe_queue`: their order.
//! - `departures`: devices that leave for good; `watching`: the status of devices for operators.
//! - `counts`: sample counts that nobody else can check.
//! - `rate`: limits calls; `journal`: limits lines in the log; `norms`: limits the norms of updates.
//! - `world`: the world behind the engine's round loop; `events`: its events; `clock`: its clock; `window`: its window
//!   for coins; `cycle`: the server's own time in a round; `uplink`: the sizes and times of uploads; `quorum`: waits for enough devices; `timeouts`: the limits of waits; `review`: benches devices.
//! - `evaluation`: evaluations on devices; `estimate`: metrics of the fleet from their reports.
//! - [`deploy`]: the settings of a run; `deployed_run`: its plans and rounds; `restore`: what it resumes with;
//!   `enrolment`: its devices; [`planning`]: its plans; `commit`: commits its rounds.

mod attend;
mod capacity;
mod clock;
mod commit;
mod counts;
mod cycle;
mod departures;
pub mod deploy;
mod deployed_run;
mod download;
mod enrolment;
mod estimate;
mod evaluation;
mod events;
mod exchange;
mod grant;
mod hub;
mod intake;
mod journal;
mod member;
mod newcomers;
mod norms;
pub mod planning;
mod probe;
mod probe_queue;
mod quorum;
mod rate;
mod refusals;
mod restore;
mod review;
mod round;
mod service;
mod timeouts;
mod transfer;
mod uplink;
mod watching;
mod window;
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fedflip_fleet::{ModelVector, Weights};
use fedflip_learn::Encoding;
use futures_util::Stream;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tonic::transport::server::Connected;

use self::exchange::OfferedModel;
use self::hub::Hub;
use self::norms::NormGuard;
use self::service::Service;
use crate::door::{Door, Limits, Peer, RevokedNames, Security};
use crate::error::NetError;
use crate::measure::Signals;
use crate::status::{Health, Metrics, Reach, Readiness, StatusServer};
use crate::wire::ByteStream;
use crate::wire::limits::{CALLS_AT_ONCE_MAX, KEEP_ALIVE, MESSAGE_BYTES_MAX, WINDOW_BYTES};
use crate::wire::sums::DeclaredSums;
use crate::wire::task::OfferedTask;
use crate::wire::v1::federation_server::FederationServer;

pub use capacity::FleetCapacity;
pub use deploy::{Callbacks, Deployment, Ended, Evaluate, Observer, PlanStart};
pub use norms::NormBound;
pub use planning::Planned;
pub use timeouts::Timeouts;

const HEADER_BYTES_MAX: u32 = 16 << 10;
/// Devices have this long to leave when the run is over.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(2);
/// The same while some of them fetch the model.
const FETCH_TIME_MAX: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub struct ServerSettings {
    pub listen: SocketAddr,
    pub security: Security,
    pub limits: Limits,
    /// The address of metrics and health, if they are served.
    pub status: Option<(SocketAddr, Reach)>,
}

#[derive(Clone, Debug)]
pub struct Offer {
    pub task: OfferedTask,
    pub seed: u64,
    pub parameters: usize,
    /// The number of samples at each slot, as far as the server knows.
    pub samples: Arc<[u64]>,
    /// The most samples that a device may claim where the server does not know their number.
    pub samples_max: u64,
    /// What aggregation weights are proportional to.
    pub weights: Weights,
    /// f_tot: a timed transfer uses all of it.
    pub bandwidth_mbps: f64,
    pub encoding: Encoding,
    /// The encoding in which devices get the models of rounds.
    pub download_encoding: Encoding,
    /// The signal-to-noise ratios of devices, where the band is spectrum.
    pub signals: Signals,
    /// Bounds the norm of updates before devices have sent any.
    pub update_norm: NormBound,
    pub capacity: FleetCapacity,
}

/// A server can serve any connection that carries bytes in both directions and knows its peer.
pub trait Wire: ByteStream + Connected<ConnectInfo = Peer> + 'static {}

impl<T: ByteStream + Connected<ConnectInfo = Peer> + 'static> Wire for T {}

/// A server takes its clock and its network from its surroundings; a simulation has its own.
pub struct Surroundings<S> {
    /// It runs the server's tasks, and its clock is the server's clock. On a single-threaded runtime the round loop
    /// drives all tasks whenever it waits, so that a whole deployment fits one thread.
    pub runtime: Arc<Runtime>,
    /// Devices find the server at this address.
    pub address: SocketAddr,
    /// Devices connect over this stream of connections.
    pub incoming: S,
}

/// A server that devices can call.
pub struct Server {
    runtime: Arc<Runtime>,
    hub: Arc<Hub>,
    health: Arc<Health>,
    address: SocketAddr,
    status: Option<StatusServer>,
    update_bytes: u64,
    download_encoding: Encoding,
    probe_mbps: f64,
    signals: Signals,
    weights: Weights,
    norms: Arc<NormGuard>,
    revoked: Arc<RevokedNames>,
    stop: Option<oneshot::Sender<()>>,
}

impl Server {
    /// Listens from now on; a [`Deployment`] runs rounds.
    pub fn start(settings: &ServerSettings, offer: &Offer) -> Result<Self, NetError> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().thread_name("fedflip-net").enable_all().build();
        let runtime = Arc::new(runtime.map_err(NetError::system("the server's runtime cannot be started"))?);
        let (metrics, health) = (Arc::new(Metrics::default()), Arc::new(Health::default()));
        let opening =
            Door::open(settings.listen, settings.security.clone(), settings.limits, Arc::clone(&metrics));
        let door = runtime.block_on(opening)?;
        let status = match settings.status {
            Some((address, reach)) => {
                let (metrics, health) = (Arc::clone(&metrics), Arc::clone(&health));
                Some(StatusServer::serve(runtime.handle(), address, reach, metrics, health)?)
            }
            None => None,
        };
        let (address, revoked) = (door.local_addr(), door.revoked_names());
        let surroundings = Surroundings { runtime, address, incoming: door.into_stream() };
        let mut server = Self::serve(surroundings, metrics, health, offer);
        (server.status, server.revoked) = (status, revoked);
        Ok(server)
    }

    /// Serves devices with a clock and a network that are given; see [`Server::start`] for the real ones.
    pub fn start_in<C: Wire>(
        surroundings: Surroundings<impl Stream<Item = std::io::Result<C>> + Send + 'static>,
        offer: &Offer,
    ) -> Self {
        Self::serve(surroundings, Arc::default(), Arc::default(), offer)
    }

    fn serve<C: Wire>(
        surroundings: Surroundings<impl Stream<Item = std::io::Result<C>> + Send + 'static>,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
        offer: &Offer,
    ) -> Self {
        let Surroundings { runtime, address, incoming } = surroundings;
        let hub = Arc::new(Hub::new(offer.capacity, DeclaredSums::of_task(&offer.task), metrics));
        let norms = Arc::new(NormGuard::new(offer.update_norm));
        hub.metrics.ask_for_devices(hub.fleet_source());
        let service = Service::new(Arc::clone(&hub), offer.clone(), Arc::clone(&norms));
        let service = FederationServer::new(service)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let serving = tonic::transport::Server::builder()
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE))
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_concurrent_streams(CALLS_AT_ONCE_MAX)
            .http2_max_header_list_size(HEADER_BYTES_MAX)
            .add_service(service);
        let (stop, stopped) = oneshot::channel::<()>();
        runtime.spawn(async move {
            let stopped = async {
                // A sender that was dropped means the same.
                let _ = stopped.await;
            };
            if let Err(error) = serving.serve_with_incoming_shutdown(incoming, stopped).await {
                tracing::error!(%error, "the server has stopped listening");
            }
        });
        let update_bytes = offer.update_bytes() as u64;
        Self {
            runtime,
            hub,
            health,
            address,
            status: None,
            update_bytes,
            download_encoding: offer.download_encoding,
            probe_mbps: offer.bandwidth_mbps,
            signals: offer.signals.clone(),
            weights: offer.weights.clone(),
            norms,
            revoked: Arc::default(),
            stop: Some(stop),
        }
    }

    /// The address with the real port, also where port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn status_address(&self) -> Option<SocketAddr> {
        self.status.as_ref().map(StatusServer::address)
    }

    pub fn metrics(&self) -> &Arc<Metrics> {
        &self.hub.metrics
    }

    pub fn health(&self) -> &Arc<Health> {
        &self.health
    }

    /// Waits until something changes at the hub, or `until`. The runtime itself waits, because its handle would not
    /// drive the tasks and timers of a single-threaded runtime.
    fn wait(&self, until: Instant) {
        self.runtime.block_on(self.hub.changed_or(until));
    }

    /// Tells devices that the run is over, and waits a moment until they have left, or have fetched its model.
    pub fn finish(&self, model: Option<ModelVector>) {
        self.health.set(Readiness::Stopping);
        let model = model.map(|model| OfferedModel::new(&Arc::new(model)));
        self.hub.state().finish(model);
        let heard = async {
            // A device that does not leave soon is not waited for. One that does not read is given up on.
            let start = Instant::now();
            loop {
                let (attending, fetching) = {
                    let state = self.hub.state();
                    let fetching = state.model.as_ref().is_some_and(|model| !model.bytes.is_unique());
                    (state.attending(), fetching)
                };
                let wait = if fetching { FETCH_TIME_MAX } else { LEAVE_TIME_MAX };
                if attending == 0 || start.elapsed() > wait {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        self.runtime.block_on(heard);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // A listener that has ended does not need to be told.
            let _ = stop.send(());
        }
    }
}
