//! Calls that nobody asked for, before there is any round.

use fedflip_learn::Learner;
use fedflip_net::reason::Reason;
use fedflip_net::state::StateView;
use fedflip_net::wire::{PROTOCOL, v1};
use tonic::Code;

use crate::bench::{Bench, Wanted};
use crate::device::{Device, Update};
use crate::refuse;

/// Calls that are refused before there is any round.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_out_of_turn_are_refused() {
    let bench = Bench::serve(Wanted::full(2, 1));
    let mut a = Device::connect(bench.address, "a").await;
    let head = Device::head(&v1::Grant::default(), &Update::of(&[1.0]));
    refuse(a.upload(head, &[]).await, Code::FailedPrecondition, "not_enrolled");
    refuse(a.attend().await, Code::FailedPrecondition, "not_enrolled");
    let request = a.request(v1::HelloRequest { protocol: PROTOCOL + 1, version: String::new() });
    refuse(a.client.hello(request).await, Code::InvalidArgument, "other_protocol");
    let nameless = tonic::Request::new(v1::HelloRequest { protocol: PROTOCOL, version: String::new() });
    refuse(a.client.hello(nameless).await, Code::InvalidArgument, "bad_message");
    a.name = "../../etc/passwd".to_owned();
    refuse(a.hello().await, Code::InvalidArgument, "bad_message");
    a.name = "a".to_owned();
    a.hello().await.unwrap();
    refuse(a.attend().await, Code::FailedPrecondition, "not_enrolled");
    let samples = bench.wanted.learner().samples(0) as u64;
    refuse(a.enrol(samples, 0.1).await, Code::FailedPrecondition, "not_enrolled");
    refuse(a.probe(&[1000]).await, Code::InvalidArgument, "bad_message");
    refuse(a.probe(&[0]).await, Code::DeadlineExceeded, "stalled");
    refuse(a.probe(&[0, (64 << 10) + 1]).await, Code::InvalidArgument, "too_many_bytes");
    refuse(a.probe(&[&[0][..], &[64 << 10; 17]].concat()).await, Code::InvalidArgument, "too_many_bytes");
    a.probe(&[0, 1000]).await.unwrap();
    for (samples, compute_secs) in [(0, 0.1), (10, -1.0), (10, f64::NAN), (10, 1e9)] {
        refuse(a.enrol(samples, compute_secs).await, Code::InvalidArgument, "bad_message");
    }
    refuse(a.enrol(u64::MAX, 0.1).await, Code::InvalidArgument, "other_data");
    let refused = |reason| bench.metrics.refused.get(reason);
    assert_eq!((refused(Reason::OtherProtocol), refused(Reason::NotEnrolled)), (1, 4));
    assert_eq!((refused(Reason::TooManyBytes), refused(Reason::BadMessage)), (2, 7));

    // More calls than any device needs; another device is not held up.
    let mut too_many = 0;
    for _ in 0..5_000 {
        if let Err(status) = a.hello().await {
            assert_eq!((status.code(), status.message()), (Code::ResourceExhausted, "too_many_calls"));
            too_many += 1;
            if too_many == 3 {
                break;
            }
        }
    }
    assert_eq!((too_many, refused(Reason::TooManyCalls)), (3, 3));
    Device::connect(bench.address, "b").await.hello().await.unwrap();
}

/// Whoever says hello and never enrols holds no place: not for those who wait for enough devices, and not in a
/// fleet that fills up.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_never_enrols_leaves_no_gap() {
    let bench = Bench::serve(Wanted { devices_min: 2, ..Wanted::full(3, 1) });
    let learner = bench.wanted.learner();
    let mut idle = Device::connect(bench.address, "idle").await;
    assert_eq!(idle.hello().await.unwrap().slot, 0);
    let mut devices = Vec::new();
    for (slot, name) in ["a", "b"].into_iter().enumerate() {
        let mut device = Device::connect(bench.address, name).await;
        device.come_in(&learner).await;
        assert_eq!(device.slot, slot);
        devices.push(device);
    }
    for device in &mut devices {
        let opened = device.opened().await.expect("two are enough");
        device.answer(opened.round, Vec::new()).await;
    }
    for device in &mut devices {
        assert!(device.opened().await.is_none());
    }
    let (_, replayed, _) = bench.ended();
    assert_eq!(replayed.rounds, 1);
}

/// Two who say hello at the same moment are told the same slot: each gets one of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn places_are_given_in_the_order_of_enrolment_and_data_are_checked() {
    let bench = Bench::serve(Wanted::full(2, 1));
    let learner = bench.wanted.learner();
    let [mut a, mut b, mut late] = [
        Device::connect(bench.address, "a").await,
        Device::connect(bench.address, "b").await,
        Device::connect(bench.address, "late").await,
    ];
    for device in [&mut a, &mut b, &mut late] {
        device.hello().await.unwrap();
        device.probe(&[0, 1000]).await.unwrap();
    }
    let samples = learner.samples(0) as u64;
    assert_ne!(samples, learner.samples(1) as u64, "the second place is another share");
    refuse(b.enrol(samples + 1, 0.1).await, Code::InvalidArgument, "other_data");
    b.enrol(samples, 0.1).await.unwrap();
    b.enrol(samples, 0.3).await.unwrap();
    a.enrol(samples, 0.2).await.unwrap();
    assert_eq!((b.slot, a.slot), (0, 1));
    refuse(late.enrol(samples, 0.1).await, Code::FailedPrecondition, "fleet_full");
    refuse(late.hello().await, Code::FailedPrecondition, "fleet_full");
    let again = a.hello().await.unwrap();
    assert_eq!((again.slot, again.enrolled), (1, true));
    for device in [&mut a, &mut b] {
        device.attend().await.unwrap();
    }
    for device in [&mut a, &mut b] {
        let opened = device.opened().await.unwrap();
        device.answer(opened.round, Vec::new()).await;
    }
    for device in [&mut a, &mut b] {
        assert!(device.opened().await.is_none());
    }
    let (_, _, folder) = bench.ended();
    let kept = StateView::open(folder.path()).unwrap().devices().unwrap();
    let kept: Vec<_> =
        kept.iter().map(|device| (&device.name[..], device.samples, device.compute_secs)).collect();
    // The first enrolment counts, and the second place has the samples that the scenario gives it.
    assert_eq!(kept, [("b", samples as f64, 0.1), ("a", learner.samples(1) as f64, 0.2)]);
}
