//! Devices whose samples nobody else can count, and what they claim.

use fedflip_fleet::{GivenWeights, Weights};
use fedflip_net::reason::Reason;
use fedflip_net::server::Ended;
use fedflip_net::state::StateView;
use tonic::Code;

use crate::bench::{Agent, Bench, Wanted};
use crate::device::Device;
use crate::refuse;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absurd_sample_counts_are_refused_and_honest_devices_train() {
    let bench = Bench::serve(Wanted { counts_unknown: true, ..Wanted::full(2, 3) });
    let mut liar = Device::connect(bench.address, "liar").await;
    liar.hello().await.unwrap();
    liar.probe(&[0, 1000]).await.unwrap();
    for samples in [1_000_001, 1_000_000_000, u64::MAX] {
        refuse(liar.enrol(samples, 0.1).await, Code::InvalidArgument, "too_many_samples");
    }
    refuse(liar.enrol(0, 0.1).await, Code::InvalidArgument, "bad_message");
    assert_eq!(bench.metrics.refused.get(Reason::TooManySamples), 3);
    let agents = ["a", "b"].map(|name| Agent::join(bench.address, name));
    let (ended, replayed, folder) = bench.ended();
    assert!(matches!(ended, Ended::Over(_)) && replayed.rounds == 3);
    let devices = StateView::open(folder.path()).unwrap().devices().unwrap();
    assert_eq!(devices.len(), 2, "the liar has no place");
    agents.into_iter().for_each(|agent| {
        agent.leave();
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn weights_come_from_a_file_that_must_name_every_device() {
    let text = b"device,weight\nb,1\na,3\n".to_vec();
    let weights = Weights::Given(GivenWeights::read(text, "w.csv", "w.csv").unwrap());
    let bench = Bench::serve(Wanted { weights, ..Wanted::full(2, 2) });
    let mut stranger = Device::connect(bench.address, "stranger").await;
    stranger.hello().await.unwrap();
    stranger.probe(&[0, 1000]).await.unwrap();
    let samples = fedflip_learn::Learner::samples(&bench.wanted.learner(), stranger.slot) as u64;
    refuse(stranger.enrol(samples, 0.1).await, Code::InvalidArgument, "no_weight");
    let agents = ["a", "b"].map(|name| Agent::join(bench.address, name));
    let learner = bench.wanted.learner();
    let (_, _, folder) = bench.ended();
    let view = StateView::open(folder.path()).unwrap();
    let plan = view.plan(1).unwrap().unwrap();
    for (device, planned) in view.devices().unwrap().iter().zip(&plan.devices) {
        let wanted = if device.name == "a" { 0.75 } else { 0.25 };
        assert!((planned.weight * planned.q - wanted).abs() < 1e-12, "{}: {planned:?}", device.name);
        let held = fedflip_learn::Learner::samples(&learner, device.slot) as f64;
        assert_eq!(device.samples, held, "the state keeps what devices hold");
    }
    agents.into_iter().for_each(|agent| {
        agent.leave();
    });
}
