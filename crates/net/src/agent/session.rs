//! One connection from start to end: hello, calibration, enrolment, and then round after round.

use std::sync::Arc;

use fedflip_learn::Encoding;
use fedflip_record::atomic;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::backoff::Waits;
use super::platform::Compute;
use super::refusal;
use super::talk::Talk;
use super::trainer::{Calibrated, Trained, Trainer, emulated_until};
use super::work::{Failed, Memory, Work};
use super::{AgentSettings, News};
use crate::coin::Toss;
use crate::error::NetError;
use crate::wire::v1::to_device::What;
use crate::wire::{PROTOCOL, encoding, printable, task, v1};

/// The state of an agent, which outlives its sessions: after a broken connection nothing is read, computed or fetched
/// again.
#[derive(Clone)]
pub(super) struct AgentState {
    trainer: Option<(v1::Task, Arc<Trainer>)>,
    pub memory: Memory,
    pub compute: Compute,
    pub waits: Waits,
}

impl AgentState {
    pub(super) fn new(compute: Compute, waits: Waits) -> Self {
        Self { trainer: None, memory: Memory::default(), compute, waits }
    }
}

pub(super) struct Session<'a> {
    pub settings: &'a AgentSettings,
    pub state: &'a mut AgentState,
    pub tell: &'a mut (dyn FnMut(News) + Send),
}

/// The device's part in a round; dropping it gives it up.
struct Part {
    toss: Toss,
    doing: JoinHandle<Result<Trained, Failed>>,
}

impl Drop for Part {
    fn drop(&mut self) {
        self.doing.abort();
    }
}

/// Ends when it is dropped.
struct OwnTask(JoinHandle<()>);

impl Drop for OwnTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Says hello, and refuses a server that speaks another protocol.
pub(super) async fn hello(talk: &mut Talk, is_plain: bool) -> Result<v1::HelloReply, NetError> {
    let reply = talk.hello(PROTOCOL).await;
    let reply = reply.map_err(|status| refusal::of_first_call(status, is_plain))?;
    match reply.protocol {
        PROTOCOL => Ok(reply),
        server => Err(NetError::OtherProtocol { server, agent: PROTOCOL }),
    }
}

impl Session<'_> {
    /// Runs until the run is over or the connection breaks. It can be dropped at any moment.
    pub(super) async fn run(&mut self, mut talk: Talk, hello: v1::HelloReply) -> Result<(), NetError> {
        let encoding = encoding::encoding(hello.encoding).ok_or(NetError::OtherServer {
            problem: "it takes updates in an encoding that this agent does not know",
        })?;
        let download_encoding = encoding::encoding(hello.download_encoding).ok_or(NetError::OtherServer {
            problem: "it sends models in an encoding that this agent does not know",
        })?;
        let trainer = self.trainer(&hello).await?;
        let slot = match hello.enrolled {
            true => hello.slot,
            false => self.enrol(&mut talk, &hello, &trainer, encoding).await?,
        } as usize;
        let samples = trainer.samples(slot)?;
        let (answers, notices) = talk.attend().await?;
        (self.tell)(News::Attending { slot, samples });
        let work = Work { talk, trainer, slot, encoding, download_encoding, state: self.state.clone() };
        self.rounds(&work, &answers, notices).await
    }

    /// Reads the data of the task, unless the last session had the same task.
    async fn trainer(&mut self, hello: &v1::HelloReply) -> Result<Arc<Trainer>, NetError> {
        let message = hello.task.as_ref().ok_or(NetError::OtherServer { problem: "it names no task" })?;
        if let Some((known, trainer)) = &self.state.trainer
            && known == message
        {
            return Ok(Arc::clone(trainer));
        }
        let offered = task::offered(message)?;
        (self.tell)(News::Reading { task: offered.name() });
        let (trains, task) = (Arc::clone(&self.settings.trains), offered.clone());
        let reading = self.state.compute.run(move || trains.prepare(&task)).await;
        let training =
            reading.map_err(|_| NetError::OtherServer { problem: "its task cannot be read" })??;
        let trainer = Arc::new(Trainer::new(offered, training, self.settings.compute_at_least));
        if trainer.parameters() as u64 != hello.parameters {
            return Err(NetError::OtherServer { problem: "its model has another number of parameters" });
        }
        self.state.trainer = Some((message.clone(), Arc::clone(&trainer)));
        Ok(trainer)
    }

    /// Measures the device and its link, and enrols. Returns the device's slot.
    async fn enrol(
        &mut self,
        talk: &mut Talk,
        hello: &v1::HelloReply,
        trainer: &Arc<Trainer>,
        encoding: Encoding,
    ) -> Result<u32, NetError> {
        (self.tell)(News::Calibrating);
        let v1::HelloReply { slot, seed, .. } = *hello;
        let samples = trainer.samples(slot as usize)? as u64;
        let timed = Arc::clone(trainer);
        let timing = move || timed.calibrate(slot as usize, seed, encoding);
        let start = Instant::now();
        let timed = self.state.compute.run(timing).await;
        let Calibrated { compute_secs, took_in_all } =
            timed.map_err(|_| NetError::OtherServer { problem: "its task cannot be trained" })??;
        emulated_until(start + took_in_all).await;
        let probe = talk.probe(hello.probe_bytes as usize, hello.probe_mbps).await?;
        let slot = talk.enrol(v1::EnrolRequest { samples, compute_secs, slot }).await?;
        (self.tell)(News::Enrolled { compute_secs, comm_mbit: probe.comm_mbit });
        Ok(slot)
    }

    async fn rounds(
        &mut self,
        work: &Work,
        answers: &mpsc::Sender<v1::FromDevice>,
        mut notices: tonic::Streaming<v1::ToDevice>,
    ) -> Result<(), NetError> {
        let mut part: Option<Part> = None;
        // A newer one takes the place of an older one, which nobody waits for.
        let mut evaluation: Option<OwnTask> = None;
        let mut fetch: Option<OwnTask> = None;
        loop {
            tokio::select! {
                // A part ends only once, so it never delays a notice for long.
                biased;
                done = finished(&mut part) => {
                    let Some(Toss { run, round }) = part.take().map(|part| part.toss) else { continue };
                    match done {
                        Ok(trained) => (self.tell)(News::TookPart { round, train_loss: trained.train_loss }),
                        Err(Failed::Unable(problem)) => {
                            warn!(round, problem = %printable(&problem), "cannot take part");
                            let failure = v1::from_device::What::Failure(v1::Failure { round, run: run.to_vec().into() });
                            send(answers, failure).await?;
                            (self.tell)(News::Failed { round, problem });
                        }
                        Err(Failed::Call(status)) => {
                            info!(round, reason = %printable(status.message()), "not taken");
                            // A broken connection ends the session, too; the next session gets the grant again.
                            if status.code() == tonic::Code::Unavailable {
                                return Err(status.into());
                            }
                        }
                    }
                },
                notice = notices.message() => match notice?.and_then(|notice| notice.what) {
                    Some(What::Opened(opened)) => {
                        drop(std::mem::replace(&mut fetch, self.flip(work, answers, &opened).await?));
                    }
                    Some(What::Grant(grant)) => {
                        let toss = toss(&grant.run, grant.round)?;
                        // The same grant again, after a broken connection: the part continues.
                        if part.as_ref().is_none_or(|part| part.toss != toss) {
                            debug!(round = grant.round, mbps = grant.mbps, "granted");
                            let doing = tokio::spawn(work.clone().take_part(toss, grant));
                            part = Some(Part { toss, doing });
                        }
                    }
                    Some(What::Evaluate(asked)) => {
                        drop(evaluation.replace(self.evaluate(work, answers, asked)?));
                    }
                    Some(What::Refusal(refusal)) => {
                        warn!(round = refusal.round, reason = %printable(&refusal.reason), "refused");
                    }
                    Some(What::Finished(finished)) => return self.keep_model(work, &finished.digest).await,
                    Some(What::Superseded(_)) => return Err(NetError::Superseded),
                    None => return Err(NetError::Hung),
                },
            }
        }
    }

    /// Evaluates a model while rounds continue, if the evaluation coin says so; the server is told in any case.
    fn evaluate(
        &self,
        work: &Work,
        answers: &mpsc::Sender<v1::FromDevice>,
        asked: v1::Evaluate,
    ) -> Result<OwnTask, NetError> {
        let v1::Evaluate { round, run, digest, probability } = asked;
        let evaluates = self.settings.credentials.coin.evaluates(toss(&run, round)?, probability);
        debug!(round, probability, evaluates, "flipped for an evaluation");
        let (work, answers) = (work.clone(), answers.clone());
        Ok(OwnTask(tokio::spawn(async move {
            let sums = match evaluates {
                true => work.evaluated(&digest).await,
                false => Ok(Vec::new()),
            };
            // The server is told of a failure, too: it would wait for this device otherwise.
            let failed = sums.is_err();
            match &sums {
                Ok(_) => {}
                Err(Failed::Unable(problem)) => {
                    warn!(round, problem = %printable(problem), "cannot evaluate");
                }
                Err(Failed::Call(status)) => {
                    info!(round, reason = %printable(status.message()), "the model to evaluate is missing");
                }
            }
            let sums = sums.unwrap_or_default();
            let report = v1::Evaluated { round, run, digest, sums, failed };
            // A connection that is gone ends the session.
            let _ = send(&answers, v1::from_device::What::Evaluated(report)).await;
        })))
    }

    /// Fetches the model at the end and writes it, if this device keeps it.
    async fn keep_model(&mut self, work: &Work, digest: &[u8]) -> Result<(), NetError> {
        let Some(file) = self.settings.save_model.clone() else { return Ok(()) };
        if digest.is_empty() {
            return Err(NetError::OtherServer { problem: "it has no model at the end of its run" });
        }
        let model = work.clone().fetch_plain(digest).await?;
        atomic::write_to(&file, &work.trainer.model_file(&model)?)?;
        (self.tell)(News::Saved { file });
        Ok(())
    }

    /// Flips the coin. A device that takes part fetches the model at once, while others still answer; the returned task does.
    async fn flip(
        &mut self,
        work: &Work,
        answers: &mpsc::Sender<v1::FromDevice>,
        opened: &v1::Opened,
    ) -> Result<Option<OwnTask>, NetError> {
        let (flip, proof) = self.settings.credentials.coin.flip(toss(&opened.run, opened.round)?);
        let joins = flip.joins(opened.q);
        debug!(round = opened.round, q = opened.q, joins, "flipped");
        let proof = if joins { proof.to_vec().into() } else { Default::default() };
        let answer = v1::Answer { round: opened.round, proof, run: opened.run.clone() };
        send(answers, v1::from_device::What::Answer(answer)).await?;
        if !joins {
            return Ok(None);
        }
        let (mut work, digest, answers) = (work.clone(), opened.digest.clone(), answers.clone());
        let fetched = v1::Fetched { round: opened.round, run: opened.run.clone() };
        Ok(Some(OwnTask(tokio::spawn(async move {
            // If this fails, the model is fetched again after the grant.
            if work.fetch(&digest).await.is_ok() {
                // A connection that is gone ends the session.
                let _ = send(&answers, v1::from_device::What::Fetched(fetched)).await;
            }
        }))))
    }
}

fn toss(run: &[u8], round: u64) -> Result<Toss, NetError> {
    Toss::named(run, round).ok_or(NetError::OtherServer { problem: "its run has no name" })
}

async fn send(answers: &mpsc::Sender<v1::FromDevice>, what: v1::from_device::What) -> Result<(), NetError> {
    answers.send(v1::FromDevice { what: Some(what) }).await.map_err(|_| NetError::Hung)
}

/// Resolves when the part is done; never, if there is none.
async fn finished(part: &mut Option<Part>) -> Result<Trained, Failed> {
    match part {
        Some(part) => match (&mut part.doing).await {
            Ok(done) => done,
            Err(error) => Err(Failed::Unable(error.to_string())),
        },
        None => std::future::pending().await,
    }
}
