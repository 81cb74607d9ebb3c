//! Every deed in a round of its own, and what must be recorded of it.

use std::time::Duration;

use fedflip_learn::Learner;
use fedflip_learn::sgd::SgdLearner;
use fedflip_net::agent::Farewell;
use fedflip_net::reason::Reason;
use fedflip_net::server::Ended;
use fedflip_net::state::{Fate, StateView};
use fedflip_net::wire::v1;
use fedflip_net::wire::v1::from_device;
use fedflip_net::wire::v1::upload_part::What as Part;
use tonic::{Code, Status};

use crate::bench::{Agent, Bench, Wanted};
use crate::device::{Device, Update};
use crate::refuse;

/// What a rogue does with a round that it could take part in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Deed {
    Honest,
    CrashesAfterJoining,
    StallsHalfWay,
    DisconnectsHalfWayAndComesBack,
    AnswersLate,
    SendsTooLittle,
    SendsTooMuch,
    SendsOneHugeMessage,
    SendsNan,
    SendsInfinity,
    SendsAbsurdNorm,
    SaysItsLossIsNan,
    SaysItsLossIsAbsurd,
    AnnouncesOtherBytes,
    SendsOtherRounds,
    SendsTwice,
    SendsWithoutHead,
    StartsFromAnotherModel,
    CannotTrain,
    SaysNothing,
    ProvesAnotherRound,
    ProvesNoise,
    SitsOutAndSendsAllTheSame,
    SendsBeforeItIsGranted,
    NeverAnswers,
}

use Deed::*;

/// What must be recorded: the device's fate in the round (none if it is not in the cohort), and incidents.
type Recorded = (Option<Result<(), Reason>>, &'static [Reason]);

const IN: Option<Result<(), Reason>> = Some(Ok(()));

const fn lost(reason: Reason) -> Option<Result<(), Reason>> {
    Some(Err(reason))
}

const DEEDS: &[(Deed, Recorded)] = &[
    (Honest, (IN, &[])),
    (CrashesAfterJoining, (lost(Reason::Disconnected), &[Reason::Disconnected])),
    (StallsHalfWay, (lost(Reason::Deadline), &[Reason::Deadline, Reason::Stalled])),
    (DisconnectsHalfWayAndComesBack, (IN, &[Reason::Disconnected])),
    (AnswersLate, (lost(Reason::Deadline), &[Reason::Deadline])),
    (SendsTooLittle, (IN, &[Reason::WrongShape])),
    (SendsTooMuch, (lost(Reason::TooManyBytes), &[Reason::TooManyBytes])),
    (SendsOneHugeMessage, (lost(Reason::TooManyBytes), &[Reason::TooManyBytes])),
    (SendsNan, (lost(Reason::NotFinite), &[Reason::NotFinite])),
    (SendsInfinity, (lost(Reason::NotFinite), &[Reason::NotFinite])),
    (SendsAbsurdNorm, (lost(Reason::AbsurdNorm), &[Reason::AbsurdNorm])),
    (SaysItsLossIsNan, (lost(Reason::NotFinite), &[Reason::NotFinite])),
    (SaysItsLossIsAbsurd, (lost(Reason::AbsurdLoss), &[Reason::AbsurdLoss])),
    (AnnouncesOtherBytes, (IN, &[Reason::OtherDigest])),
    (SendsOtherRounds, (IN, &[Reason::StaleRound])),
    (SendsTwice, (IN, &[Reason::SecondUpdate])),
    (SendsWithoutHead, (IN, &[Reason::BadMessage])),
    (StartsFromAnotherModel, (lost(Reason::OtherModel), &[Reason::OtherModel])),
    (CannotTrain, (lost(Reason::Failed), &[Reason::Failed])),
    (SaysNothing, (IN, &[Reason::BadMessage])),
    (ProvesAnotherRound, (None, &[Reason::FalseCoin])),
    (ProvesNoise, (None, &[Reason::FalseCoin])),
    (SitsOutAndSendsAllTheSame, (None, &[])),
    (SendsBeforeItIsGranted, (None, &[Reason::NotGranted])),
    (NeverAnswers, (None, &[])),
    (Honest, (IN, &[])),
];

/// Every deed in a round of its own. A device that keeps failing to deliver is benched, so four honest rounds make up
/// for each failure.
fn rounds() -> Vec<(Deed, Recorded)> {
    let honest = (Honest, (IN, &[] as &[Reason]));
    let rounds = DEEDS.iter().flat_map(|&(deed, recorded)| {
        let amends = if matches!(recorded.0, Some(Err(_))) { 4 } else { 0 };
        std::iter::once((deed, recorded)).chain(std::iter::repeat_n(honest, amends))
    });
    rounds.collect()
}

/// Beside two honest agents.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_deed_is_recorded_for_what_it_is_and_honest_devices_count() {
    let bench = Bench::serve(Wanted::full(3, rounds().len() as u64));
    let learner = bench.wanted.learner();
    let agents = ["good-a", "good-b"].map(|name| Agent::join(bench.address, name));
    let mut rogue = Device::connect(bench.address, "rogue").await;
    rogue.come_in(&learner).await;
    let slot = rogue.slot;
    for (round, (deed, _)) in (1..).zip(rounds()) {
        let opened = rogue.opened().await.expect("a round for every deed");
        assert_eq!(opened.round, round, "{deed:?}");
        act(deed, &mut rogue, &opened, &learner).await;
    }
    assert!(rogue.opened().await.is_none(), "the run is over");
    drop(rogue);
    let refused = |reason| bench.metrics.refused.get(reason);
    assert_eq!((refused(Reason::FalseCoin), refused(Reason::WrongShape)), (2, 1));
    let (ended, replayed, folder) = bench.ended();
    assert!(matches!(ended, Ended::Over(_)));
    agents.into_iter().for_each(|agent| assert_eq!(agent.leave(), Farewell::Finished));

    let view = StateView::open(folder.path()).unwrap();
    let incidents = view.incidents().unwrap();
    for (round, (deed, (fate, reasons))) in (1..).zip(rounds()) {
        let fates = view.fates(round).unwrap();
        let found = fates.iter().find(|(device, _)| *device == slot).map(|(_, fate)| fate);
        match (fate, found) {
            (None, None) | (Some(Ok(())), Some(Fate::Accepted { .. })) => {}
            (Some(Err(wanted)), Some(Fate::Lost { reason })) => assert_eq!(wanted.name(), reason, "{deed:?}"),
            _ => panic!("{deed:?}: {found:?}"),
        }
        let honest = fates.iter().filter(|(device, _)| *device != slot);
        assert_eq!(honest.filter(|(_, fate)| matches!(fate, Fate::Accepted { .. })).count(), 2, "{deed:?}");
        for reason in reasons {
            let is_it = |incident: &&fedflip_net::state::Incident| {
                incident.device.as_deref() == Some("rogue") && incident.reason == reason.name()
            };
            assert!(
                incidents.iter().any(|incident| is_it(&incident) && incident.round <= round),
                "{deed:?}: {reason:?}"
            );
        }
    }
    assert_eq!(replayed.lost, DEEDS.iter().filter(|(_, (fate, _))| matches!(fate, Some(Err(_)))).count());
    assert!(incidents.iter().all(|incident| incident.device.as_deref() == Some("rogue")), "nobody else");
}

async fn act(deed: Deed, rogue: &mut Device, opened: &v1::Opened, learner: &SgdLearner) {
    let parameters = learner.params_len();
    match deed {
        ProvesAnotherRound => {
            rogue.answer(opened.round, rogue.proof(opened, opened.round + 1).1).await;
            assert_eq!(rogue.refusal().await.reason, "false_coin");
            return;
        }
        ProvesNoise => {
            rogue.answer(opened.round, vec![7; 80]).await;
            assert_eq!(rogue.refusal().await.reason, "false_coin");
            return;
        }
        SitsOutAndSendsAllTheSame => {
            rogue.answer(opened.round, Vec::new()).await;
            // Without it the round may be over before its update comes.
            let refused = send_anything(rogue, opened, parameters).await.unwrap_err();
            assert!(["not_granted", "stale_round"].contains(&refused.message()), "{refused}");
            return;
        }
        SendsBeforeItIsGranted => {
            refuse(send_anything(rogue, opened, parameters).await, Code::PermissionDenied, "not_granted");
            rogue.answer(opened.round, Vec::new()).await;
            return;
        }
        SendsOtherRounds => {
            // What is said of the same round of another run is not of this one.
            let (round, run) = (opened.round, vec![9; 16]);
            let sits_out = v1::Answer { round, proof: Vec::new().into(), run: run.clone().into() };
            rogue.say(Some(from_device::What::Answer(sits_out))).await;
            rogue.say(Some(from_device::What::Failure(v1::Failure { round, run: run.into() }))).await;
        }
        NeverAnswers => return,
        SaysNothing => {
            rogue.say(None).await;
            assert_eq!(rogue.refusal().await.reason, "bad_message");
        }
        _ => {}
    }
    let grant = rogue.take_part(opened).await;
    let good = rogue.trained(&grant, learner).await;
    let half = &good.bytes[..good.bytes.len() / 2];
    let numbers = |number: f32| Update::of(&vec![number; parameters]);
    let send = async |rogue: &mut Device, update: &Update| {
        rogue.upload(Device::head(&grant, update), &update.bytes).await
    };
    match deed {
        CrashesAfterJoining => {
            rogue.crash();
            // Longer than devices that take part are waited for.
            tokio::time::sleep(Duration::from_millis(1300)).await;
            rogue.come_again().await;
            rogue.come_in(learner).await;
        }
        StallsHalfWay => {
            let (_kept, uploading) = rogue.begin_upload(Device::head(&grant, &good), half);
            refuse(uploading.await.unwrap(), Code::DeadlineExceeded, "stalled");
        }
        DisconnectsHalfWayAndComesBack => {
            let (kept, uploading) = rogue.begin_upload(Device::head(&grant, &good), half);
            tokio::time::sleep(Duration::from_millis(50)).await;
            rogue.crash();
            assert!(uploading.await.unwrap().is_err());
            drop(kept);
            rogue.come_again().await;
            rogue.come_in(learner).await;
            let again = rogue.grant().await;
            assert_eq!((again.round, &again.digest), (grant.round, &grant.digest));
            assert!(!send(rogue, &good).await.unwrap(), "the half did not count");
        }
        AnswersLate => {
            tokio::time::sleep(Duration::from_millis(u64::from(grant.deadline_millis) + 50)).await;
            refuse(send(rogue, &good).await, Code::DeadlineExceeded, "deadline");
        }
        SendsTooLittle => {
            let short = Update { bytes: half.to_vec(), ..good.clone() };
            refuse(send(rogue, &short).await, Code::InvalidArgument, "wrong_shape");
            assert!(!send(rogue, &good).await.unwrap(), "it may have been broken off by accident");
        }
        SendsTooMuch => {
            let long = Update { bytes: [&good.bytes[..], &[0]].concat(), ..good.clone() };
            refuse(send(rogue, &long).await, Code::InvalidArgument, "too_many_bytes");
        }
        SendsOneHugeMessage => {
            let huge = Part::Data(vec![0; 300 << 10].into());
            let parts = vec![Part::Head(Device::head(&grant, &good)), huge];
            refuse(rogue.upload_parts(parts).await, Code::InvalidArgument, "too_many_bytes");
        }
        SendsNan => refuse(send(rogue, &numbers(f32::NAN)).await, Code::InvalidArgument, "not_finite"),
        SendsInfinity => {
            refuse(send(rogue, &numbers(f32::NEG_INFINITY)).await, Code::InvalidArgument, "not_finite");
        }
        SendsAbsurdNorm => {
            refuse(send(rogue, &numbers(1e3)).await, Code::InvalidArgument, "absurd_norm");
        }
        SaysItsLossIsNan => {
            let unsure = Update { train_loss: f64::NAN, ..good.clone() };
            refuse(send(rogue, &unsure).await, Code::InvalidArgument, "not_finite");
        }
        SaysItsLossIsAbsurd => {
            let unsure = Update { train_loss: -1.7e308, ..good.clone() };
            refuse(send(rogue, &unsure).await, Code::InvalidArgument, "absurd_loss");
        }
        AnnouncesOtherBytes => {
            let other = Update { digest: [9; 32], ..good.clone() };
            refuse(send(rogue, &other).await, Code::InvalidArgument, "other_digest");
            assert!(!send(rogue, &good).await.unwrap());
        }
        SendsOtherRounds => {
            let head = v1::upload_part::Head { run: vec![9; 16].into(), ..Device::head(&grant, &good) };
            refuse(rogue.upload(head, &good.bytes).await, Code::FailedPrecondition, "stale_round");
            for round in [0, 1, grant.round - 2, grant.round + 1, u64::MAX] {
                let head = v1::upload_part::Head { round, ..Device::head(&grant, &good) };
                refuse(rogue.upload(head, &good.bytes).await, Code::FailedPrecondition, "stale_round");
            }
            assert!(!send(rogue, &good).await.unwrap());
        }
        SendsTwice => {
            assert!(!send(rogue, &good).await.unwrap());
            assert!(send(rogue, &good).await.unwrap(), "the same again changes nothing");
            refuse(send(rogue, &numbers(0.5)).await, Code::FailedPrecondition, "second_update");
        }
        SendsWithoutHead => {
            let data = || Part::Data(good.bytes[..100].to_vec().into());
            refuse(rogue.upload_parts(vec![data()]).await, Code::InvalidArgument, "bad_message");
            refuse(rogue.upload_parts(Vec::new()).await, Code::InvalidArgument, "bad_message");
            let head = || Part::Head(Device::head(&grant, &good));
            refuse(
                rogue.upload_parts(vec![head(), data(), head()]).await,
                Code::InvalidArgument,
                "bad_message",
            );
            assert!(!send(rogue, &good).await.unwrap());
        }
        StartsFromAnotherModel => {
            let other = v1::Grant { digest: vec![1; 32].into(), ..grant.clone() };
            refuse(rogue.fetch(&other.digest, parameters).await, Code::InvalidArgument, "other_model");
            let head = Device::head(&other, &good);
            refuse(rogue.upload(head, &good.bytes).await, Code::InvalidArgument, "other_model");
        }
        CannotTrain => {
            rogue
                .say(Some(from_device::What::Failure(v1::Failure {
                    round: grant.round,
                    run: grant.run.clone(),
                })))
                .await;
        }
        Honest | SaysNothing => assert!(!send(rogue, &good).await.unwrap()),
        ProvesAnotherRound
        | ProvesNoise
        | SitsOutAndSendsAllTheSame
        | SendsBeforeItIsGranted
        | NeverAnswers => unreachable!("done above"),
    }
}

async fn send_anything(rogue: &mut Device, opened: &v1::Opened, parameters: usize) -> Result<bool, Status> {
    let (round, digest, run) = (opened.round, opened.digest.clone(), opened.run.clone());
    let grant = v1::Grant { round, digest, run, ..v1::Grant::default() };
    let update = Update::of(&vec![0.25; parameters]);
    rogue.upload(Device::head(&grant, &update), &update.bytes).await
}
