//! Timed transfers by devices that want many of them, or that send nothing.

use std::future::Future;
use std::time::Duration;

use fedflip_learn::Learner;
use tokio::time::Instant;
use tonic::{Code, Status};

use crate::bench::{Bench, Wanted};
use crate::device::Device;

/// Asks for a timed transfer and sends nothing; how it ends.
fn say_nothing(device: &Device) -> impl Future<Output = Result<(), Status>> + Send + use<> {
    let (mut client, request) = (device.client.clone(), device.request(tokio_stream::pending()));
    async move {
        let mut replies = client.probe(request).await?.into_inner();
        replies.message().await.map(|_| ())
    }
}

/// A device that asks for sixteen transfers has one, which ends soon; another device is next.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_queues_one_transfer_and_nobody_waits_for_its_others() {
    let bench = Bench::serve(Wanted::full(2, 1));
    let learner = bench.wanted.learner();
    let mut greedy =
        [Device::connect(bench.address, "greedy").await, Device::connect(bench.address, "greedy").await];
    greedy[0].hello().await.unwrap();
    let mut asked = Vec::new();
    for _ in 0..8 {
        for device in &greedy {
            asked.push(tokio::spawn(say_nothing(device)));
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    let mut honest = Device::connect(bench.address, "honest").await;
    let start = Instant::now();
    honest.hello().await.unwrap();
    honest.probe(&[0, 16 << 10]).await.unwrap();
    honest.enrol(learner.samples(honest.slot) as u64, 0.01).await.unwrap();
    println!("an honest device enrols after {:.2} s", start.elapsed().as_secs_f64());
    assert!(start.elapsed() < Duration::from_secs(6), "{:?}", start.elapsed());
    let mut refused = 0;
    for ended in asked {
        let status = ended.await.unwrap().unwrap_err();
        refused += u32::from(status.message() == "already_probing");
    }
    assert_eq!(refused, 15, "one of them had its turn");
    let status = honest.probe(&[0, 16 << 10]).await.unwrap_err();
    assert_eq!((status.code(), status.message()), (Code::FailedPrecondition, "already_enrolled"));
}
