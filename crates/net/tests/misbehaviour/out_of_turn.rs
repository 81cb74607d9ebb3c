//! Calls that nobody asked for, before there is any round.

use fedflip_net::reason::Reason;
use fedflip_net::wire::v1;
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
    let request = a.request(v1::HelloRequest { protocol: 2 });
    refuse(a.client.hello(request).await, Code::InvalidArgument, "other_protocol");
    let nameless = tonic::Request::new(v1::HelloRequest { protocol: 1 });
    refuse(a.client.hello(nameless).await, Code::InvalidArgument, "bad_message");
    a.name = "../../etc/passwd".to_owned();
    refuse(a.hello().await, Code::InvalidArgument, "bad_message");
    a.name = "a".to_owned();
    a.hello().await.unwrap();
    refuse(a.attend().await, Code::FailedPrecondition, "not_enrolled");
    refuse(a.enrol(10, 0.1).await, Code::FailedPrecondition, "not_enrolled");
    refuse(a.probe(&[1000]).await, Code::InvalidArgument, "bad_message");
    refuse(a.probe(&[0]).await, Code::DeadlineExceeded, "stalled");
    refuse(a.probe(&[0, (64 << 10) + 1]).await, Code::InvalidArgument, "too_many_bytes");
    refuse(a.probe(&[&[0][..], &[64 << 10; 17]].concat()).await, Code::InvalidArgument, "too_many_bytes");
    a.probe(&[0, 1000]).await.unwrap();
    for (samples, compute_secs) in [(0, 0.1), (u64::MAX, 0.1), (10, -1.0), (10, f64::NAN), (10, 1e9)] {
        refuse(a.enrol(samples, compute_secs).await, Code::InvalidArgument, "bad_message");
    }
    Device::connect(bench.address, "b").await.hello().await.unwrap();
    let third = Device::connect(bench.address, "c").await.hello().await;
    refuse(third, Code::FailedPrecondition, "fleet_full");
    let refused = |reason| bench.metrics.refused.get(reason);
    assert_eq!(refused(Reason::FleetFull), 1);
    assert_eq!((refused(Reason::OtherProtocol), refused(Reason::NotEnrolled)), (1, 4));
    assert_eq!((refused(Reason::TooManyBytes), refused(Reason::BadMessage)), (2, 8));

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
