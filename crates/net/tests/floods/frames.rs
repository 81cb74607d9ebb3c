//! Frames of HTTP/2 that ask for nothing, as fast as the line takes them.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::Instant;

use crate::bench::{Bench, Wanted};
use crate::device::Device;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const FLOOD: Duration = Duration::from_millis(1500);
/// What fits the buffers of a line, and more than a device sends in that time; a line takes millions.
const FRAMES_MAX: usize = 100_000;

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, 0, 0, 0, 0, 0], payload].concat()
}

/// Sends a frame again and again; how many the line has taken.
async fn flood(server: SocketAddr, frame: &[u8]) -> usize {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(16 << 10).unwrap();
    let mut stream = socket.connect(server).await.unwrap();
    stream.write_all(&[PREFACE, &self::frame(4, &[])].concat()).await.unwrap();
    let (mut reads, mut writes) = stream.into_split();
    // What it answers is read, so that nothing but the server's own will holds it back.
    let reading = tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(1..) = reads.read(&mut bytes).await {}
    });
    let many = frame.repeat(500);
    let (mut sent, until) = (0, Instant::now() + FLOOD);
    while let Ok(Ok(written)) =
        tokio::time::timeout_at(until, writes.write(&many[sent % frame.len()..])).await
    {
        sent += written;
    }
    reading.abort();
    sent / frame.len()
}

/// Whatever the line takes beyond its buffers is what the server reads, and that is little.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_ask_for_nothing_are_read_slowly() {
    let bench = Bench::serve(Wanted::full(1, 1));
    let mut honest = Device::connect(bench.address, "honest").await;
    honest.hello().await.unwrap();
    let floods = [
        ("PING", frame(6, &[7; 8])),
        ("SETTINGS", frame(4, &[])),
        ("WINDOW_UPDATE", frame(8, &[0, 0, 0, 1])),
        ("PRIORITY", [&frame(2, &[0, 0, 0, 0, 9])[..8], &[1], &[0, 0, 0, 0, 9][..]].concat()),
        ("unknown", frame(0xee, &[])),
    ];
    for (name, frame) in floods {
        let sent = flood(bench.address, &frame).await;
        println!("{name}: {sent} frames in {FLOOD:?}");
        assert!(sent < FRAMES_MAX, "{name}: {sent} frames");
        let asked = Instant::now();
        honest.hello().await.unwrap();
        assert!(asked.elapsed() < Duration::from_secs(2), "{name}: {:?}", asked.elapsed());
    }
}
