//! Why there is no dashboard, and what to do about it.

use std::net::SocketAddr;

/// Why a dashboard cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DashboardError {
    #[error("{text:?} is not an address for a dashboard")]
    Address { text: String },
    #[error("{address} can be reached from other machines")]
    Public { address: SocketAddr },
    /// The system does not let us listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    /// The system gives us no thread or no way to wait for connections.
    #[error("the server does not start: {0}")]
    Start(std::io::Error),
}

impl DashboardError {
    pub fn hint(&self) -> String {
        match self {
            Self::Address { .. } => {
                "write HOST:PORT, such as 127.0.0.1:8080, or a port alone for this machine; \
                                     port 0 takes any that is free"
                    .to_owned()
            }
            Self::Public { address } => format!(
                "serve it at 127.0.0.1:{}, or allow everybody who can reach this machine to watch",
                address.port()
            ),
            Self::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                "another program listens there: choose another port, or 0 for any that is free".to_owned()
            }
            Self::Listen { .. } => {
                "choose an address of this machine and a port above 1023, such as 127.0.0.1:8080".to_owned()
            }
            Self::Start(_) => "run without a dashboard, or end other programs".to_owned(),
        }
    }
}
