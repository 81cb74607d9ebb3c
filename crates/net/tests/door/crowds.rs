//! Many who come and say nothing: they make room for those who speak.

use std::net::SocketAddr;
use std::time::Duration;

use fedflip_net::door::Limits;
use fedflip_net::status::ConnectionRefusal as Because;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::assert_closed;
use crate::bench::{Bench, client, echo, eventually};

/// Places for those who have not said who they are.
const PLACES: usize = 64;

async fn connect_from(block: u8, server: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from(([127, 1, block, 1], 0)))?;
    socket.connect(server).await
}

/// Six addresses hold all that they can, and come again at once when they are dropped; honest devices come in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_addresses_lock_nobody_out() {
    let mut bench = Bench::open(Limits { handshakes_max: PLACES, ..Limits::default() }).await;
    let device = client(&bench.device("honest"));
    let (server, mut silent) = (bench.address, JoinSet::new());
    for block in (1..=6).cycle().take(6 * PLACES) {
        silent.spawn(async move {
            loop {
                if let Ok(mut stream) = connect_from(block, server).await {
                    // Until it is dropped.
                    let _ = stream.read(&mut [0]).await;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut longest = Duration::ZERO;
    for attempt in 0..4 {
        let start = Instant::now();
        let called = tokio::time::timeout(Duration::from_secs(5), bench.call(&device)).await;
        let took = start.elapsed();
        assert!(called.is_ok_and(|called| called.is_ok()), "handshake {attempt} failed after {took:?}");
        longest = longest.max(took);
    }
    println!("4 of 4 handshakes, the longest in {longest:?}");
    assert!(bench.metrics.connections_refused.get(Because::Crowded) > 0);
    silent.shutdown().await;
}

#[tokio::test]
async fn the_silent_give_way_and_those_who_have_spoken_do_not() {
    let mut bench = Bench::open(Limits { handshakes_max: 2, connections_max: 3, ..Limits::default() }).await;
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| client(&bench.device(name)));
    let mut silent = [bench.connect().await, bench.connect().await];
    let mut first = bench.call(&a).await.unwrap();
    assert_closed(&mut silent[0]).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Crowded), 1);
    // All places are taken: those of strangers are free for devices all the same.
    let _second = bench.call(&b).await.unwrap();
    let mut third = bench.call(&c).await.unwrap();
    assert_closed(&mut silent[1]).await;
    assert!(bench.call(&d).await.is_err(), "those who are in stay in");
    assert_eq!(bench.metrics.connections_refused.get(Because::Full), 1);
    echo(&mut first).await.unwrap();
    echo(&mut third).await.unwrap();
}

#[tokio::test]
async fn whoever_makes_no_call_has_no_need_of_a_place() {
    let limits = Limits { first_call_within: Duration::from_millis(300), ..Limits::default() };
    let mut bench = Bench::open(limits).await;
    let device = client(&bench.device("idle"));
    let mut idle = bench.call(&device).await.unwrap();
    assert_closed(&mut idle).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Idle), 1);
    eventually("its place is given up", || bench.metrics.connections_open.get() == 0.0).await;
}
