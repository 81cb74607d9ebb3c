//! A device that can do anything: the calls of the protocol by hand, honest or not.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{Learner, TrainKey};
use fedflip_net::coin::{CoinKey, Toss};
use fedflip_net::wire::numbers::{digest, to_bytes};
use fedflip_net::wire::v1::federation_client::FederationClient;
use fedflip_net::wire::v1::to_device::What as Notice;
use fedflip_net::wire::v1::upload_part::{Head, What as Part};
use fedflip_net::wire::v1::{self, from_device};
use fedflip_net::wire::{PROTOCOL, numbers::VectorDigest};
use fedflip_net::{plain, wire};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status, Streaming};

/// Nothing in these tests takes that long.
const PATIENCE: Duration = Duration::from_secs(20);

/// A device by hand.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) coin: CoinKey,
    pub(crate) client: FederationClient<Channel>,
    reach: Arc<dyn Reach>,
    cut: Cut,
    line: Option<Line>,
    /// How long it waits for a notice or an answer.
    pub(crate) timeout: Duration,
    /// As the server said at hello.
    pub(crate) slot: usize,
    /// Of the last round that opened.
    run: Vec<u8>,
}

/// How a device by hand reaches its server: over a real network or a simulated one.
pub(crate) trait Reach: Send + Sync {
    fn connect(&self) -> Reaching;
}

/// A channel over one connection, and what cuts it at any moment.
pub(crate) type Reaching =
    Pin<Box<dyn Future<Output = Result<(Channel, Cut), tonic::transport::Error>> + Send>>;
pub(crate) type Cut = Box<dyn Fn() + Send + Sync>;

/// Over TCP, to this address; with TLS or in plain text.
#[derive(Clone)]
struct Tcp(SocketAddr, Option<ClientTlsConfig>);

impl Reach for Tcp {
    fn connect(&self) -> Reaching {
        let Self(address, tls) = self.clone();
        Box::pin(async move {
            let (port, cut) = wire_to(address).await;
            let host = if tls.is_some() { "https://localhost" } else { "http://127.0.0.1" };
            Ok((channel(format!("{host}:{port}"), tls).await?, cut))
        })
    }
}

/// What a device that waits for a round comes to hear.
pub(crate) enum Heard {
    Opened(v1::Opened),
    Finished,
    /// The line is gone.
    Cut,
}

struct Line {
    answers: mpsc::Sender<v1::FromDevice>,
    notices: Streaming<v1::ToDevice>,
}

/// An update and its digest.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: VectorDigest,
    pub(crate) train_loss: f64,
}

impl Update {
    pub(crate) fn of(numbers: &[f32]) -> Self {
        Self { bytes: to_bytes(numbers), digest: digest(numbers), train_loss: 1.0 }
    }
}

impl Device {
    /// Plain: it is who it says it is.
    pub(crate) async fn connect(address: SocketAddr, name: &str) -> Self {
        Self::over(Arc::new(Tcp(address, None)), name).await.unwrap()
    }

    /// With a certificate; `name` is what it claims beside it.
    pub(crate) async fn connect_tls(
        address: SocketAddr,
        name: &str,
        pass: fedflip_net::door::Credentials,
    ) -> Result<Self, tonic::transport::Error> {
        let device = Self::over(Arc::new(Tcp(address, pass.tls.map(|tls| tls.config))), name).await?;
        Ok(Self { coin: pass.coin, ..device })
    }

    /// Over any network.
    pub(crate) async fn over(reach: Arc<dyn Reach>, name: &str) -> Result<Self, tonic::transport::Error> {
        let coin = plain::coin(&name.parse().unwrap()).unwrap();
        let (channel, cut) = reach.connect().await?;
        let (name, client) = (name.to_owned(), FederationClient::new(channel));
        Ok(Self { name, coin, client, reach, cut, line: None, timeout: PATIENCE, slot: 0, run: Vec::new() })
    }

    /// A new connection in place of the old one, which is gone without a word.
    pub(crate) async fn come_again(&mut self) {
        let again = Self::over(Arc::clone(&self.reach), &self.name).await.unwrap();
        let (slot, timeout) = (self.slot, self.timeout);
        *self = Self { slot, timeout, coin: self.coin, ..again };
    }

    /// All of it is gone: the process has crashed.
    pub(crate) fn crash(&mut self) {
        self.line = None;
        (self.cut)();
    }

    pub(crate) fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.metadata_mut().insert("fedflip-device", self.name.parse().unwrap());
        request
    }

    pub(crate) async fn hello(&mut self) -> Result<v1::HelloReply, Status> {
        // A server that has just begun to listen may not have opened its run yet, and agents try again.
        for _ in 0..100 {
            match self.hello_once().await {
                Err(status) if status.message() == "not ready yet" => {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                answered => return answered,
            }
        }
        self.hello_once().await
    }

    async fn hello_once(&mut self) -> Result<v1::HelloReply, Status> {
        let request = self.request(v1::HelloRequest { protocol: PROTOCOL, version: String::new() });
        let reply = self.client.hello(request).await?.into_inner();
        self.slot = reply.slot as usize;
        Ok(reply)
    }

    /// Some bytes at once.
    pub(crate) async fn probe(&mut self, sizes: &[usize]) -> Result<v1::ProbeReply, Status> {
        self.probe_slowly(sizes, Duration::ZERO).await
    }

    /// Some bytes, with a pause before each part.
    pub(crate) async fn probe_slowly(
        &mut self,
        sizes: &[usize],
        pause: Duration,
    ) -> Result<v1::ProbeReply, Status> {
        let parts: Vec<_> = sizes.iter().map(|&len| v1::ProbePart { data: vec![0; len].into() }).collect();
        let parts = tokio_stream::iter(parts).then(move |part| async move {
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            part
        });
        let request = self.request(parts);
        let mut replies = self.client.probe(request).await?.into_inner();
        Ok(replies.message().await?.expect("a reply"))
    }

    pub(crate) async fn enrol(&mut self, samples: u64, compute_secs: f64) -> Result<(), Status> {
        let slot = self.slot as u32;
        let request = self.request(v1::EnrolRequest { samples, compute_secs, slot });
        self.slot = self.client.enrol(request).await?.into_inner().slot as usize;
        Ok(())
    }

    pub(crate) async fn attend(&mut self) -> Result<(), Status> {
        let (answers, outgoing) = mpsc::channel(16);
        let request = self.request(ReceiverStream::new(outgoing));
        let notices = self.client.attend(request).await?.into_inner();
        self.line = Some(Line { answers, notices });
        Ok(())
    }

    /// Hello, timed transfer, enrolment, attendance, as an honest device does it.
    pub(crate) async fn come_in(&mut self, learner: &SgdLearner) {
        self.try_to_come_in(learner, 0.01).await.unwrap();
    }

    /// The same over a line that may break, and with a compute time that it claims.
    pub(crate) async fn try_to_come_in(
        &mut self,
        learner: &SgdLearner,
        compute_secs: f64,
    ) -> Result<(), Status> {
        let hello = self.hello().await?;
        if !hello.enrolled {
            self.probe(&[0, 16 << 10]).await?;
            self.enrol(learner.samples(self.slot) as u64, compute_secs).await?;
        }
        self.attend().await
    }

    /// The next notice; none at the end of the line.
    pub(crate) async fn notice(&mut self) -> Option<Notice> {
        let line = self.line.as_mut().expect("it attends");
        let notice =
            tokio::time::timeout(self.timeout, line.notices.message()).await.expect("a notice in time");
        notice.ok().flatten().and_then(|notice| notice.what)
    }

    /// The next round that opens; what else is said before is not heard.
    pub(crate) async fn heard(&mut self) -> Heard {
        loop {
            match self.notice().await {
                Some(Notice::Opened(opened)) => {
                    self.run = opened.run.to_vec();
                    return Heard::Opened(opened);
                }
                Some(Notice::Finished(_)) => return Heard::Finished,
                Some(_) => {}
                None => return Heard::Cut,
            }
        }
    }

    /// The next round that opens; none if the run is over. The line must hold until then.
    pub(crate) async fn opened(&mut self) -> Option<v1::Opened> {
        match self.heard().await {
            Heard::Opened(opened) => Some(opened),
            Heard::Finished => None,
            Heard::Cut => panic!("{}: the line is cut", self.name),
        }
    }

    /// The grant of a round that it has joined: nothing else is said before it.
    pub(crate) async fn grant(&mut self) -> v1::Grant {
        match self.notice().await {
            Some(Notice::Grant(grant)) => grant,
            other => panic!("{}: {other:?} instead of a grant", self.name),
        }
    }

    pub(crate) async fn refusal(&mut self) -> v1::Refusal {
        loop {
            if let Notice::Refusal(refusal) = self.notice().await.expect("the line holds") {
                return refusal;
            }
        }
    }

    /// What its coin proves for a round.
    pub(crate) fn proof(&self, opened: &v1::Opened, round: u64) -> (bool, Vec<u8>) {
        let run = opened.run[..].try_into().unwrap();
        let (flip, proof) = self.coin.flip(Toss { run, round });
        (flip.joins(opened.q), proof.to_vec())
    }

    pub(crate) async fn say(&self, what: Option<from_device::What>) {
        let line = self.line.as_ref().expect("it attends");
        line.answers.send(v1::FromDevice { what }).await.expect("a line that is open");
    }

    pub(crate) async fn answer(&self, round: u64, proof: Vec<u8>) {
        assert!(self.try_to_answer(round, proof).await, "a line that is open");
    }

    /// Answers, if the line is open still.
    pub(crate) async fn try_to_answer(&self, round: u64, proof: Vec<u8>) -> bool {
        let answer = v1::Answer { round, proof: proof.into(), run: self.run.clone().into() };
        let what = Some(from_device::What::Answer(answer));
        match &self.line {
            Some(line) => line.answers.send(v1::FromDevice { what }).await.is_ok(),
            None => false,
        }
    }

    /// Takes part, as its coin says, and waits for the grant.
    pub(crate) async fn take_part(&mut self, opened: &v1::Opened) -> v1::Grant {
        let (joins, proof) = self.proof(opened, opened.round);
        assert!(joins, "{}: its coin says no", self.name);
        self.answer(opened.round, proof).await;
        self.grant().await
    }

    pub(crate) async fn fetch(&mut self, digest: &[u8], parameters: usize) -> Result<Vec<f32>, Status> {
        let request = self.request(v1::FetchRequest { digest: digest.to_vec().into() });
        let mut parts = self.client.fetch(request).await?.into_inner();
        let mut collector = wire::numbers::Collector::new(parameters);
        while let Some(part) = parts.message().await? {
            collector.push(&part.data).unwrap();
        }
        collector.finish(digest).map_err(|_| Status::data_loss("not the whole model"))
    }

    /// What an honest device would send.
    pub(crate) async fn trained(&mut self, grant: &v1::Grant, learner: &SgdLearner) -> Update {
        self.try_to_train(grant, learner).await.unwrap()
    }

    /// The same, if there still is a model to start from.
    pub(crate) async fn try_to_train(&mut self, grant: &v1::Grant, learner: &SgdLearner) -> Option<Update> {
        let model = self.fetch(&grant.digest, learner.params_len()).await.ok()?;
        let mut delta = vec![0.0; model.len()];
        let key = TrainKey::new(grant.seed, grant.round, self.slot);
        let train_loss = learner.train(&mut learner.worker(), &model, key, &mut delta).unwrap();
        Some(Update { train_loss, ..Update::of(&delta) })
    }

    /// An upload's first part.
    pub(crate) fn head(grant: &v1::Grant, update: &Update) -> Head {
        Head {
            round: grant.round,
            model_digest: grant.digest.clone(),
            digest: update.digest.to_vec().into(),
            train_loss: update.train_loss,
            run: grant.run.clone(),
            samples: 0,
        }
    }

    /// Head and data; whether it is a repetition.
    pub(crate) async fn upload(&mut self, head: Head, bytes: &[u8]) -> Result<bool, Status> {
        let data = bytes.chunks(1000).map(|chunk| Part::Data(chunk.to_vec().into()));
        self.upload_parts([Part::Head(head)].into_iter().chain(data).collect()).await
    }

    pub(crate) async fn upload_parts(&mut self, parts: Vec<Part>) -> Result<bool, Status> {
        let parts = parts.into_iter().map(|what| v1::UploadPart { what: Some(what) });
        let request = self.request(tokio_stream::iter(parts.collect::<Vec<_>>()));
        let reply =
            tokio::time::timeout(self.timeout, self.client.upload(request)).await.expect("an answer in time");
        Ok(reply?.into_inner().repeated)
    }

    /// Sends some of an upload and then nothing, for as long as the sender is kept.
    pub(crate) fn begin_upload(
        &self,
        head: Head,
        bytes: &[u8],
    ) -> (mpsc::Sender<v1::UploadPart>, tokio::task::JoinHandle<Result<bool, Status>>) {
        let (sender, parts) = mpsc::channel(16);
        for what in [Part::Head(head), Part::Data(bytes.to_vec().into())] {
            sender.try_send(v1::UploadPart { what: Some(what) }).unwrap();
        }
        let (request, mut client) = (self.request(ReceiverStream::new(parts)), self.client.clone());
        let uploading = tokio::spawn(async move { Ok(client.upload(request).await?.into_inner().repeated) });
        (sender, uploading)
    }
}

/// A wire that can be cut at any moment: the client's own connection lives on while an upload does.
async fn wire_to(server: SocketAddr) -> (u16, Cut) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let carrying = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let mut server = TcpStream::connect(server).await.unwrap();
        // However it ends, both ends see it.
        let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
    });
    let carrying = carrying.abort_handle();
    (port, Box::new(move || carrying.abort()))
}

async fn channel(address: String, tls: Option<ClientTlsConfig>) -> Result<Channel, tonic::transport::Error> {
    let mut endpoint = Endpoint::from_shared(address).unwrap();
    if let Some(tls) = tls {
        endpoint = endpoint.tls_config(tls).unwrap();
    }
    endpoint.connect().await
}
