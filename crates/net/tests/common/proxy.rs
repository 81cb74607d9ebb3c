//! A bad network between agents and their server: a TCP proxy whose weather is drawn from a seed.
//!
//! Every connection has a latency and sizes of its own, so that what one device says over two connections comes
//! out of order; some are cut after a number of bytes, by a reset or a close. From time to time all of it stands
//! still, or everybody is cut at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

/// What the network is like for everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    Fair,
    /// Nothing moves; what is on its way comes later.
    Still,
    /// A partition: lines break, and nobody new comes through.
    Cut,
}

/// What one direction of one connection is like.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    latency: Duration,
    /// Read and written at most so much at a time.
    chunk_bytes: usize,
    /// Between two chunks.
    gap: Duration,
    /// The line breaks after this number of bytes.
    cut_after: Option<u64>,
    by_reset: bool,
}

impl Pipe {
    fn draw(random: &mut ChaCha8Rng) -> Self {
        let one_in = |random: &mut ChaCha8Rng, n: u32| random.random_range(0..n) == 0;
        let latency = if one_in(random, 3) { random.random_range(1..120) } else { 0 };
        let (chunk_bytes, gap) = match random.random_range(0..4_u32) {
            // A slow peer, and odd pieces of messages.
            0 => (random.random_range(100..1500), random.random_range(1..8)),
            1 => (random.random_range(1..64), 0),
            _ => (16 << 10, 0),
        };
        // A whole enrolment takes about 20 kB, a round 5 kB: some break early, some late.
        let cut_after = one_in(random, 2).then(|| random.random_range(1..60_000));
        let (latency, gap) = (Duration::from_millis(latency), Duration::from_millis(gap));
        Self { latency, chunk_bytes, gap, cut_after, by_reset: one_in(random, 2) }
    }
}

/// The network, for as long as it is kept.
pub(crate) struct Proxy {
    address: SocketAddr,
    _runtime: Runtime,
}

impl Proxy {
    pub(crate) fn start(server: SocketAddr, seed: u64) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, weather) = watch::channel(Weather::Fair);
        runtime.spawn(change_weather(ChaCha8Rng::seed_from_u64(seed), tell));
        runtime.spawn(async move {
            let mut connections = 0_u64;
            while let Ok((client, _)) = listener.accept().await {
                connections += 1;
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                random.set_stream(connections);
                tokio::spawn(connection(client, server, random, weather.clone()));
            }
        });
        Self { address, _runtime: runtime }
    }

    /// Where agents find what they take for the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn change_weather(mut random: ChaCha8Rng, tell: watch::Sender<Weather>) {
    loop {
        tokio::time::sleep(Duration::from_millis(random.random_range(50..900))).await;
        let bad = if random.random_range(0..3_u32) == 0 { Weather::Cut } else { Weather::Still };
        tell.send_replace(bad);
        tokio::time::sleep(Duration::from_millis(random.random_range(10..350))).await;
        tell.send_replace(Weather::Fair);
    }
}

async fn connection(
    client: TcpStream,
    server: SocketAddr,
    mut random: ChaCha8Rng,
    weather: watch::Receiver<Weather>,
) {
    if *weather.borrow() == Weather::Cut {
        return;
    }
    let Ok(server) = TcpStream::connect(server).await else { return };
    for stream in [&client, &server] {
        stream.set_nodelay(true).unwrap();
    }
    let [up, down] = [Pipe::draw(&mut random), Pipe::draw(&mut random)];
    // A reset discards the bytes in transit; a close does not.
    if up.by_reset {
        for stream in [&client, &server] {
            socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (broken, is_broken) = watch::channel(());
    let broken = Arc::new(broken);
    let upwards = carry(up, (from_client, to_server), weather.clone(), &broken, is_broken.clone());
    let downwards = carry(down, (from_server, to_client), weather, &broken, is_broken);
    tokio::join!(upwards, downwards);
}

/// Carries one direction until it ends or the connection breaks.
async fn carry(
    pipe: Pipe,
    (from, to): (OwnedReadHalf, OwnedWriteHalf),
    mut weather: watch::Receiver<Weather>,
    broken: &watch::Sender<()>,
    mut is_broken: watch::Receiver<()>,
) {
    let (sender, receiver) = mpsc::channel(64);
    let carried =
        async { tokio::join!(take(pipe, from, sender), deliver(pipe, to, receiver, weather.clone())).1 };
    let mut cut = weather.clone();
    let ended = tokio::select! {
        ended = carried => ended,
        _ = cut.wait_for(|weather| *weather == Weather::Cut) => End::Broke,
        _ = is_broken.changed() => End::Broke,
    };
    // One direction that ends leaves the other as it is; one that breaks breaks both.
    if ended == End::Broke {
        broken.send_replace(());
    }
    weather.mark_unchanged();
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Closed,
    Broke,
}

/// Reads, and notes when what was read is to arrive.
async fn take(pipe: Pipe, mut from: OwnedReadHalf, sender: mpsc::Sender<(Instant, Vec<u8>)>) {
    let mut bytes = vec![0; pipe.chunk_bytes];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        if sender.send((Instant::now() + pipe.latency, bytes[..read].to_vec())).await.is_err() {
            return;
        }
    }
}

/// Writes what has arrived, unless nothing moves.
async fn deliver(
    pipe: Pipe,
    mut to: OwnedWriteHalf,
    mut receiver: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut weather: watch::Receiver<Weather>,
) -> End {
    let mut carried = 0;
    while let Some((at, bytes)) = receiver.recv().await {
        tokio::time::sleep_until(at).await;
        // A proxy that is gone is as good as fair.
        let _ = weather.wait_for(|weather| *weather != Weather::Still).await;
        carried += bytes.len() as u64;
        if pipe.cut_after.is_some_and(|bytes| carried > bytes) || to.write_all(&bytes).await.is_err() {
            return End::Broke;
        }
        if !pipe.gap.is_zero() {
            tokio::time::sleep(pipe.gap).await;
        }
    }
    // Says that nothing more comes; whoever is gone need not hear it.
    let _ = to.shutdown().await;
    End::Closed
}
