//! What rounds cost, as a server measures it: its own overhead, downloads, and the limits of links.

use std::time::Duration;

use fedflip_fleet::{Downlink, Download, Mbps, Secs};
use fedflip_learn::Encoding;
use fedflip_net::measure::Measures;
use fedflip_net::server::Ended;
use fedflip_net::state::StoredPlan;
use fedflip_net::wire::v1;
use fedflip_net::wire::v1::from_device::What;

use crate::deeds::{answers_late, honest_by_hand, probes_slowly};
use crate::device::Device;
use crate::network::Link;
use crate::roles::{Actor, Stage};
use crate::run::{Outcome, SimRun};

fn over(outcome: &Outcome) {
    assert!(matches!(outcome.ending.ended, Ended::Over(_)), "{:?}", outcome.ending.ended);
    let lost: Vec<_> = outcome.rounds.iter().flat_map(|round| &round.lost).collect();
    assert!(lost.is_empty(), "{lost:?}");
}

fn download(mbps: f64, per_upload: f64) -> Download {
    Download { bandwidth: Mbps::new(mbps).unwrap(), per_upload }
}

fn unicast() -> Downlink {
    Downlink::Unicast(download(100.0, 1.0))
}

/// τ and the limit of an actor's link.
fn known(measures: &Measures, outcome: &Outcome, actor: usize) -> (f64, f64) {
    let job = measures.job(outcome.slots[actor].unwrap(), measures.believed());
    (job.compute_secs, job.link.limit_mbps)
}

/// Coins take two ways of 0.2 s through the network, in every round.
fn far_away(rounds: u64) -> SimRun {
    let far = Link { latency_secs: 0.2, ..Link::default() };
    let actors = [0.2, 0.3, 0.4, 0.5].map(|secs| Actor::honest(secs).over(far)).to_vec();
    let mut run = SimRun::full(21, actors, rounds);
    (run.wanted.scheme, run.wanted.replan_every) = ("auto".parse().unwrap(), Some(5));
    run
}

#[test]
fn the_server_plans_with_the_overhead_that_it_measures_and_knows_it_after_a_kill() {
    let calm = far_away(40);
    let killed = SimRun { kill_at_secs: vec![15.0, 25.0], ..calm.clone() };
    for run in [calm, killed] {
        let outcome = run.run();
        over(&outcome);
        let overhead_secs = outcome.measures(&run).overhead_secs(0.0).unwrap();
        assert!((0.4..0.5).contains(&overhead_secs), "{overhead_secs}");
        let planned: Vec<f64> = outcome.plans.iter().map(|plan| plan.costs.overhead_secs).collect();
        assert!(planned[0] == 0.0 && planned.len() > 1, "{planned:?}");
        assert!(planned[1..].iter().all(|secs| (0.3..0.6).contains(secs)), "{planned:?}");
        // The longer the overhead, the more devices take part.
        let participants = |plan: usize| outcome.plans[plan].expected.participants;
        assert!(participants(planned.len() - 1) > 1.05 * participants(0), "{}", participants(0));
    }
}

#[test]
fn a_given_overhead_is_planned_with_whatever_is_measured() {
    for secs in [0.0, 3.0] {
        let mut run = far_away(12);
        run.wanted.planned_overhead = Some(Secs::new(secs).unwrap());
        let outcome = run.run();
        over(&outcome);
        assert!(outcome.plans.iter().all(|plan| plan.costs.overhead_secs == secs));
        assert!(outcome.measures(&run).overhead_secs(0.0).unwrap() > 0.3, "it is measured all the same");
    }
}

/// A timed transfer costs nothing: were its rate a limit, every other device would take part more often, and the updates of
/// the slow one would weigh several times as much.
#[test]
fn a_slow_timed_transfer_changes_the_q_of_nobody() {
    let planned = |last: Actor| {
        let mut actors = [0.2, 0.3, 0.4, 0.5].map(Actor::honest).to_vec();
        actors.push(last);
        let mut run = SimRun::full(26, actors, 12);
        (run.wanted.scheme, run.wanted.replan_every) = ("auto".parse().unwrap(), Some(4));
        let outcome = run.run();
        over(&outcome);
        let q = |plan: &StoredPlan| -> Vec<f64> {
            outcome.slots.iter().map(|slot| plan.devices[slot.unwrap()].q).collect()
        };
        [q(&outcome.plans[0]), q(outcome.plans.last().unwrap())]
    };
    let [slow, quick] = [probes_slowly(), honest_by_hand()].map(planned);
    for (slow, quick) in slow.iter().flatten().zip(quick.iter().flatten()) {
        assert!((slow / quick - 1.0).abs() < 0.05, "{slow} and not {quick}");
    }
}

/// One of three devices has a link of 20 kbit/s, on which an update takes about a second.
fn slow_link(rounds: u64) -> SimRun {
    let slow = Link { upload_mbps: 0.02, ..Link::default() };
    let actors = vec![Actor::honest(0.1), Actor::honest(0.2), Actor::honest(0.1).over(slow)];
    let mut run = SimRun::full(22, actors, rounds);
    // No link counts as slower than a tenth of those of the others.
    run.wanted.band_mbps = 0.15;
    run.wanted.timeouts.deadline_slack = Duration::from_secs(5);
    run
}

#[test]
fn a_slow_link_is_a_limit_and_neither_a_larger_payload_nor_anybody_elses() {
    let calm = slow_link(30);
    let killed = SimRun { kill_at_secs: vec![25.0], ..calm.clone() };
    for run in [calm, killed] {
        let outcome = run.run();
        over(&outcome);
        let measures = outcome.measures(&run);
        let (_, limit_mbps) = known(&measures, &outcome, 2);
        // An update is two packets here, so that a good part of its time is a packet that waits for its turn.
        assert!((0.018..0.028).contains(&limit_mbps), "{limit_mbps}");
        for other in [0, 1] {
            assert_eq!(known(&measures, &outcome, other).1, f64::INFINITY);
        }
        let loads = (0..3).map(|slot| measures.job(slot, measures.believed()).load_mbit);
        let loads: Vec<f64> = loads.collect();
        assert!(loads.iter().all(|load| *load == loads[0]), "{loads:?}");
        let slot = outcome.slots[2].unwrap();
        for round in &outcome.rounds[5..] {
            let place = round.cohort.iter().position(|device| *device == slot).unwrap();
            assert!(round.mbps[place] < 0.028, "nobody is granted more than its limit: {round:?}");
            assert!(round.round_secs < 1.9, "{round:?}");
        }
    }
}

#[test]
fn a_link_that_becomes_fast_delays_nobody_any_more() {
    let mut run = slow_link(60);
    let slow = run.actors[2].link;
    run.actors[2] = Actor::scripted(|stage: Stage| async move {
        let (network, number) = (stage.network.clone(), stage.number);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(30)).await;
            network.set_upload_mbps(number, 20.0);
        });
        stage.be_honest(0.1).await;
    })
    .over(slow);
    let outcome = run.run();
    over(&outcome);
    let (_, limit_mbps) = known(&outcome.measures(&run), &outcome, 2);
    // The devices share the bandwidth, so that none is granted more.
    assert!(limit_mbps > 0.045, "{limit_mbps}");
    let last = outcome.rounds.last().unwrap();
    assert!(last.round_secs < 0.9, "{last:?}");
}

/// A model takes a second to arrive, and the training of it 0.3 s.
#[test]
fn a_modelled_download_is_measured_apart_from_computing() {
    let slow = Link { download_mbps: Some(0.02), ..Link::default() };
    let actors = vec![Actor::honest(0.3).over(slow); 3];
    let modelled = Downlink::Unicast(download(0.2, 1.0));
    for (downlink, compute_secs) in [(modelled, 0.25..0.45), (Downlink::None, 1.0..1.8)] {
        let mut run = SimRun::full(23, actors.clone(), 40);
        (run.wanted.downlink, run.wanted.replan_every) = (downlink, Some(10));
        let outcome = run.run();
        over(&outcome);
        let measures = outcome.measures(&run);
        for actor in 0..3 {
            let (found, _) = known(&measures, &outcome, actor);
            assert!(compute_secs.contains(&found), "{downlink:?}: {found}");
        }
        let recorded = outcome.rounds.last().unwrap().download_secs;
        match downlink {
            Downlink::None => assert_eq!((recorded, measures.download_ratio()), (0.0, None)),
            _ => assert!((0.8..1.5).contains(&recorded) && measures.download_ratio().is_some(), "{recorded}"),
        }
    }
}

/// The server waits for 1.2 s until the last device answers, and models arrive in that time.
#[test]
fn a_window_in_which_models_arrive_is_overhead() {
    let slow = Link { download_mbps: Some(0.02), ..Link::default() };
    let actors = vec![Actor::honest(0.3).over(slow), Actor::honest(0.3).over(slow), answers_late()];
    let run = SimRun::full(27, actors, 20);
    let outcome = run.run();
    over(&outcome);
    let measures = outcome.measures(&run);
    let overhead_secs = measures.overhead_secs(0.0).unwrap();
    assert!((1.2..1.4).contains(&overhead_secs), "{overhead_secs}");
    for actor in 0..2 {
        let (found, _) = known(&measures, &outcome, actor);
        assert!((0.25..0.5).contains(&found), "{found}");
    }
}

/// One device uploads at a tenth of the rate of the others. Were the download of all as slow, none would be done in time.
#[test]
fn a_slow_upload_is_no_slow_download() {
    let slow = Link { upload_mbps: 0.01, ..Link::default() };
    let mut actors = [0.1, 0.2, 0.1, 0.2].map(Actor::honest).to_vec();
    actors.push(Actor::honest(0.1).over(slow));
    let mut run = SimRun::full(28, actors, 30);
    (run.wanted.band_mbps, run.wanted.deadline_secs) = (0.1, Some(6.0));
    (run.wanted.downlink, run.wanted.replan_every) = (Downlink::Broadcast(download(0.1, 8.0)), Some(5));
    let outcome = run.run();
    for honest in 0..4 {
        assert_eq!((outcome.lost(honest), outcome.accepted(honest)), (vec![], 30));
    }
    let measures = outcome.measures(&run);
    assert!(known(&measures, &outcome, 4).1 < 0.02, "its limit is found all the same");
    for honest in 0..4 {
        let (found, _) = known(&measures, &outcome, honest);
        assert!((0.1..0.4).contains(&found), "{found}");
    }
}

/// The deadline ends each round, and what the others wait for is no overhead.
#[test]
fn the_overhead_is_measured_in_rounds_with_losses() {
    let far = Link { latency_secs: 0.2, ..Link::default() };
    let mut actors = vec![Actor::honest(0.2).over(far), Actor::honest(0.3).over(far)];
    actors.push(Actor::scripted(crate::roles::never_uploads));
    let mut run = SimRun::full(29, actors, 2);
    run.wanted.deadline_secs = Some(4.0);
    let outcome = run.run();
    assert!(outcome.rounds.iter().all(|round| round.lost.len() == 1));
    let overhead_secs = outcome.measures(&run).overhead_secs(0.0).unwrap();
    assert!((0.4..0.6).contains(&overhead_secs), "{overhead_secs}");
}

#[test]
fn devices_train_from_rounded_models_and_evaluate_whole_ones() {
    for download_encoding in [Encoding::F16, Encoding::Int8] {
        let actors = [0.1, 0.2, 0.1].map(Actor::honest).to_vec();
        let mut run = SimRun::full(24, actors, 6);
        (run.wanted.download_encoding, run.wanted.downlink) = (download_encoding, unicast());
        run.wanted.device_evaluation = Some(0.7);
        // Whatever was trained is trained again from the rounded model, and compared to the byte.
        let outcome = run.run();
        over(&outcome);
        assert_eq!(outcome.replayed.accepted, 18);
    }
}

/// When a hostile device says that it has the model, in seconds after its grant.
#[derive(Clone, Copy, Debug)]
enum Says {
    Nothing,
    AtOnce,
    /// Just before it uploads.
    Late,
    /// In every second message, for rounds that are not.
    Nonsense,
}

/// A device that delays its upload by two seconds and lies about the cause.
fn liar(says: Says) -> Actor {
    Actor::scripted(move |stage: Stage| async move {
        let mut device = stage.enrolled().await;
        while let Some(opened) = stage.next_round(&mut device).await {
            let (round, run) = (opened.round, opened.run.clone());
            let say = async |device: &Device, round, run: &prost::bytes::Bytes| {
                let fetched = v1::Fetched { round, run: run.clone() };
                device.say(Some(What::Fetched(fetched))).await;
            };
            let grant = device.take_part(&opened).await;
            match says {
                Says::AtOnce => say(&device, round, &run).await,
                Says::Nonsense => {
                    say(&device, round + 7, &run).await;
                    say(&device, round, &vec![1; 3].into()).await;
                }
                Says::Nothing | Says::Late => {}
            }
            let update = device.trained(&grant, &stage.learner).await;
            tokio::time::sleep(Duration::from_secs(2)).await;
            if matches!(says, Says::Late) {
                say(&device, round, &run).await;
            }
            device.upload(Device::head(&grant, &update), &update.bytes).await.unwrap();
        }
    })
}

/// Whatever a device says of its download: its delay is its own, and changes nothing for the others.
#[test]
fn nobody_becomes_quicker_by_lies_about_downloads() {
    for says in [Says::Nothing, Says::AtOnce, Says::Late, Says::Nonsense] {
        let mut actors = [0.1, 0.2, 0.1, 0.2].map(Actor::honest).to_vec();
        actors.push(liar(says));
        let mut run = SimRun::full(25, actors, 20);
        run.wanted.timeouts.deadline_slack = Duration::from_secs(5);
        (run.wanted.downlink, run.wanted.replan_every) = (unicast(), Some(5));
        let outcome = run.run();
        over(&outcome);
        let measures = outcome.measures(&run);
        let (found, _) = known(&measures, &outcome, 4);
        assert!(found > 1.9, "{says:?}: {found}");
        for honest in 0..4 {
            let (found, limit_mbps) = known(&measures, &outcome, honest);
            assert!(
                (0.1..0.35).contains(&found) && limit_mbps.is_infinite(),
                "{says:?}: {found} {limit_mbps}"
            );
        }
        let overhead_secs = measures.overhead_secs(0.0).unwrap();
        assert!(overhead_secs < 0.2, "{says:?}: {overhead_secs}");
    }
}
