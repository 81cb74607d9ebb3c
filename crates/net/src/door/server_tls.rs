//! The server's files, and the TLS configuration that follows from them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use webpki::{CertRevocationList, KeyUsage};

use super::files;
use crate::error::NetError;
use crate::identity::store;

/// The server's side of TLS, and the certificates that it refuses.
pub(super) struct ServerTls {
    pub(super) config: Arc<ServerConfig>,
    pub(super) revoked: CertRevocationList<'static>,
    /// The names of revoked devices, also of those that are away.
    pub(super) revoked_names: Vec<String>,
    /// The last second of the server's certificate.
    pub(super) not_after_unix_secs: i64,
}

/// The modification time and the length of each file; none for a missing file.
pub(super) type Stamp = [Option<(Option<SystemTime>, u64)>; 5];

/// What a server needs of the authority's folder.
pub const SERVER_FILES: [&str; 5] =
    ["ca.pem", "revoked.pem", "server/cert.pem", "server/key.pem", store::REVOKED_NAMES];

fn paths(folder: &Path) -> [PathBuf; 5] {
    SERVER_FILES.map(|name| folder.join(name))
}

/// Changes when a file does. Take it before reading the files, so that a change meanwhile is noticed.
pub(super) fn stamp(folder: &Path) -> Stamp {
    paths(folder).map(|path| {
        let file = path.metadata().ok()?;
        Some((file.modified().ok(), file.len()))
    })
}

/// Reads all files, and refuses them unless they belong together: the list must be the authority's own, and devices must
/// trust the server's certificate.
pub(super) fn load(folder: &Path) -> Result<ServerTls, NetError> {
    let [authority_path, list_path, certificate_path, key_path, _] = paths(folder);
    let authorities = files::certificates(&authority_path)?;
    let (list, revoked) = files::revocations(&list_path)?;
    let chain = files::certificates(&certificate_path)?;
    let key = files::key(&key_path)?;
    files::check(&certificate_path, &chain, &authorities, Some(&revoked), KeyUsage::server_auth())?;
    let not_after_unix_secs = chain.first().and_then(|first| files::not_after_unix_secs(first)).unwrap_or(0);
    let mut roots = RootCertStore::empty();
    for authority in authorities {
        roots.add(authority).map_err(|error| NetError::damaged(&authority_path, error.to_string()))?;
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .with_crls([list])
        .build()
        .map_err(|error| NetError::damaged(&list_path, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(provider)
        // All devices run fedflip, and none needs an older version.
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| NetError::damaged(folder, error.to_string()))?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain, key)
        .map_err(|error| NetError::damaged(&key_path, format!("does not fit cert.pem: {error}")))?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // A resumed session would not show its certificate again, which may be revoked by then.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    let revoked_names = store::revoked_names(folder)?;
    Ok(ServerTls { config: Arc::new(config), revoked, revoked_names, not_after_unix_secs })
}
