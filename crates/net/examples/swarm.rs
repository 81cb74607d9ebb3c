//! Many devices in one process, for `cargo xtask load`: real connections, certificates and coins, and no training.
//!
//! ```text
//! swarm SERVER CERTS_FOLDER DEVICES   devices that attend until the run is over
//! swarm sums PARAMETERS UPDATES       how fast updates are added up, and how fast the same bytes are copied
//! ```
//!
//! The authority's folder is that of `fedflip certs init`; identities are made here, in memory. It prints one line
//! of JSON when all attend, and one with its timings at the end.

use std::collections::BTreeMap;
use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use fedflip_engine::aggregate::{Aggregator, Rule};
use fedflip_learn::Learner;
use fedflip_net::coin::{CoinKey, Toss};
use fedflip_net::identity::DeviceName;
use fedflip_net::identity::mint::{self, Identity, Signer, Validity};
use fedflip_net::wire::limits::CHUNK_BYTES_MAX;
use fedflip_net::wire::numbers::{Collector, VectorDigest, digest, to_bytes};
use fedflip_net::wire::v1::federation_client::FederationClient;
use fedflip_net::wire::v1::{self, from_device, to_device, upload_part};
use fedflip_net::wire::{PROTOCOL, task};
use prost::bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};

type Failure = Box<dyn Error + Send + Sync>;

/// Devices that come at the same moment: those of a real fleet are spread by their back-off.
const COMING_AT_ONCE: usize = 64;
/// A tenth of a percent: nobody learns here.
const STEP: f32 = 1e-3;
/// Of the timed transfer: its result is not looked at.
const PROBE_BYTES: usize = 16 << 10;
/// As a device's agent has it.
const WINDOW_BYTES: u32 = 1 << 20;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["sums", parameters, updates] => {
            println!("{}", sums(parameters.parse()?, updates.parse()?));
            Ok(())
        }
        [server, certs, devices] => {
            let devices = identities(server, Path::new(certs), devices.parse()?)?;
            tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(swarm(devices))
        }
        _ => Err("usage: swarm SERVER CERTS_FOLDER DEVICES | swarm sums PARAMETERS UPDATES".into()),
    }
}

/// One device, ready to call.
struct Device {
    endpoint: Endpoint,
    coin: CoinKey,
}

fn identities(server: &str, certs: &Path, devices: usize) -> Result<Vec<Device>, Failure> {
    let read = |name: &str| std::fs::read_to_string(certs.join(name));
    let authority = Identity { certificate_pem: read("ca.pem")?, key_pem: read("ca.key")? };
    let signer = Signer::new(&authority)?;
    #[expect(clippy::disallowed_methods, reason = "certificates are dated")]
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let validity = Validity { now_unix_secs: now.as_secs().try_into()?, days: 1 };
    let mut made = Vec::with_capacity(devices);
    for device in 0..devices {
        let name: DeviceName = format!("device-{device}").parse()?;
        let coin = CoinKey::generate();
        let identity = signer.device(&name, &coin.public(), mint::serial(), validity)?;
        let tls = ClientTlsConfig::new()
            .ca_certificate(Certificate::from_pem(&authority.certificate_pem))
            .identity(tonic::transport::Identity::from_pem(identity.certificate_pem, identity.key_pem));
        let endpoint = Endpoint::from_shared(format!("https://{server}"))?
            .connect_timeout(Duration::from_secs(30))
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .tcp_nodelay(true)
            .tls_config(tls)?;
        made.push(Device { endpoint, coin });
    }
    Ok(made)
}

/// What all devices share.
struct Shared {
    coming: Semaphore,
    attending: AtomicUsize,
    /// Of each slot.
    samples: OnceLock<Vec<u64>>,
    /// What everybody sends, and its digest.
    update: OnceLock<(Bytes, VectorDigest)>,
    timings: Mutex<BTreeMap<&'static str, Vec<f64>>>,
}

impl Shared {
    fn took(&self, what: &'static str, since: Instant) {
        let mut timings = self.timings.lock().unwrap_or_else(PoisonError::into_inner);
        timings.entry(what).or_default().push(since.elapsed().as_secs_f64());
    }
}

async fn swarm(devices: Vec<Device>) -> Result<(), Failure> {
    let (count, start) = (devices.len(), Instant::now());
    let shared = Arc::new(Shared {
        coming: Semaphore::new(COMING_AT_ONCE),
        attending: AtomicUsize::new(0),
        samples: OnceLock::new(),
        update: OnceLock::new(),
        timings: Mutex::default(),
    });
    let mut running = tokio::task::JoinSet::new();
    for device in devices {
        running.spawn(stay(device, Arc::clone(&shared)));
    }
    while shared.attending.load(Ordering::Relaxed) < count {
        // Nobody may leave before all have come.
        if let Some(ended) = running.try_join_next() {
            ended??;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{{\"attending\":{count},\"attending_secs\":{:.3}}}", start.elapsed().as_secs_f64());
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    println!("{}", summary(&shared));
    Ok(())
}

/// Count, median and 99th percentile of each kind of timing.
fn summary(shared: &Shared) -> String {
    let mut timings = shared.timings.lock().unwrap_or_else(PoisonError::into_inner);
    let mut fields = Vec::new();
    for (what, secs) in timings.iter_mut() {
        secs.sort_by(f64::total_cmp);
        let at = |share: f64| secs[((secs.len() - 1) as f64 * share).round() as usize];
        fields.push(format!(
            "\"{what}_count\":{},\"{what}_p50_secs\":{:.6},\"{what}_p99_secs\":{:.6}",
            secs.len(),
            at(0.5),
            at(0.99)
        ));
    }
    format!("{{{}}}", fields.join(","))
}

/// A device from its first call until the run is over.
async fn stay(device: Device, shared: Arc<Shared>) -> Result<(), Failure> {
    let coming = shared.coming.acquire().await?;
    let start = Instant::now();
    let mut client = FederationClient::new(device.endpoint.connect().await?);
    let hello =
        client.hello(v1::HelloRequest { protocol: PROTOCOL, version: String::new() }).await?.into_inner();
    shared.took("connect", start);
    let parameters = usize::try_from(hello.parameters)?;
    shared.update.get_or_init(|| {
        let delta = vec![STEP / (parameters as f32).sqrt(); parameters];
        (to_bytes(&delta).into(), digest(&delta))
    });
    let samples = shared.samples.get_or_init(|| samples(&hello)).get(hello.slot as usize);
    let samples = *samples.ok_or("a slot without samples")?;
    enrol(&mut client, v1::EnrolRequest { samples, compute_secs: 0.001, slot: hello.slot }).await?;
    let (answers, outgoing) = mpsc::channel(4);
    let mut notices = client.attend(ReceiverStream::new(outgoing)).await?.into_inner();
    drop(coming);
    shared.attending.fetch_add(1, Ordering::Relaxed);

    let mut opened_at = Instant::now();
    while let Some(notice) = notices.message().await? {
        match notice.what {
            Some(to_device::What::Opened(opened)) => {
                opened_at = Instant::now();
                let toss = Toss { run: opened.run[..].try_into()?, round: opened.round };
                let (flip, proof) = device.coin.flip(toss);
                let proof = if flip.joins(opened.q) { proof.to_vec().into() } else { Bytes::new() };
                let answer = v1::Answer { round: opened.round, proof, run: opened.run };
                answers.send(v1::FromDevice { what: Some(from_device::What::Answer(answer)) }).await?;
            }
            Some(to_device::What::Grant(grant)) => {
                shared.took("join", opened_at);
                take_part(&mut client, &grant, parameters, &shared).await?;
            }
            Some(to_device::What::Refusal(refusal)) => return Err(refusal.reason.into()),
            Some(to_device::What::Evaluate(_)) => return Err("the swarm holds no samples out".into()),
            Some(to_device::What::Finished(_)) => return Ok(()),
            Some(to_device::What::Superseded(_)) => return Err("another swarm has these identities".into()),
            None => return Err("a notice of an unknown kind".into()),
        }
    }
    Err("the server hung up".into())
}

/// Of each slot: the server checks what a device says of its own.
fn samples(hello: &v1::HelloReply) -> Vec<u64> {
    let settings = hello.task.as_ref().and_then(|task| task::settings(task).ok());
    let learner = settings.and_then(|settings| settings.learner(Path::new("synthetic data need none")).ok());
    learner.map_or_else(Vec::new, |(learner, _)| {
        (0..learner.devices()).map(|slot| learner.samples(slot) as u64).collect()
    })
}

async fn enrol(client: &mut FederationClient<Channel>, request: v1::EnrolRequest) -> Result<(), Failure> {
    let (sender, parts) = mpsc::channel(2);
    let mut replies = client.probe(ReceiverStream::new(parts)).await?.into_inner();
    for len in [0, PROBE_BYTES] {
        sender.send(v1::ProbePart { data: vec![0; len].into() }).await?;
    }
    drop(sender);
    replies.message().await?.ok_or("no reply to the timed transfer")?;
    client.enrol(request).await?;
    Ok(())
}

/// Fetches the model, and sends the update that everybody sends; the server must have taken it.
async fn take_part(
    client: &mut FederationClient<Channel>,
    grant: &v1::Grant,
    parameters: usize,
    shared: &Shared,
) -> Result<(), Failure> {
    let start = Instant::now();
    let mut parts = client.fetch(v1::FetchRequest { digest: grant.digest.clone() }).await?.into_inner();
    let mut collector = Collector::new(parameters);
    while let Some(part) = parts.message().await? {
        collector.push(&part.data).map_err(|wrong| format!("{wrong:?}"))?;
    }
    collector.finish(&grant.digest).map_err(|wrong| format!("{wrong:?}"))?;
    shared.took("fetch", start);

    let start = Instant::now();
    let (bytes, digest) = shared.update.get().ok_or("no update")?;
    let head = upload_part::Head {
        round: grant.round,
        model_digest: grant.digest.clone(),
        digest: digest.to_vec().into(),
        train_loss: 1.0,
        run: grant.run.clone(),
        samples: 0,
    };
    let chunks = (0..bytes.len())
        .step_by(CHUNK_BYTES_MAX)
        .map(|at| upload_part::What::Data(bytes.slice(at..bytes.len().min(at + CHUNK_BYTES_MAX))));
    let parts: Vec<v1::UploadPart> = std::iter::once(upload_part::What::Head(head))
        .chain(chunks)
        .map(|what| v1::UploadPart { what: Some(what) })
        .collect();
    let reply = client.upload(tokio_stream::iter(parts)).await?.into_inner();
    if reply.repeated {
        return Err("the server had this update already".into());
    }
    shared.took("upload", start);
    Ok(())
}

/// Passes over all updates, of which the fastest counts.
const PASSES: usize = 50;

/// Bytes of updates a second: added up as a round does it, and copied.
fn sums(parameters: usize, updates: usize) -> String {
    let mut deltas: Vec<Vec<f32>> = (0..updates).map(|update| vec![update as f32; parameters]).collect();
    let bytes = (4 * parameters * updates) as f64;
    let mut aggregator = Aggregator::default();
    let mut copy = vec![0.0_f32; parameters];
    let (mut added_secs, mut copied_secs) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..PASSES {
        let start = Instant::now();
        aggregator.begin(parameters, Rule::Plain);
        let mut used = Vec::with_capacity(updates);
        for (place, delta) in deltas.drain(..).enumerate() {
            aggregator.take(place, Some(delta), |_| 0.5, |delta| used.push(delta));
        }
        black_box(aggregator.step());
        added_secs = added_secs.min(start.elapsed().as_secs_f64());
        deltas = used;
        let start = Instant::now();
        for delta in &deltas {
            copy.copy_from_slice(black_box(delta));
            black_box(&mut copy);
        }
        copied_secs = copied_secs.min(start.elapsed().as_secs_f64());
    }
    format!(
        "{{\"added_bytes_per_sec\":{:.0},\"copied_bytes_per_sec\":{:.0}}}",
        bytes / added_secs,
        bytes / copied_secs
    )
}
