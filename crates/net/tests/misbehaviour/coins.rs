//! Coins that say no, and devices whose coins are thrown less often because they are lost too often.

use fedflip_net::agent::Farewell;
use fedflip_net::reason::Reason;
use fedflip_net::state::StateView;
use fedflip_net::wire::v1;
use fedflip_net::wire::v1::from_device;
use fedflip_plan::Scheme;

use crate::bench::{Agent, Bench, Wanted};
use crate::device::Device;

/// A coin that says "sit out" is proven and presented as if it said "take part".
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_coin_that_says_no_stays_out() {
    let bench = Bench::serve(Wanted { scheme: Scheme::Uniform, ..Wanted::full(3, 12) });
    let learner = bench.wanted.learner();
    let agents = ["good-a", "good-b"].map(|name| Agent::join(bench.address, name));
    let mut rogue = Device::connect(bench.address, "rogue").await;
    rogue.come_in(&learner).await;
    let mut tries = 0;
    while let Some(opened) = rogue.opened().await {
        let (joins, proof) = rogue.proof(&opened, opened.round);
        if joins {
            let grant = rogue.take_part(&opened).await;
            let update = rogue.trained(&grant, &learner).await;
            rogue.upload(Device::head(&grant, &update), &update.bytes).await.unwrap();
            continue;
        }
        tries += 1;
        rogue.answer(opened.round, proof).await;
        assert_eq!(rogue.refusal().await.reason, "coin_says_no");
    }
    drop(rogue);
    assert!(tries > 0, "a third of the coins say yes: that none of twelve says no happens never");
    assert_eq!(bench.metrics.refused.get(Reason::CoinSaysNo), tries);
    let (_, replayed, folder) = bench.ended();
    agents.into_iter().for_each(|agent| assert_eq!(agent.leave(), Farewell::Finished));
    assert_eq!(replayed.lost, 0, "it was never in");
    let incidents = StateView::open(folder.path()).unwrap().incidents().unwrap();
    assert_eq!(incidents.iter().filter(|incident| incident.reason == "coin_says_no").count() as u64, tries);
}

/// A device that takes part and never delivers is not asked more often but less: it is benched, and the data are those
/// of the others until it returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_never_delivers_is_benched() {
    let bench = Bench::serve(Wanted { replan_every: Some(4), ..Wanted::full(3, 10) });
    let learner = bench.wanted.learner();
    let agents = ["good-a", "good-b"].map(|name| Agent::join(bench.address, name));
    let mut rogue = Device::connect(bench.address, "rogue").await;
    rogue.come_in(&learner).await;
    let slot = rogue.slot;
    while let Some(opened) = rogue.opened().await {
        // By the next plan its coin may say no.
        let (joins, proof) = rogue.proof(&opened, opened.round);
        rogue.answer(opened.round, if joins { proof } else { Vec::new() }).await;
        if joins {
            rogue.grant().await;
            rogue
                .say(Some(from_device::What::Failure(v1::Failure { round: opened.round, run: opened.run })))
                .await;
        }
    }
    drop(rogue);
    let (_, replayed, folder) = bench.ended();
    agents.into_iter().for_each(|agent| assert_eq!(agent.leave(), Farewell::Finished));
    assert_eq!(replayed.lost, 3, "and then it is not asked");
    let view = StateView::open(folder.path()).unwrap();
    let plans: Vec<_> = (1..=view.plans().unwrap()).map(|plan| view.plan(plan).unwrap().unwrap()).collect();
    assert!(plans[0].devices.iter().all(|device| device.q == 1.0) && plans[0].devices.len() == 3);
    let device = |slot: usize| plans[1].devices[slot];
    assert_eq!((plans[1].after_round, device(slot).q, device(slot).weight), (3, 0.0, 0.0));
    assert!(plans[1].reason.contains("rogue") && plans[1].reason.contains("benched"), "{}", plans[1].reason);
    let share = |slot: usize| device(slot).q * device(slot).weight;
    assert!(((0..3).map(share).sum::<f64>() - 1.0).abs() < 1e-12, "the shares of the others sum to one");
    let records = std::fs::read_to_string(folder.path().join("records.jsonl")).unwrap();
    assert!(records.contains(&format!("\"benched\":[{slot}]")), "the record names the set: {records}");
    let noted = view.incidents().unwrap();
    assert!(noted.iter().any(|incident| incident.reason == "benched"), "{noted:?}");
}
