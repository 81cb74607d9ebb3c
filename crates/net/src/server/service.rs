//! The calls of devices. Each begins with who calls, and whether it may; what it says is checked here, what
//! becomes of it is decided at the [`Hub`].

use std::pin::Pin;
use std::sync::Arc;

use fedflip_learn::Encoding;
use fedflip_learn::task::TaskSettings;
use futures_util::Stream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};
use tracing::{info, warn};

use super::attend::Attendance;
use super::download::download;
use super::hub::Hub;
use super::journal::LogPermit;
use super::member::Enrolment;
use super::norms::NormGuard;
use super::probe::Probe;
use super::probe_queue::ProbeQueue;
use crate::coin::CoinPublic;
use crate::door::Peer;
use crate::identity::DeviceName;
use crate::plain;
use crate::reason::Reason;
use crate::status::Metrics;
use crate::wire::limits::{COMPUTE_SECS_MAX, PROBE_BYTES_MAX, SAMPLES_MAX, SILENCE_MAX, UPLOADS_BYTES_MAX};
use crate::wire::v1::federation_server::Federation;
use crate::wire::{PROTOCOL, encoding, task, v1};

/// What the log calls whoever does not say who it is.
const NAMELESS: &str = "(no name)";

/// What devices are told when they say hello.
#[derive(Clone, Debug)]
pub(crate) struct Announcement {
    pub task: TaskSettings,
    pub seed: u64,
    pub parameters: usize,
    pub samples: Arc<[u64]>,
    /// f_tot: a timed transfer goes as fast as that.
    pub band_mbps: f64,
    pub encoding: Encoding,
}

impl Announcement {
    /// What a device sends in a round.
    pub(super) fn update_bytes(&self) -> usize {
        self.encoding.bytes(self.parameters)
    }
}

pub(crate) struct Service {
    pub(super) hub: Arc<Hub>,
    pub(super) announcement: Announcement,
    pub(super) metrics: Arc<Metrics>,
    /// One timed transfer at a time: it is to have the band for itself.
    probing: Arc<ProbeQueue>,
    pub(super) uploads: Arc<Semaphore>,
    pub(super) norms: Arc<NormGuard>,
}

impl Service {
    pub(crate) fn new(
        hub: Arc<Hub>,
        announcement: Announcement,
        metrics: Arc<Metrics>,
        norms: Arc<NormGuard>,
    ) -> Self {
        Self {
            hub,
            announcement,
            metrics,
            probing: Arc::default(),
            uploads: Arc::new(Semaphore::new(UPLOADS_BYTES_MAX >> 10)),
            norms,
        }
    }

    /// Who calls, and not too often: by the certificate of the connection, or, on loopback without one, by its own
    /// word. Every call begins with this, so that none is without limit.
    fn caller<T>(&self, request: &Request<T>) -> Result<(DeviceName, CoinPublic), Status> {
        let peer = request.extensions().get::<Peer>().ok_or_else(|| Status::internal("no peer"))?;
        let caller = match &peer.caller {
            Some(caller) => Some((caller.name.clone(), caller.coin)),
            None => plain::caller(request.metadata()),
        };
        let name = caller.as_ref().map_or(NAMELESS, |(name, _)| name.as_str());
        let counted = self.hub.state().call(caller.as_ref().map(|(name, coin)| (name, coin)), Instant::now());
        counted.map_err(|reason| self.refused(name, reason))?;
        caller.ok_or_else(|| self.refused(NAMELESS, Reason::BadMessage))
    }

    /// Who calls; it must have said hello.
    fn known<T>(&self, request: &Request<T>) -> Result<(DeviceName, CoinPublic), Status> {
        let (name, coin) = self.caller(request)?;
        let known = self.hub.state().known(&name, coin, Instant::now());
        known.map_err(|reason| self.refused(name.as_str(), reason))?;
        Ok((name, coin))
    }

    /// Name and slot of whoever calls; it must have enrolled.
    fn slot<T>(&self, request: &Request<T>) -> Result<(DeviceName, usize), Status> {
        let (name, _) = self.known(request)?;
        let slot = self.hub.state().slot(&name);
        match slot {
            Some(slot) => Ok((name, slot)),
            None => Err(self.refused(name.as_str(), Reason::NotEnrolled)),
        }
    }

    fn refused(&self, device: &str, reason: Reason) -> Status {
        self.metrics.refused.add(reason);
        if let Some(LogPermit { left_out }) = self.hub.journal.entry(device, reason.name(), Instant::now()) {
            info!(device, reason = reason.name(), left_out, "a call is refused");
        }
        reason.into()
    }
}

type Outgoing<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

#[tonic::async_trait]
impl Federation for Service {
    async fn hello(&self, request: Request<v1::HelloRequest>) -> Result<Response<v1::HelloReply>, Status> {
        let (name, coin) = self.caller(&request)?;
        if request.get_ref().protocol != PROTOCOL {
            return Err(self.refused(name.as_str(), Reason::OtherProtocol));
        }
        let (slot, enrolled) = {
            let mut state = self.hub.state();
            if !state.open {
                return Err(Status::unavailable("not ready yet"));
            }
            let greeted = state.hello(&name, coin, Instant::now());
            greeted.map_err(|reason| self.refused(name.as_str(), reason))?
        };
        if let Some(LogPermit { left_out }) = self.hub.journal.entry(name.as_str(), "hello", Instant::now()) {
            info!(device = %name, slot, enrolled, left_out, "a device says hello");
        }
        let Announcement { task, seed, parameters, band_mbps, encoding, .. } = &self.announcement;
        Ok(Response::new(v1::HelloReply {
            protocol: PROTOCOL,
            task: task::message(task),
            slot: slot as u32,
            seed: *seed,
            parameters: *parameters as u64,
            probe_bytes: self.announcement.update_bytes().clamp(16 << 10, PROBE_BYTES_MAX) as u32,
            probe_mbps: *band_mbps,
            enrolled,
            encoding: encoding::message(*encoding),
        }))
    }

    type ProbeStream = Outgoing<v1::ProbeReply>;

    async fn probe(
        &self,
        request: Request<Streaming<v1::ProbePart>>,
    ) -> Result<Response<Self::ProbeStream>, Status> {
        let (name, _) = self.known(&request)?;
        let had = self.hub.state().may_probe(&name);
        let had = had.map_err(|reason| self.refused(name.as_str(), reason))?;
        let turn = self.probing.turn(&name, had).await;
        let turn = turn.map_err(|reason| self.refused(name.as_str(), reason))?;
        if let Some(newcomer) = self.hub.state().newcomers.get_mut(&name) {
            newcomer.probes = newcomer.probes.saturating_add(1);
        }
        // This answer says that the band is free; the device sends from then on.
        let (reply, replies) = mpsc::channel(1);
        let probe = Probe::new(&self.hub, &self.announcement, name);
        let metrics = Arc::clone(&self.metrics);
        tokio::spawn(async move {
            let measured = probe.measure(request.into_inner()).await;
            drop(turn);
            if let Err(reason) = measured {
                metrics.refused.add(reason);
            }
            // A device that is gone is not told.
            let _ = reply.send(measured.map_err(Status::from)).await;
        });
        Ok(Response::new(Box::pin(ReceiverStream::new(replies))))
    }

    async fn enrol(&self, request: Request<v1::EnrolRequest>) -> Result<Response<v1::EnrolReply>, Status> {
        let (name, coin) = self.known(&request)?;
        let v1::EnrolRequest { samples, compute_secs, slot } = *request.get_ref();
        let sensible =
            (1..=SAMPLES_MAX).contains(&samples) && (0.0..=COMPUTE_SECS_MAX).contains(&compute_secs);
        if !sensible {
            return Err(self.refused(name.as_str(), Reason::BadMessage));
        }
        // Weights are made of these numbers: where we know better, a device is not believed.
        let samples_at = |slot: usize| self.announcement.samples.get(slot).copied();
        if samples_at(slot as usize).is_some_and(|known| known != samples) {
            if let Some(LogPermit { left_out }) =
                self.hub.journal.entry(name.as_str(), "data", Instant::now())
            {
                warn!(device = %name, slot, samples, left_out, "a device's data are not those of the scenario");
            }
            return Err(self.refused(name.as_str(), Reason::OtherData));
        }
        let slot = {
            let mut state = self.hub.state();
            let comm_mbit = match state.newcomers.get_mut(&name) {
                Some(newcomer) => {
                    newcomer.comm_mbit.ok_or_else(|| self.refused(name.as_str(), Reason::NotEnrolled))?
                }
                // It has enrolled before: what it says now changes nothing.
                None => 0.0,
            };
            let enrolment = |slot| {
                let samples = samples_at(slot).unwrap_or(samples);
                info!(device = %name, slot, samples, compute_secs, comm_mbit, "a device enrols");
                Enrolment { samples, compute_secs, comm_mbit }
            };
            let enrolled = state.enrol(&name, coin, enrolment);
            enrolled.map_err(|reason| self.refused(name.as_str(), reason))?
        };
        self.hub.ring();
        Ok(Response::new(v1::EnrolReply { slot: slot as u32 }))
    }

    type AttendStream = Outgoing<v1::ToDevice>;

    async fn attend(
        &self,
        request: Request<Streaming<v1::FromDevice>>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        let (name, slot) = self.slot(&request)?;
        let (attendance, notices) = Attendance::begin(&self.hub, &self.metrics, slot);
        if let Some(LogPermit { left_out }) = self.hub.journal.entry(name.as_str(), "attends", Instant::now())
        {
            info!(device = %name, slot, left_out, "a device attends");
        }
        tokio::spawn(attendance.listen(request.into_inner()));
        Ok(Response::new(Box::pin(ReceiverStream::new(notices).map(|notice| Ok(*notice)))))
    }

    type FetchStream = Outgoing<v1::FetchPart>;

    async fn fetch(&self, request: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        let (name, slot) = self.slot(&request)?;
        let bytes = {
            let state = self.hub.state();
            match &state.model {
                Some(offered) if offered.digest[..] == request.get_ref().digest[..] => offered.bytes.clone(),
                _ => return Err(self.refused(name.as_str(), Reason::OtherModel)),
            }
        };
        let (hub, digest) = (Arc::clone(&self.hub), request.into_inner().digest);
        let wanted =
            move || hub.state().model.as_ref().is_some_and(|offered| offered.digest[..] == digest[..]);
        let (metrics, hub) = (Arc::clone(&self.metrics), Arc::clone(&self.hub));
        let parts = download(bytes, SILENCE_MAX, wanted, move |reason| {
            if let Some(LogPermit { left_out }) = hub.journal.entry(name.as_str(), "download", Instant::now())
            {
                info!(device = %name, slot, reason = reason.name(), left_out, "a download is given up");
            }
            metrics.refused.add(reason);
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
                if let Some(LogPermit { left_out }) =
                    self.hub.journal.entry(name.as_str(), "update", Instant::now())
                {
                    warn!(device = %name, slot, round, reason = reason.name(), left_out, "an update is refused");
                }
                self.hub.state().give_up_on(slot, toss, reason);
                self.hub.ring();
                self.metrics.refused.add(reason);
                Err(reason.into())
            }
        }
    }
}
