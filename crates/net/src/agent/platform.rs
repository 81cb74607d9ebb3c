//! What an agent takes from the machine it runs on: a way to the server, a place to compute, and random numbers.
//!
//! A simulation replaces all three, so that agents run on its clock and its network, the same way twice.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;

use hyper_util::rt::TokioIo;
use rand_core::RngCore;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinError;
use tonic::transport::{Channel, Endpoint};

/// The machine of an agent.
#[derive(Clone, Debug)]
pub struct Platform {
    /// How the agent reaches its server.
    pub transport: Transport,
    /// Where training runs.
    pub compute: Compute,
    /// The seed of the agent's random waits: no two devices may share it.
    pub waits_seed: u64,
}

impl Platform {
    /// Sockets, threads and random numbers of the system.
    pub fn of_this_machine() -> Self {
        let waits_seed = rand_core::OsRng.next_u64();
        Self { transport: Transport::Tcp, compute: Compute::Thread, waits_seed }
    }
}

/// How an agent reaches its server.
#[derive(Clone)]
pub enum Transport {
    /// Over sockets: with TLS, or in plain text to a server on the same machine.
    Tcp,
    /// Over connections that somebody else makes and vouches for; the agent adds no TLS.
    Given(Arc<dyn Connector>),
}

impl fmt::Debug for Transport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Tcp => "Tcp",
            Self::Given(_) => "Given",
        })
    }
}

/// Makes connections to one server.
pub trait Connector: Send + Sync {
    /// One more connection; the old ones stay as they are.
    fn connect(&self) -> Connecting;
}

/// A connection that is being made.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Line>>> + Send>>;

/// Bytes in both directions.
pub trait Line: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Line for T {}

/// A channel to a server over somebody else's connections.
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

/// Where an agent computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compute {
    /// On a thread of its own, so that a long training holds up nothing else.
    Thread,
    /// At once and in place: on a simulated clock a computation takes no time of its own.
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
