//! What a certified device may do to the others: claim, delay, drop, repeat, alternate.

use std::time::Duration;

use fedflip_learn::Learner;
use fedflip_net::wire::v1;
use fedflip_net::wire::v1::to_device::What as Notice;

use crate::device::{Device, Update};
use crate::roles::{Actor, Stage, never_uploads, silent};

/// What a hostile device does with a round that it was granted a part in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// It trains and uploads at once.
    Honest,
    /// It begins to upload after this number of seconds.
    After(f64),
    /// It begins to upload after this share of the time that it has.
    AfterShare(f64),
    /// It sends half of its update, waits until this number of seconds before the deadline, and sends the rest.
    Trickles(f64),
    /// It sends half of its update and nothing more.
    StallsHalfWay,
    Nothing,
    /// Its line breaks, and it comes back.
    Leaves,
    SendsNan,
    SendsTwice,
}

/// How a hostile device behaves, round after round.
#[derive(Clone, Copy, Debug)]
struct Habit {
    claimed_secs: f64,
    /// Whether its timed transfer takes all the time that it may take.
    probes_slowly: bool,
    /// How long it thinks before it answers.
    answers_after_secs: f64,
    /// In even rounds and in odd ones; none is no answer at all.
    parts: [Option<Part>; 2],
    /// In every Nth round it does nothing with its part.
    fails_every: Option<u64>,
    /// Calls that nobody asked for, in every round.
    extra_calls: usize,
}

const HONEST: Habit = Habit {
    claimed_secs: 0.05,
    probes_slowly: false,
    answers_after_secs: 0.0,
    parts: [Some(Part::Honest); 2],
    fails_every: None,
    extra_calls: 0,
};

fn always(part: Part) -> Habit {
    Habit { parts: [Some(part); 2], ..HONEST }
}

fn hostile(habit: Habit) -> Actor {
    Actor::scripted(move |stage| play(stage, habit))
}

/// A device that seems to have a slow link when it enrols, and is honest otherwise.
pub(crate) fn probes_slowly() -> Actor {
    hostile(Habit { probes_slowly: true, ..HONEST })
}

/// A device that is honest, by the same calls.
pub(crate) fn honest_by_hand() -> Actor {
    hostile(HONEST)
}

/// A device that answers shortly before the window ends, and is honest otherwise.
pub(crate) fn answers_late() -> Actor {
    hostile(Habit { answers_after_secs: 1.2, ..HONEST })
}

/// All that one device, or two that work together, is seen to do in the table.
pub(crate) fn deeds() -> Vec<(&'static str, Vec<Actor>)> {
    let of = |habit: Habit| vec![hostile(habit)];
    let alternates = |first, second| Habit { parts: [first, second], ..HONEST };
    let honest = Some(Part::Honest);
    vec![
        ("claims a day of computing", of(Habit { claimed_secs: 86_400.0, ..HONEST })),
        ("claims a day and never uploads", of(Habit { claimed_secs: 86_400.0, ..always(Part::Nothing) })),
        (
            "claims nothing and takes three deadlines",
            of(Habit { claimed_secs: 0.0, ..always(Part::After(12.0)) }),
        ),
        ("is an honest agent that takes three deadlines", vec![Actor::honest(12.0)]),
        ("times its transfer slowly", vec![probes_slowly()]),
        ("uploads just before the deadline", of(always(Part::AfterShare(0.9)))),
        ("trickles until just before the deadline", of(always(Part::Trickles(0.5)))),
        ("answers at the end of the window", vec![answers_late()]),
        ("stalls half way", of(always(Part::StallsHalfWay))),
        ("never answers", vec![Actor::scripted(silent)]),
        ("hangs up before the window ends", vec![Actor::scripted(hangs_up)]),
        ("delivers two times in three", of(Habit { fails_every: Some(3), ..HONEST })),
        ("never uploads", vec![Actor::scripted(never_uploads)]),
        ("leaves after joining", of(always(Part::Leaves))),
        ("sends numbers that are none", of(always(Part::SendsNan))),
        ("sends everything twice", of(always(Part::SendsTwice))),
        ("calls and calls", of(Habit { extra_calls: 200, ..HONEST })),
        ("delivers every second time", of(alternates(honest, Some(Part::Nothing)))),
        ("answers every second time", of(alternates(honest, None))),
        ("two never upload", vec![hostile(always(Part::Nothing)), hostile(always(Part::Nothing))]),
        ("one is silent, one stalls", vec![Actor::scripted(silent), hostile(always(Part::StallsHalfWay))]),
        (
            "two take turns to fail",
            vec![
                hostile(alternates(honest, Some(Part::Nothing))),
                hostile(alternates(Some(Part::Nothing), honest)),
            ],
        ),
        (
            "two claim a day and delay",
            vec![hostile(Habit { claimed_secs: 86_400.0, ..always(Part::AfterShare(0.9)) }); 2],
        ),
    ]
}

/// Attends, says nothing, and hangs up when the window is nearly over; then it comes again.
async fn hangs_up(stage: Stage) {
    let mut device = stage.enrolled().await;
    while stage.next_round(&mut device).await.is_some() {
        tokio::time::sleep(Duration::from_secs_f64(1.3)).await;
        device.crash();
        device = stage.enrolled().await;
    }
}

async fn play(stage: Stage, habit: Habit) {
    if habit.probes_slowly {
        let mut device = stage.device().await;
        device.hello().await.unwrap();
        let sizes: Vec<usize> = std::iter::once(0).chain([1; 100]).collect();
        device.probe_slowly(&sizes, Duration::from_millis(200)).await.unwrap();
        device.enrol(stage.learner.samples(device.slot) as u64, habit.claimed_secs).await.unwrap();
    }
    let mut device = stage.enrolled_claiming(habit.claimed_secs).await;
    'rounds: while let Some(opened) = stage.next_round(&mut device).await {
        for _ in 0..habit.extra_calls {
            // Refused or not: the others must not notice.
            let _ = device.hello().await;
        }
        let Some(part) = habit.parts[(opened.round % 2) as usize] else { continue };
        let (joins, proof) = device.proof(&opened, opened.round);
        tokio::time::sleep(Duration::from_secs_f64(habit.answers_after_secs)).await;
        if !device.try_to_answer(opened.round, if joins { proof } else { Vec::new() }).await || !joins {
            continue;
        }
        let grant = loop {
            match device.notice().await {
                Some(Notice::Grant(grant)) if grant.round == opened.round => break grant,
                Some(Notice::Finished(_)) => return,
                Some(_) => {}
                None => {
                    device = stage.enrolled_claiming(habit.claimed_secs).await;
                    continue 'rounds;
                }
            }
        };
        let fails = habit.fails_every.is_some_and(|every| opened.round.is_multiple_of(every));
        act(&stage, &mut device, &grant, if fails { Part::Nothing } else { part }).await;
    }
}

/// Whatever the server says to it, a hostile device continues.
async fn act(stage: &Stage, device: &mut Device, grant: &v1::Grant, part: Part) {
    let secs = |secs: f64| tokio::time::sleep(Duration::from_secs_f64(secs));
    let Some(update) = device.try_to_train(grant, &stage.learner).await else { return };
    let head = Device::head(grant, &update);
    match part {
        Part::Honest => drop(device.upload(head, &update.bytes).await),
        Part::After(wait_secs) => {
            secs(wait_secs).await;
            drop(device.upload(head, &update.bytes).await);
        }
        Part::AfterShare(share) => {
            secs(share * f64::from(grant.deadline_millis) / 1e3).await;
            drop(device.upload(head, &update.bytes).await);
        }
        Part::Trickles(before_secs) => {
            let (half, rest) = update.bytes.split_at(update.bytes.len() / 2);
            let (sender, uploading) = device.begin_upload(head, half);
            secs((f64::from(grant.deadline_millis) / 1e3 - before_secs).max(0.0)).await;
            let what = Some(v1::upload_part::What::Data(rest.to_vec().into()));
            drop(sender.send(v1::UploadPart { what }).await);
            drop(sender);
            drop(uploading.await);
        }
        Part::StallsHalfWay => {
            let (sender, uploading) = device.begin_upload(head, &update.bytes[..update.bytes.len() / 2]);
            drop(uploading.await);
            drop(sender);
        }
        Part::Nothing => {}
        Part::Leaves => {
            device.crash();
            *device = stage.enrolled().await;
        }
        Part::SendsNan => {
            let update = Update::of(&vec![f32::NAN; update.bytes.len() / 4]);
            drop(device.upload(Device::head(grant, &update), &update.bytes).await);
        }
        Part::SendsTwice => {
            drop(device.upload(head.clone(), &update.bytes).await);
            drop(device.upload(head, &update.bytes).await);
        }
    }
}
