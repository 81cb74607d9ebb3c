//! Calls without end, by devices that have enrolled and by those that have not.

use std::time::Duration;

use fedflip_net::wire::limits::{CALLS_IN_A_ROW_MAX, CALLS_PER_SEC_MAX};
use fedflip_net::wire::{PROTOCOL, v1};
use futures_util::future::join_all;
use tokio::time::Instant;
use tonic::{Request, Status};

use crate::bench::{Bench, Wanted};
use crate::device::Device;
use crate::log;

/// How long each kind of call is repeated.
const FLOOD: Duration = Duration::from_millis(1500);
/// Calls at the same time, as many as a connection may have.
const AT_ONCE: usize = 8;

/// A call that is refused for its own reason, or for being one too many.
#[derive(Clone, Copy, Debug)]
enum Call {
    AttendWithoutHello,
    OtherProtocol,
    FleetFull,
    Nameless,
    Hello,
}

async fn make(call: Call, device: &Device) -> Result<(), Status> {
    let mut client = device.client.clone();
    let protocol = if matches!(call, Call::OtherProtocol) { PROTOCOL + 1 } else { PROTOCOL };
    let hello = v1::HelloRequest { protocol, version: String::new() };
    match call {
        Call::AttendWithoutHello => {
            client.attend(device.request(tokio_stream::pending())).await?;
        }
        Call::Nameless => {
            client.hello(Request::new(hello)).await?;
        }
        Call::OtherProtocol | Call::FleetFull | Call::Hello => {
            client.hello(device.request(hello)).await?;
        }
    }
    Ok(())
}

/// Repeats a call; how many were looked at, rather than refused as one too many, and how many there were.
async fn flood(call: Call, device: &Device) -> (u64, u64) {
    let until = Instant::now() + FLOOD;
    let caller = async || {
        let (mut looked_at, mut made) = (0, 0);
        while Instant::now() < until {
            made += 1;
            let too_many = make(call, device).await.is_err_and(|status| status.message() == "too_many_calls");
            looked_at += u64::from(!too_many);
        }
        (looked_at, made)
    };
    let counts = join_all((0..AT_ONCE).map(|_| caller())).await;
    counts.into_iter().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
}

/// Whatever it calls, and whatever else is wrong with the call: one bucket, and a log that does not grow with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_of_a_device_is_without_limit() {
    log::count();
    let bench = Bench::serve(Wanted { devices_min: 2, ..Wanted::full(1, 1) });
    let learner = bench.wanted.learner();
    let mut first = Device::connect(bench.address, "first").await;
    for call in [Call::AttendWithoutHello, Call::OtherProtocol, Call::Nameless, Call::Hello, Call::FleetFull]
    {
        if matches!(call, Call::FleetFull) {
            first.come_in(&learner).await;
        }
        let device = Device::connect(bench.address, &format!("noisy-{call:?}")).await;
        let (before, start) = (log::lines(), Instant::now());
        let (looked_at, made) = flood(call, &device).await;
        let (lines, secs) = (log::lines() - before, start.elapsed().as_secs_f64());
        println!("{call:?}: {made} calls, {looked_at} looked at, {lines} lines of log in {secs:.2} s");
        let most = CALLS_IN_A_ROW_MAX + CALLS_PER_SEC_MAX * (secs + 1.0);
        assert!((looked_at as f64) <= most, "{call:?}: {looked_at} calls in {secs} s");
        assert!(lines <= 6, "{call:?}: {lines} lines of log");
        // Nobody else waits for it.
        let asked = Instant::now();
        first.hello().await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    }
}
