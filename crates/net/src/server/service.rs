//! The calls of devices. Each call begins with the check of who calls and whether it may; the call's content is
//! checked here, and its consequences are decided at the [`Hub`].

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::{info, warn};

use super::Offer;
use super::attend::Attendance;
use super::download::download;
use super::hub::Hub;
use super::journal::Permit;
use super::member::AgentInfo;
use super::norms::NormGuard;
use super::probe;
use super::probe_queue::ProbeQueue;
use crate::door::{Caller, Peer};
use crate::identity::DeviceName;
use crate::plain;
use crate::reason::Reason;
use crate::state::EnrolledDevice;
use crate::wire::limits::{
    COMPUTE_SECS_MAX, PROBE_BYTES_MAX, SILENCE_MAX, UPLOADS_BYTES_MAX, VERSION_BYTES_MAX,
};
use crate::wire::v1::federation_server::Federation;
use crate::wire::{PROTOCOL, encoding, task, v1};

/// The name of callers without a name, in the log.
const NAMELESS: &str = "(no name)";

pub(crate) struct Service {
    pub(super) hub: Arc<Hub>,
    pub(super) offer: Offer,
    /// One timed transfer at a time: it needs the whole bandwidth.
    probing: Arc<ProbeQueue>,
    pub(super) uploads: Arc<Semaphore>,
    pub(super) norms: Arc<NormGuard>,
}

impl Service {
    pub(crate) fn new(hub: Arc<Hub>, offer: Offer, norms: Arc<NormGuard>) -> Self {
        let uploads = Arc::new(Semaphore::new(UPLOADS_BYTES_MAX >> 10));
        Self { hub, offer, probing: Arc::default(), uploads, norms }
    }

    /// The caller, named by the certificate of the connection, or, on loopback without one, by itself. Refuses callers that
    /// call too often. Every call begins with this, so that none is without limit.
    fn caller<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let peer = request.extensions().get::<Peer>().ok_or_else(|| Status::internal("no peer"))?;
        let caller = match &peer.caller {
            Some(caller) => Some(Caller::clone(caller)),
            None => plain::caller(request.metadata()),
        };
        let name = caller.as_ref().map_or(NAMELESS, |caller| caller.name.as_str());
        let counted = self.hub.state().call(caller.as_ref(), Instant::now());
        counted.map_err(|reason| self.refused(name, reason))?;
        caller.ok_or_else(|| self.refused(NAMELESS, Reason::BadMessage))
    }

    /// The caller, which must have said hello.
    fn known<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let caller = self.caller(request)?;
        let known = self.hub.state().known(&caller, Instant::now());
        self.checked(&caller.name, known)?;
        Ok(caller)
    }

    /// The name and the slot of the caller, which must have enrolled.
    fn slot<T>(&self, request: &Request<T>) -> Result<(DeviceName, usize), Status> {
        let Caller { name, .. } = self.known(request)?;
        let slot = self.hub.state().slot(&name).ok_or(Reason::NotEnrolled);
        let slot = self.checked(&name, slot)?;
        Ok((name, slot))
    }

    fn checked<T>(&self, device: &DeviceName, result: Result<T, Reason>) -> Result<T, Status> {
        result.map_err(|reason| self.refused(device.as_str(), reason))
    }

    fn refused(&self, device: &str, reason: Reason) -> Status {
        self.hub.metrics.refused.add(reason);
        if let Some(Permit { left_out }) = self.hub.journal.permit(device, reason.name()) {
            info!(device, reason = reason.name(), left_out, "a call is refused");
        }
        reason.into()
    }
}

type Outgoing<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Federation for Service {
    async fn hello(&self, request: Request<v1::HelloRequest>) -> Result<Response<v1::HelloReply>, Status> {
        let caller = self.caller(&request)?;
        let name = &caller.name;
        if request.get_ref().protocol != PROTOCOL {
            return Err(self.refused(name.as_str(), Reason::OtherProtocol));
        }
        let version = request.get_ref().version.clone();
        if version.len() > VERSION_BYTES_MAX || !version.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(self.refused(name.as_str(), Reason::BadMessage));
        }
        let peer = request.extensions().get::<Peer>();
        let certificate_until_unix_secs = peer.and_then(|peer| peer.certificate_until_unix_secs);
        let about = AgentInfo { version, certificate_until_unix_secs };
        let greeted = {
            let mut state = self.hub.state();
            if !state.open {
                return Err(Status::unavailable("not ready yet"));
            }
            let greeted = state.hello(&caller, Instant::now());
            if greeted.is_ok() {
                state.introduce(name, about);
            }
            greeted
        };
        let (slot, enrolled) = self.checked(name, greeted)?;
        if let Some(Permit { left_out }) = self.hub.journal.permit(name.as_str(), "hello") {
            info!(device = %name, slot, enrolled, left_out, "a device says hello");
        }
        Ok(Response::new(v1::HelloReply {
            protocol: PROTOCOL,
            task: task::offer(&self.offer.task),
            slot: slot as u32,
            seed: self.offer.seed,
            parameters: self.offer.parameters as u64,
            probe_bytes: self.offer.update_bytes().clamp(16 << 10, PROBE_BYTES_MAX) as u32,
            probe_mbps: self.offer.bandwidth_mbps,
            enrolled,
            encoding: encoding::message(self.offer.encoding),
            download_encoding: encoding::message(self.offer.download_encoding),
        }))
    }

    type ProbeStream = Outgoing<v1::ProbeReply>;

    async fn probe(
        &self,
        request: Request<Streaming<v1::ProbePart>>,
    ) -> Result<Response<Self::ProbeStream>, Status> {
        let Caller { name, .. } = self.known(&request)?;
        let had = self.hub.state().may_probe(&name);
        let had = self.checked(&name, had)?;
        let turn = self.checked(&name, self.probing.turn(&name, had).await)?;
        if let Some(newcomer) = self.hub.state().newcomers.get_mut(&name) {
            newcomer.probes = newcomer.probes.saturating_add(1);
        }
        // The reply's stream tells the device that the bandwidth is free; the device sends from then on.
        let (reply, replies) = mpsc::channel(1);
        let hub = Arc::clone(&self.hub);
        let (payload_bytes, mbps) = (self.offer.update_bytes(), self.offer.bandwidth_mbps);
        tokio::spawn(async move {
            let measured = probe::measure(&hub, &name, payload_bytes, mbps, request.into_inner()).await;
            drop(turn);
            if let Err(reason) = measured {
                hub.metrics.refused.add(reason);
            }
            // A device that is gone is not told.
            let _ = reply.send(measured.map_err(Status::from)).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(replies))))
    }

    async fn enrol(&self, request: Request<v1::EnrolRequest>) -> Result<Response<v1::EnrolReply>, Status> {
        let caller = self.known(&request)?;
        let name = &caller.name;
        let v1::EnrolRequest { samples, compute_secs, slot } = *request.get_ref();
        if samples == 0 || !(0.0..=COMPUTE_SECS_MAX).contains(&compute_secs) {
            return Err(self.refused(name.as_str(), Reason::BadMessage));
        }
        // Aggregation weights follow from these numbers: where the server knows them, devices are not believed.
        let samples_at = |slot: usize| self.offer.samples.get(slot).copied();
        if samples_at(slot as usize).is_some_and(|known| known != samples) {
            if let Some(Permit { left_out }) = self.hub.journal.permit(name.as_str(), "data") {
                warn!(device = %name, slot, samples, left_out, "a device's data are not those of the scenario");
            }
            return Err(self.refused(name.as_str(), Reason::OtherData));
        }
        if self.offer.samples.is_empty() && !self.may_claim(name.as_str(), samples) {
            return Err(self.refused(name.as_str(), Reason::TooManySamples));
        }
        if self.offer.weights.of(name.as_str(), samples as f64).is_none() {
            return Err(self.refused(name.as_str(), Reason::NoWeight));
        }
        if !self.offer.signals.allows(name.as_str()) {
            return Err(self.refused(name.as_str(), Reason::NoSignal));
        }
        let enrolled = {
            let mut state = self.hub.state();
            let comm_mbit = match state.newcomers.get_mut(name) {
                Some(newcomer) => newcomer.comm_mbit.ok_or(Reason::NotEnrolled),
                // The device has enrolled before: its message changes nothing.
                None => Ok(0.0),
            };
            comm_mbit.and_then(|comm_mbit| {
                state.enrol(&caller, |slot| {
                    let samples = samples_at(slot).unwrap_or(samples);
                    info!(device = %name, slot, samples, compute_secs, comm_mbit, "a device enrols");
                    let (name, coin, samples) = (name.to_string(), caller.coin.to_bytes(), samples as f64);
                    EnrolledDevice { slot, name, coin, samples, compute_secs, comm_mbit }
                })
            })
        };
        let slot = self.checked(name, enrolled)?;
        self.hub.ring();
        Ok(Response::new(v1::EnrolReply { slot: slot as u32 }))
    }

    type AttendStream = Outgoing<v1::ToDevice>;

    async fn attend(
        &self,
        request: Request<Streaming<v1::FromDevice>>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        let (name, slot) = self.slot(&request)?;
        let (attendance, notices) = Attendance::begin(&self.hub, slot);
        if let Some(Permit { left_out }) = self.hub.journal.permit(name.as_str(), "attends") {
            info!(device = %name, slot, left_out, "a device attends");
        }
        tokio::spawn(attendance.listen(request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(notices).map(|notice| Ok(*notice)))))
    }

    type FetchStream = Outgoing<v1::FetchPart>;

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let (name, slot) = self.slot(&request)?;
        let digest = request.into_inner().digest;
        let bytes = self.hub.state().offered(&digest).ok_or(Reason::OtherModel);
        let bytes = self.checked(&name, bytes)?;
        let hub = Arc::clone(&self.hub);
        let toss = hub.state().begin_transfer(slot, &digest);
        let wanted = move || hub.state().offered(&digest).is_some();
        let hub = Arc::clone(&self.hub);
        let parts = download(bytes, SILENCE_MAX, wanted, move |ended| {
            let Err(reason) = ended else {
                let whole = toss.filter(|_| ended == Ok(true));
                whole.into_iter().for_each(|toss| hub.state().sent_model(slot, toss));
                return;
            };
            if let Some(Permit { left_out }) = hub.journal.permit(name.as_str(), "download") {
                info!(device = %name, slot, reason = reason.name(), left_out, "a download is given up");
            }
            hub.metrics.refused.add(reason);
        });
        Ok(Response::new(Box::pin(parts)))
    }

    async fn upload(
        &self,
        request: Request<Streaming<v1::UploadPart>>,
    ) -> Result<Response<v1::UploadReply>, Status> {
        let (name, slot) = self.slot(&request)?;
        match self.take_in(slot, request.into_inner()).await {
            Ok(repeated) => Ok(Response::new(v1::UploadReply { repeated })),
            Err((toss, reason)) => {
                let round = toss.map(|toss| toss.round);
                if let Some(Permit { left_out }) = self.hub.journal.permit(name.as_str(), "update") {
                    warn!(device = %name, slot, round, reason = reason.name(), left_out, "an update is refused");
                }
                self.hub.state().give_up_on(slot, toss, reason);
                self.hub.ring();
                self.hub.metrics.refused.add(reason);
                Err(reason.into())
            }
        }
    }
}
