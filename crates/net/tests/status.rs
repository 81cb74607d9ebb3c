//! How a server is doing, as a collector and a supervisor ask for it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::status::{ConnectionRefusal, Health, Metrics, Reach, Readiness, StatusServer};
use fedflip_record::{Target, TargetMode};
use tokio::runtime::Runtime;

struct Bench {
    runtime: Runtime,
    server: StatusServer,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
}

fn bench() -> Bench {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (metrics, health) = (Arc::new(Metrics::default()), Arc::new(Health::default()));
    let server = StatusServer::serve(
        runtime.handle(),
        "127.0.0.1:0".parse().unwrap(),
        Reach::ThisMachine,
        Arc::clone(&metrics),
        Arc::clone(&health),
    )
    .unwrap();
    Bench { runtime, server, metrics, health }
}

/// Status, headers and body.
fn ask(address: SocketAddr, method: &str, path: &str) -> (u16, String, String) {
    ask_as(address, "localhost", method, path)
}

fn ask_as(address: SocketAddr, host: &str, method: &str, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.to_lowercase(), body.to_owned())
}

/// A sample's name with its labels, and its value.
type Samples = BTreeMap<String, f64>;

/// Reads the text as the format's description has it, and nothing more lenient; samples and types by name.
fn parse(text: &str) -> (Samples, BTreeMap<String, String>) {
    let (mut samples, mut types, mut helped) = (Samples::new(), BTreeMap::new(), BTreeSet::new());
    assert!(text.ends_with('\n'), "the last line ends too");
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').unwrap();
            assert!(is_name(name) && words.ends_with('.'), "{line}");
            assert!(helped.insert(name.to_owned()), "described twice: {name}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind) && helped.contains(name), "{line}");
            assert!(types.insert(name.to_owned(), kind.to_owned()).is_none(), "two types: {name}");
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let name = series.split('{').next().unwrap();
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .find_map(|end| name.strip_suffix(end).filter(|name| types.contains_key(*name)))
                .unwrap_or(name);
            assert!(is_name(name) && types.contains_key(family), "a sample without a type: {line}");
            assert!(family.starts_with("fedflip_"), "{line}");
            assert_eq!(types[family] == "counter", name.ends_with("_total"), "{line}");
            if let Some(labels) = series.strip_prefix(name).filter(|labels| !labels.is_empty()) {
                let inner = labels.strip_prefix('{').unwrap().strip_suffix("\"}").unwrap();
                let (label, value) = inner.split_once("=\"").unwrap();
                assert!(is_name(label) && !value.contains(['"', '\\', ',']), "{line}");
            }
            let value = if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap() };
            assert!(samples.insert(series.to_owned(), value).is_none(), "twice: {series}");
        }
    }
    (samples, types)
}

#[test]
fn a_collector_reads_what_was_counted() {
    let bench = bench();
    let metrics = &bench.metrics;
    metrics.rounds_committed.add(3);
    metrics.round.set(4.0);
    metrics.refused.add(fedflip_net::reason::Reason::NotFinite);
    metrics.connections_refused.add(ConnectionRefusal::Revoked);
    metrics.connections_refused.add(ConnectionRefusal::Revoked);
    for secs in [0.004, 0.02, 9_999.0] {
        metrics.round_secs.observe(secs);
    }
    let (status, head, body) = ask(bench.server.address(), "GET", "/metrics");
    assert_eq!(status, 200);
    assert!(head.contains("content-type: text/plain; version=0.0.4"), "{head}");
    let (samples, types) = parse(&body);
    let expected = [
        ("fedflip_rounds_committed_total", 3.0),
        ("fedflip_round", 4.0),
        ("fedflip_refused_total{reason=\"not_finite\"}", 1.0),
        ("fedflip_refused_total{reason=\"deadline\"}", 0.0),
        ("fedflip_connections_refused_total{reason=\"revoked\"}", 2.0),
        ("fedflip_round_seconds_bucket{le=\"0.01\"}", 1.0),
        ("fedflip_round_seconds_bucket{le=\"0.025\"}", 2.0),
        ("fedflip_round_seconds_bucket{le=\"3600\"}", 2.0),
        ("fedflip_round_seconds_bucket{le=\"+Inf\"}", 3.0),
        ("fedflip_round_seconds_count", 3.0),
        ("fedflip_round_seconds_sum", 9_999.024),
    ];
    for (series, value) in expected {
        assert!((samples[series] - value).abs() < 1e-9, "{series} is {} and not {value}", samples[series]);
    }
    assert!(!types.contains_key("fedflip_metric"), "nobody knows it yet");
    // A task without accuracy.
    metrics.evaluated(&[("rmse", 0.75), ("loss", 0.5625)].into(), None);
    metrics.evaluated(&fedflip_fleet::Metrics::default(), None);
    metrics.ends_at(&Target { metric: "rmse".to_owned(), at: 0.5, mode: TargetMode::Min });
    let (samples, types) = parse(&ask(bench.server.address(), "GET", "/metrics").2);
    assert_eq!((samples["fedflip_metric{name=\"rmse\"}"], types["fedflip_metric"].as_str()), (0.75, "gauge"));
    assert_eq!(samples["fedflip_metric{name=\"loss\"}"], 0.5625);
    assert_eq!(samples["fedflip_metric_target{name=\"rmse\"}"], 0.5);
    #[cfg(target_os = "linux")]
    assert!(samples["fedflip_process_resident_memory_bytes"] > 1e6);
}

#[test]
fn a_supervisor_learns_whether_it_is_ready_and_why_not() {
    let bench = bench();
    let ready = |readiness| {
        bench.health.set(readiness);
        let (status, _, body) = ask(bench.server.address(), "GET", "/readyz");
        (status, body)
    };
    let said = |status, why: &str| (status, why.to_owned());
    assert_eq!(ready(Readiness::Starting), said(503, "starting\n"));
    assert_eq!(ready(Readiness::WaitingForDevices), said(200, "waiting for devices\n"));
    assert_eq!(ready(Readiness::InRounds), said(200, "in rounds\n"));
    assert_eq!(ready(Readiness::Stopping), said(503, "stopping\n"));
    // It serves, whatever it is at.
    assert_eq!(ask(bench.server.address(), "GET", "/healthz").0, 200);
}

#[test]
fn nothing_else_is_answered() {
    let bench = bench();
    let address = bench.server.address();
    assert_eq!(ask(address, "GET", "/").0, 404);
    assert_eq!(ask(address, "GET", "/metrics/../etc/passwd").0, 404);
    let (status, head, _) = ask(address, "POST", "/metrics");
    assert!(status == 405 && head.contains("allow: get, head"), "{head}");
    let (status, _, body) = ask(address, "HEAD", "/metrics");
    assert_eq!((status, body.as_str()), (200, ""));
    // A request that does not end is not kept.
    let mut stream = TcpStream::connect(address).unwrap();
    let long = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nX: {}", "y".repeat(64 * 1024));
    let _ = stream.write_all(long.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains("200 OK"), "{answer}");
    assert_eq!(ask(address, "GET", "/healthz").0, 200);
}

/// Sends half a request, and keeps the connection.
fn half_ask(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /healthz HTTP/1.1\r\nHost: loc").unwrap();
    stream
}

/// Three times as many as there are places, and the supervisor still hears that the server is well.
#[test]
fn half_sent_requests_keep_nobody_out() {
    let bench = bench();
    let address = bench.server.address();
    let held: Vec<TcpStream> = (0..192).map(|_| half_ask(address)).collect();
    for _ in 0..20 {
        assert_eq!(ask(address, "GET", "/healthz").0, 200);
        assert_eq!(ask(address, "GET", "/metrics").0, 200);
    }
    // The oldest one has had to go.
    let mut oldest = &held[0];
    assert!(matches!(oldest.read(&mut [0; 1]), Ok(0) | Err(_)), "it is still served");
}

#[test]
fn half_a_request_is_given_up_within_seconds() {
    let bench = bench();
    let mut stream = half_ask(bench.server.address());
    stream.set_read_timeout(Some(Duration::from_secs(12))).unwrap();
    let mut rest = Vec::new();
    // A time-out of ours would be an error.
    stream.read_to_end(&mut rest).expect("the server closes the connection");
}

/// A page elsewhere that points its own name at this machine reads nothing.
#[test]
fn it_is_asked_for_by_address_unless_everybody_may_ask() {
    let Bench { runtime, server, metrics, health } = bench();
    let address = server.address();
    for path in ["/metrics", "/healthz", "/readyz"] {
        let (status, _, body) = ask_as(address, "evil.example", "GET", path);
        assert_eq!(status, 403, "{path}");
        assert!(!body.contains("fedflip_") && body.contains("answer everybody"), "{body}");
    }
    for host in ["localhost:1", "127.0.0.1", &address.to_string()] {
        assert_eq!(ask_as(address, host, "GET", "/metrics").0, 200, "{host}");
    }
    // A probe that names nobody is no browser.
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET /healthz HTTP/1.0\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.contains(" 200 "), "{answer}");
    let anywhere = "127.0.0.1:0".parse().unwrap();
    let public = StatusServer::serve(runtime.handle(), anywhere, Reach::Everybody, metrics, health).unwrap();
    assert_eq!(ask_as(public.address(), "monitoring.example", "GET", "/metrics").0, 200);
}

#[test]
fn it_is_for_this_machine_unless_said_otherwise() {
    let Bench { runtime, server, metrics, health } = bench();
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let serve = |address, reach| {
        StatusServer::serve(runtime.handle(), address, reach, Arc::clone(&metrics), Arc::clone(&health))
    };
    assert!(matches!(serve(everywhere, Reach::ThisMachine), Err(NetError::StatusPublic { .. })));
    assert!(serve(everywhere, Reach::Everybody).is_ok());
    let taken = serve(server.address(), Reach::ThisMachine).unwrap_err();
    assert!(taken.hint().contains("another program listens there"), "{taken}");
    // Dropped, it is gone.
    let address = server.address();
    drop(server);
    let gone = || TcpStream::connect(address).is_err();
    assert!((0..500).any(|_| gone() || runtime.block_on(pause())), "it still listens");
}

/// False, a little later.
async fn pause() -> bool {
    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    false
}
