//! A simulated network: a link for each device, with a latency, an upload rate and faults of its own.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use fedflip_net::agent::platform::{self, ByteStream, Connecting, Connector};
use fedflip_net::door::Peer;
use futures_util::Stream;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

use crate::device::{Reach, Reaching};
use crate::pipe::{Pipe, Socket, Way};

/// Connections that wait for the server.
const BACKLOG: usize = 1024;

/// What a device's link is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Link {
    /// In one direction.
    pub(crate) latency_secs: f64,
    /// The rate towards the server.
    pub(crate) upload_mbps: f64,
    /// The rate from the server. Without a limit, runs are the same to the byte: hyper dates its answers by the real clock,
    /// so that their length, and with a limit their duration, differs from run to run.
    pub(crate) download_mbps: Option<f64>,
    pub(crate) faults: Faults,
}

impl Default for Link {
    fn default() -> Self {
        Self { latency_secs: 0.01, upload_mbps: 20.0, download_mbps: None, faults: Faults::default() }
    }
}

/// How bad a link is; by default it is not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Faults {
    /// A piece takes longer by up to this share of the latency.
    pub(crate) jitter: f64,
    /// Mean time from one cut to the next.
    pub(crate) cut_every_secs: Option<f64>,
    /// Mean time from one stall to the next, and its mean duration.
    pub(crate) stall_every_secs: Option<(f64, f64)>,
}

/// The network; clones are the same one.
#[derive(Clone)]
pub(crate) struct Network {
    nodes: Arc<Vec<Node>>,
    listener: Arc<Mutex<Option<mpsc::Sender<Socket>>>>,
}

/// A device's place in the network.
struct Node {
    link: Link,
    address: SocketAddr,
    up: Arc<Mutex<Way>>,
    down: Arc<Mutex<Way>>,
    connections: Mutex<Vec<Weak<Mutex<Pipe>>>>,
}

impl Network {
    /// Call it on the runtime whose clock the network is to follow.
    pub(crate) fn new(seed: u64, links: impl IntoIterator<Item = Link>) -> Self {
        let node = |(device, link): (u64, Link)| {
            let way = |direction: u64, mbps| {
                let random = stream(seed, 2 * device + direction);
                let now = Instant::now();
                let (latency, jitter) = (Duration::from_secs_f64(link.latency_secs), link.faults.jitter);
                Arc::new(Mutex::new(Way { latency, jitter, mbps, random, busy_until: now, still_until: now }))
            };
            let address = SocketAddr::from(([10, 0, (device >> 8) as u8, device as u8], 1024));
            let (up, down) = (way(0, Some(link.upload_mbps)), way(1, link.download_mbps));
            Node { link, address, up, down, connections: Mutex::default() }
        };
        let network =
            Self { nodes: Arc::new((0..).zip(links).map(node).collect()), listener: Arc::default() };
        for device in 0..network.nodes.len() {
            tokio::spawn(network.clone().cut_now_and_then(device, stream(seed, 1 << 32 | device as u64)));
            tokio::spawn(network.clone().stall_now_and_then(device, stream(seed, 1 << 33 | device as u64)));
        }
        network
    }

    /// The connections of devices, for a server that takes the place of the one before.
    pub(crate) fn listen(&self) -> impl Stream<Item = io::Result<Socket>> + Send + 'static {
        let (sender, sockets) = mpsc::channel(BACKLOG);
        *self.listener.lock().unwrap() = Some(sender);
        ReceiverStream::new(sockets).map(Ok)
    }

    /// The server's machine is gone: nobody gets through any more.
    pub(crate) fn lose_server(&self) {
        *self.listener.lock().unwrap() = None;
        (0..self.nodes.len()).for_each(|device| self.cut(device));
    }

    /// One more connection of a device, after a round trip.
    pub(crate) async fn connect(&self, device: usize) -> io::Result<Socket> {
        let node = &self.nodes[device];
        let (still_until, latency) = {
            let way = node.up.lock().unwrap();
            (way.still_until, way.latency)
        };
        tokio::time::sleep_until(still_until.max(Instant::now()) + 2 * latency).await;
        let (up, down) = (Pipe::new(&node.up), Pipe::new(&node.down));
        let peer = Peer { address: node.address, caller: None, certificate_until_unix_secs: None };
        let at_server = Socket::new(&up, &down, peer.clone());
        let listener = self.listener.lock().unwrap().clone();
        let refused = |_| io::Error::from(io::ErrorKind::ConnectionRefused);
        listener.ok_or(()).map_err(refused)?.try_send(at_server).map_err(|_| refused(()))?;
        let mut connections = node.connections.lock().unwrap();
        connections.retain(|pipe| pipe.strong_count() > 0);
        connections.extend([&up, &down].map(Arc::downgrade));
        Ok(Socket::new(&down, &up, peer))
    }

    /// Breaks all connections of a device; it may come again.
    pub(crate) fn cut(&self, device: usize) {
        let connections = std::mem::take(&mut *self.nodes[device].connections.lock().unwrap());
        for pipe in connections.iter().filter_map(Weak::upgrade) {
            pipe.lock().unwrap().cut();
        }
    }

    /// From now on a device sends at this rate.
    pub(crate) fn set_upload_mbps(&self, device: usize, mbps: f64) {
        self.nodes[device].up.lock().unwrap().mbps = Some(mbps);
    }

    /// Nothing of a device moves for so long, in either direction. Whatever is on its way comes later.
    pub(crate) fn stall(&self, device: usize, duration: Duration) {
        let node = &self.nodes[device];
        for way in [&node.up, &node.down] {
            way.lock().unwrap().still_until = Instant::now() + duration;
        }
    }

    async fn cut_now_and_then(self, device: usize, mut random: ChaCha8Rng) {
        while let Some(mean_secs) = self.nodes[device].link.faults.cut_every_secs {
            tokio::time::sleep(exponential(mean_secs, &mut random)).await;
            self.cut(device);
        }
    }

    async fn stall_now_and_then(self, device: usize, mut random: ChaCha8Rng) {
        while let Some((mean_secs, mean_duration_secs)) = self.nodes[device].link.faults.stall_every_secs {
            tokio::time::sleep(exponential(mean_secs, &mut random)).await;
            self.stall(device, exponential(mean_duration_secs, &mut random));
        }
    }

    /// A device's way to the server, for an agent.
    pub(crate) fn from(&self, device: usize) -> Arc<Caller> {
        Arc::new(Caller { network: self.clone(), device })
    }
}

/// A device that connects over the network: as an agent, or by hand.
pub(crate) struct Caller {
    network: Network,
    device: usize,
}

impl Connector for Caller {
    fn connect(&self) -> Connecting {
        let (network, device) = (self.network.clone(), self.device);
        Box::pin(async move { Ok(Box::new(network.connect(device).await?) as Box<dyn ByteStream>) })
    }
}

impl Reach for Caller {
    fn connect(&self) -> Reaching {
        let (network, device) = (self.network.clone(), self.device);
        let connector: Arc<dyn Connector> = network.from(device);
        Box::pin(async move {
            let endpoint = Endpoint::from_static("http://server.simulated");
            let channel = platform::channel(&endpoint, &connector).await?;
            let cut: crate::device::Cut = Box::new(move || network.cut(device));
            Ok((channel, cut))
        })
    }
}

/// Random numbers of their own for each purpose.
pub(crate) fn stream(seed: u64, purpose: u64) -> ChaCha8Rng {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(purpose);
    random
}

fn exponential(mean_secs: f64, random: &mut ChaCha8Rng) -> Duration {
    Duration::from_secs_f64(-mean_secs * (1.0 - random.random_range(0.0..1.0_f64)).ln())
}
