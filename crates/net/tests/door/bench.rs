//! A door on loopback whose every guest is answered with what it says, and clients that knock.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fedflip_net::door::{Door, Limits, Peer, Security};
use fedflip_net::identity::Store;
use fedflip_net::identity::mint::Validity;
use fedflip_net::status::Metrics;
use futures_util::StreamExt;
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tonic::transport::server::Connected;

/// What a client shows; kept, so that it could resume a session.
pub(crate) type Client = Arc<ClientConfig>;

pub(crate) fn now_unix_secs() -> i64 {
    UnixTime::now().as_secs() as i64
}

pub(crate) fn validity() -> Validity {
    Validity { now_unix_secs: now_unix_secs(), days: 30 }
}

/// Looks at its files all the time.
pub(crate) fn quick() -> Limits {
    Limits { look_every: Duration::from_millis(50), ..Limits::default() }
}

/// A door that is served, and the authority it obeys.
pub(crate) struct Bench {
    pub(crate) address: SocketAddr,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) store: Store,
    peers: mpsc::UnboundedReceiver<Peer>,
    desk: TempDir,
}

impl Bench {
    pub(crate) async fn open(limits: Limits) -> Self {
        let desk = tempfile::tempdir().unwrap();
        let store = Store::create(desk.path(), &["localhost".to_owned()], validity()).unwrap();
        let metrics = Arc::new(Metrics::default());
        let door = door(desk.path(), limits, &metrics).await;
        Self::served(door, metrics, store, desk)
    }

    /// A door of another authority, or of none.
    pub(crate) fn around(door: Door, metrics: Arc<Metrics>) -> Self {
        let desk = tempfile::tempdir().unwrap();
        let store = Store::create(desk.path(), &["localhost".to_owned()], validity()).unwrap();
        Self::served(door, metrics, store, desk)
    }

    fn served(door: Door, metrics: Arc<Metrics>, store: Store, desk: TempDir) -> Self {
        let address = door.local_addr();
        let (sender, peers) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut guests = pin!(door.into_stream());
            while let Some(guest) = guests.next().await {
                let mut guest = guest.unwrap();
                let _ = sender.send(guest.connect_info());
                tokio::spawn(async move {
                    let mut bytes = [0; 64];
                    while let Ok(read @ 1..) = guest.read(&mut bytes).await {
                        if guest.write_all(&bytes[..read]).await.is_err() || guest.flush().await.is_err() {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, metrics, store, peers, desk }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.desk.path()
    }

    pub(crate) fn device(&mut self, name: &str) -> PathBuf {
        self.store.device(&name.parse().unwrap(), validity()).unwrap()
    }

    /// A second door of the same authority.
    pub(crate) async fn second_door(&self) -> Door {
        door(self.folder(), Limits::default(), &Arc::new(Metrics::default())).await
    }

    /// A second door of the same authority, served.
    pub(crate) async fn another(&self) -> Self {
        let metrics = Arc::new(Metrics::default());
        Self::around(door(self.folder(), Limits::default(), &metrics).await, metrics)
    }

    /// The next who came in.
    pub(crate) async fn peer(&mut self) -> Peer {
        tokio::time::timeout(Duration::from_secs(10), self.peers.recv()).await.unwrap().unwrap()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// A connection over which something was said and answered.
    pub(crate) async fn call(&self, client: &Client) -> io::Result<TlsStream<TcpStream>> {
        let name = ServerName::try_from("localhost").unwrap();
        let mut stream = TlsConnector::from(Arc::clone(client)).connect(name, self.connect().await).await?;
        echo(&mut stream).await?;
        Ok(stream)
    }

    /// A client that trusts our server and shows no certificate.
    pub(crate) fn anonymous(&self) -> Client {
        Arc::new(trusting(&self.folder().join("ca.pem")).with_no_client_auth())
    }

    /// The folder of an identity by our authority that is good for clients, and names no device.
    pub(crate) fn nameless(&self) -> PathBuf {
        let read = |name: &str| fs::read_to_string(self.folder().join(name)).unwrap();
        let authority =
            Issuer::from_ca_cert_pem(&read("ca.pem"), KeyPair::from_pem(&read("ca.key")).unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["phone.example".to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.use_authority_key_identifier_extension = true;
        let folder = self.folder().join("nameless");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("cert.pem"), params.signed_by(&key, &authority).unwrap().pem()).unwrap();
        fs::write(folder.join("key.pem"), key.serialize_pem()).unwrap();
        fs::write(folder.join("ca.pem"), read("ca.pem")).unwrap();
        folder
    }
}

async fn door(folder: &Path, limits: Limits, metrics: &Arc<Metrics>) -> Door {
    let security = Security::MutualTls { certs_folder: folder.to_owned() };
    Door::open("127.0.0.1:0".parse().unwrap(), security, limits, Arc::clone(metrics)).await.unwrap()
}

fn trusting(
    authority: &Path,
) -> tokio_rustls::rustls::ConfigBuilder<ClientConfig, tokio_rustls::rustls::client::WantsClientCert> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority).unwrap()).unwrap();
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
}

/// A client that shows the identity in this folder.
pub(crate) fn client(folder: &Path) -> Client {
    let certificate = CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.join("key.pem")).unwrap();
    let config = trusting(&folder.join("ca.pem")).with_client_auth_cert(vec![certificate], key);
    Arc::new(config.unwrap())
}

/// Says something and waits for the answer.
pub(crate) async fn echo(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    let conversation = async {
        stream.write_all(b"hello").await?;
        stream.flush().await?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await?;
        assert_eq!(&answer, b"hello");
        Ok(())
    };
    tokio::time::timeout(Duration::from_secs(10), conversation).await.expect("neither answered nor refused")
}

/// Within ten seconds.
pub(crate) async fn eventually(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never happens: {what}");
}
