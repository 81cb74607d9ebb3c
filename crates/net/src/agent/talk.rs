//! The agent's side of each call.

use std::net::SocketAddr;
use std::time::Duration;

use fedflip_learn::Encoding;
use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};

use super::pace::Pace;
use super::platform::{self, Transport};
use super::refusal;
use super::trainer::Trained;
use crate::door::Credentials;
use crate::error::NetError;
use crate::identity::DeviceName;
use crate::plain;
use crate::wire::limits::{KEEP_ALIVE, MESSAGE_BYTES_MAX, PROBE_BYTES_MAX, WINDOW_BYTES};
use crate::wire::numbers::Collector;
use crate::wire::v1;
use crate::wire::v1::federation_client::FederationClient;
use crate::wire::v1::upload_part::{Head, What};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Clone)]
pub(super) struct Talk {
    client: FederationClient<Channel>,
    /// The device's name, where no certificate has it.
    name: Option<DeviceName>,
}

impl Talk {
    /// Connects to the server; without certificates only to one on this machine, unless the connection is given.
    pub(super) async fn connect(
        server: &str,
        transport: &Transport,
        credentials: &Credentials,
    ) -> Result<Self, NetError> {
        let bad_address = |_| NetError::BadServer { server: server.to_owned() };
        let channel = match (transport, &credentials.tls) {
            (Transport::Given(connector), _) => {
                let endpoint = endpoint(format!("http://{server}")).map_err(bad_address)?;
                platform::channel(&endpoint, connector).await
            }
            (Transport::Tcp, Some(tls)) => {
                let endpoint = endpoint(format!("https://{server}")).map_err(bad_address)?;
                endpoint.tls_config(tls.config.clone()).map_err(bad_address)?.connect().await
            }
            (Transport::Tcp, None) => {
                // The checked addresses are called, because the name may have other addresses later.
                let mut addresses = on_this_machine(server).await?.into_iter();
                loop {
                    let Some(address) = addresses.next() else {
                        let problem = "its name has no address".to_owned();
                        return Err(NetError::Unreachable { server: server.to_owned(), problem });
                    };
                    let channel = endpoint(format!("http://{address}")).map_err(bad_address)?.connect().await;
                    if channel.is_ok() || addresses.len() == 0 {
                        break channel;
                    }
                }
            }
        };
        let channel = channel.map_err(|error| refusal::of_connecting(server, &error))?;
        let client = FederationClient::new(channel).max_decoding_message_size(MESSAGE_BYTES_MAX);
        Ok(Self { client, name: credentials.tls.is_none().then(|| credentials.name.clone()) })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(name) = &self.name {
            plain::announce(request.metadata_mut(), name);
        }
        request
    }

    pub(super) async fn hello(&mut self, protocol: u32) -> Result<v1::HelloReply, Status> {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let request = self.request(v1::HelloRequest { protocol, version });
        Ok(self.client.hello(request).await?.into_inner())
    }

    /// A timed transfer, once the server grants the whole bandwidth: an empty part, then the rest at that rate.
    pub(super) async fn probe(&mut self, bytes: usize, mbps: f64) -> Result<v1::ProbeReply, Status> {
        let pace = Pace::new(mbps).ok_or_else(|| Status::invalid_argument("no rate"))?;
        let bytes = bytes.min(PROBE_BYTES_MAX);
        let (sender, parts) = mpsc::channel(1);
        let request = self.request(ReceiverStream::new(parts));
        let mut replies = self.client.probe(request).await?.into_inner();
        let part = |data| v1::ProbePart { data };
        let sending = send_paced(sender, part(Bytes::new()), vec![0; bytes].into(), pace, part);
        let (reply, ()) = tokio::join!(replies.message(), sending);
        reply?.ok_or_else(|| Status::data_loss("no reply"))
    }

    /// Returns the slot that the device has from now on.
    pub(super) async fn enrol(&mut self, request: v1::EnrolRequest) -> Result<u32, Status> {
        let request = self.request(request);
        Ok(self.client.enrol(request).await?.into_inner().slot)
    }

    /// Attends: answers go out, and notices of rounds come in.
    pub(super) async fn attend(
        &mut self,
    ) -> Result<(mpsc::Sender<v1::FromDevice>, tonic::Streaming<v1::ToDevice>), Status> {
        let (answers, outgoing) = mpsc::channel(4);
        let request = self.request(ReceiverStream::new(outgoing));
        let notices = self.client.attend(request).await?.into_inner();
        Ok((answers, notices))
    }

    pub(super) async fn fetch(
        &mut self,
        digest: &[u8],
        encoding: Encoding,
        parameters: usize,
    ) -> Result<Vec<f32>, Status> {
        let request = self.request(v1::FetchRequest { digest: digest.to_vec().into() });
        let mut parts = self.client.fetch(request).await?.into_inner();
        let mut collector = Collector::encoded(encoding, parameters);
        let wrong = |wrong| Status::data_loss(format!("not the model that was asked for: {wrong:?}"));
        while let Some(part) = parts.message().await? {
            collector.push(&part.data).map_err(wrong)?;
        }
        collector.finish(digest).map_err(wrong)
    }

    /// Sends an update at the granted rate. Returns whether the server had it already.
    pub(super) async fn upload(&mut self, grant: &v1::Grant, trained: &Trained) -> Result<bool, Status> {
        let pace = Pace::new(grant.mbps).ok_or_else(|| Status::invalid_argument("no rate"))?;
        let head = Head {
            round: grant.round,
            model_digest: grant.digest.clone(),
            digest: trained.digest.to_vec().into(),
            train_loss: trained.train_loss,
            run: grant.run.clone(),
            samples: trained.samples,
        };
        let (sender, parts) = mpsc::channel(1);
        let message = |what| v1::UploadPart { what: Some(what) };
        let data = |chunk| message(What::Data(chunk));
        let sending = send_paced(sender, message(What::Head(head)), trained.bytes.clone(), pace, data);
        let request = self.request(ReceiverStream::new(parts));
        let (reply, ()) = tokio::join!(self.client.upload(request), sending);
        Ok(reply?.into_inner().repeated)
    }
}

/// Sends `first`, and then the bytes at a pace. Ends early if the server is gone: the call says why.
async fn send_paced<T>(
    sender: mpsc::Sender<T>,
    first: T,
    bytes: Bytes,
    pace: Pace,
    part: impl Fn(Bytes) -> T,
) {
    if sender.send(first).await.is_err() {
        return;
    }
    let (start, mut sent) = (Instant::now(), 0);
    while sent < bytes.len() {
        let end = bytes.len().min(sent + pace.chunk_bytes());
        let chunk = bytes.slice(sent..end);
        sent = end;
        tokio::time::sleep_until(start + pace.leaves_after(sent)).await;
        if sender.send(part(chunk)).await.is_err() {
            return;
        }
    }
}

fn endpoint(uri: String) -> Result<Endpoint, tonic::transport::Error> {
    Ok(Endpoint::from_shared(uri)?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true)
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .tcp_nodelay(true))
}

/// The addresses of a name, if all of them are of this machine.
async fn on_this_machine(server: &str) -> Result<Vec<SocketAddr>, NetError> {
    let found = tokio::net::lookup_host(server).await;
    let found: Vec<SocketAddr> = found
        .map_err(|error| NetError::Unreachable { server: server.to_owned(), problem: error.to_string() })?
        .collect();
    if found.iter().any(|address| !address.ip().is_loopback()) {
        return Err(NetError::NotLoopback { server: server.to_owned() });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn plain_text_stays_on_this_machine() {
        let name: DeviceName = "a".parse().unwrap();
        let credentials = Credentials { coin: plain::coin(&name).unwrap(), name, tls: None };
        let connect =
            async |server| Talk::connect(server, &Transport::Tcp, &credentials).await.err().unwrap();
        let refused = connect("192.0.2.1:7700").await;
        assert!(matches!(&refused, NetError::NotLoopback { .. }) && refused.is_final(), "{refused}");
        let nowhere = connect("no-such-host.invalid:7700").await;
        assert!(matches!(&nowhere, NetError::Unreachable { .. }) && !nowhere.is_final(), "{nowhere}");
    }
}
