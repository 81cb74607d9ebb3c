//! The resources of the machine that an agent runs on: connections, threads and random numbers.
//!
//! A simulation replaces all three, so that agents run on its clock and its network, reproducibly.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rand_core::RngCore;
use tokio::task::JoinError;
use tonic::transport::{Channel, Endpoint};

pub use crate::wire::ByteStream;

/// A platform gives an agent the resources of a machine.
#[derive(Clone)]
pub struct Platform {
    pub transport: Transport,
    pub compute: Compute,
    /// This seeds the agent's random waits; no two devices may share it.
    pub waits_seed: u64,
}

impl Platform {
    /// Takes sockets, threads and random numbers from the system.
    pub fn of_this_machine() -> Self {
        let waits_seed = rand_core::OsRng.next_u64();
        Self { transport: Transport::Tcp, compute: Compute::Thread, waits_seed }
    }
}

/// An agent reaches its server in one of these ways.
#[derive(Clone)]
pub enum Transport {
    /// The agent opens sockets itself: with TLS, or in plain text to a server on the same machine.
    Tcp,
    /// Somebody else makes the connections and vouches for them; the agent adds no TLS.
    Given(Arc<dyn Connector>),
}

/// A connector makes connections to one server.
pub trait Connector: Send + Sync {
    /// Makes one more connection, and leaves the old ones as they are.
    fn connect(&self) -> Connecting;
}

/// This resolves to a connection, or to an error.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn ByteStream>>> + Send>>;

/// Opens a channel to a server over the connections of a connector.
pub async fn channel(
    endpoint: &Endpoint,
    connector: &Arc<dyn Connector>,
) -> Result<Channel, tonic::transport::Error> {
    let connector = Arc::clone(connector);
    let connect = move |_: http::Uri| {
        let connecting = connector.connect();
        async move { connecting.await.map(TokioIo::new) }
    };
    endpoint.connect_with_connector(tower::service_fn(connect)).await
}

/// An agent computes in one of these places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// Training has a thread of its own, so that it holds up nothing else.
    Thread,
    /// Training runs in place: on a simulated clock a computation takes no time of its own.
    Inline,
}

impl Compute {
    pub(super) async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        match self {
            Self::Thread => tokio::task::spawn_blocking(work).await,
            Self::Inline => Ok(work()),
        }
    }
}
