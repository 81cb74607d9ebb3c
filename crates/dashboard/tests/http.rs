//! What a browser, a stranger and a sleeper get, over real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "how long a reader holds up others is what is tested")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use fedflip_dashboard::server::READERS_MAX;
use fedflip_dashboard::{Address, Dashboard, DashboardError, Run};
use fedflip_fleet::{Device, Fleet, Probability, Samples, Secs};
use fedflip_fleet::{Direction, Display, MetricInfo};
use fedflip_record::{Header, Round, Target, TargetMode};
use serde_json::Value;

fn dashboard() -> Dashboard {
    Dashboard::serve(Address::parse("0", false).unwrap()).unwrap()
}

fn begin(dashboard: &Dashboard, devices: usize) {
    let mut fleet = Fleet::builder();
    for n in 0..devices {
        let device = Device {
            name: &format!("phone-{n}"),
            compute_secs: Secs::new(0.1 + n as f64).unwrap(),
            comm_secs: Secs::new(0.5).unwrap(),
            samples: Samples::new(1.0).unwrap(),
            availability: Probability::ONE,
            link_mbps: None,
            snr_db: None,
        };
        fleet.push(device).unwrap();
    }
    let header = Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "0.1.0".to_owned(),
        task: "synthetic".to_owned(),
        scheme: "exact".to_owned(),
        seed: 7,
        devices,
        parameters: 610,
        bandwidth_mbps: 100.0,
        costs: Default::default(),
        metrics: vec![
            MetricInfo::new("accuracy", Direction::Larger, Display::Share),
            MetricInfo::new("loss", Direction::Smaller, Display::Number),
        ],
        stop: Some(Target { metric: "accuracy".to_owned(), at: 0.7, mode: TargetMode::Max }),
        pilot: false,
        expected_participants: 1.0,
        expected_rounds: None,
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    };
    dashboard.live().begin(&Run {
        title: "a run",
        label: "exact",
        header: &header,
        fleet: &fleet.build().unwrap(),
        q: &vec![0.1; devices],
        folder: None,
    });
}

fn round(dashboard: &Dashboard, number: u64) {
    let round = Round {
        round: number,
        start_secs: number as f64,
        round_secs: 1.0,
        cohort: vec![0],
        mbps: vec![100.0],
        metrics: [("accuracy", 0.5), ("loss", 1.0)].into(),
        ..Round::default()
    };
    dashboard.live().round(&round, 0.0);
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Status, headers in lower case, and body of an answer after which the connection is closed.
fn ask(address: SocketAddr, request: &str) -> (u16, String, String) {
    let mut stream = connect(address);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_lowercase(), body.to_owned())
}

fn get(address: SocketAddr, path: &str) -> (u16, String, String) {
    ask(address, &format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"))
}

/// Somebody who reads the stream.
struct Reader(BufReader<TcpStream>);

impl Reader {
    fn new(address: SocketAddr) -> Self {
        let mut stream = connect(address);
        write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        Self(BufReader::new(stream))
    }

    /// Status line of the answer.
    fn status(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }

    /// The name and the data of the next event; none at the end of the stream.
    fn event(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("event: ") {
                name = value.trim().to_owned();
            }
            if let Some(value) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(value.trim()).unwrap()));
            }
        }
    }

    fn update(&mut self) -> Value {
        let (name, data) = self.event().unwrap();
        assert_eq!(name, "update");
        data
    }
}

#[test]
fn the_page_is_served_with_its_headers_and_all_it_refers_to() {
    let dashboard = dashboard();
    let (status, head, page) = get(dashboard.address(), "/");
    assert_eq!(status, 200);
    for header in ["content-type: text/html", "cache-control: no-store", "nosniff", "default-src 'none'"] {
        assert!(head.contains(header), "{head} lacks {header}");
    }
    // Nothing inline and nothing from elsewhere: the policy would not let it run.
    assert!(!page.contains("<style") && !page.contains("style=") && !page.contains("://"), "{page}");
    let referred: Vec<&str> =
        page.split(['"']).filter(|part| part.starts_with('/') && part.contains('.')).collect();
    assert!(referred.len() >= 5, "{referred:?}");
    for path in referred.into_iter().chain(["/charts.js", "/fleet.js", "/stream.js", "/healthz"]) {
        assert_eq!(get(dashboard.address(), path).0, 200, "{path}");
    }
    assert!(get(dashboard.address(), "/app.js").1.contains("content-type: text/javascript"));
    assert_eq!(get(dashboard.address(), "/../Cargo.toml").0, 404);
}

#[test]
fn other_names_and_other_methods_are_refused() {
    let dashboard = dashboard();
    let address = dashboard.address();
    let named = |host: &str| {
        ask(address, &format!("GET /events HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"))
    };
    let (status, head, body) = named("evil.example");
    assert_eq!(status, 403);
    assert!(body.contains("by its address") && head.contains("no-store"), "{head}{body}");
    assert_eq!(ask(address, "GET / HTTP/1.0\r\n\r\n").0, 403);
    let localhost =
        format!("GET / HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\r\n", address.port());
    assert_eq!(ask(address, &localhost).0, 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let request = format!(
            "{method} /events HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
        let (status, head, _) = ask(address, &request);
        assert_eq!(status, 405, "{method}");
        assert!(head.contains("allow: get, head"), "{head}");
    }
    assert_eq!(ask(address, &format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000))).0 / 100, 4);
}

#[test]
fn readers_get_everything_then_what_is_new_then_a_goodbye() {
    let dashboard = dashboard();
    let mut early = Reader::new(dashboard.address());
    assert_eq!(early.update()["status"]["state"], "waiting");
    begin(&dashboard, 3);
    round(&dashboard, 1);
    // It may come in one or two.
    let mut seen = early.update();
    while seen["status"]["summary"]["rounds"] != 1 {
        seen = early.update();
    }
    let mut late = Reader::new(dashboard.address());
    assert_eq!((&late.update()["whole"], &seen["whole"]), (&true.into(), &true.into()));
    round(&dashboard, 2);
    for reader in [&mut early, &mut late] {
        let delta = reader.update();
        assert_eq!((&delta["whole"], &delta["status"]["summary"]["rounds"]), (&false.into(), &2.into()));
    }
    dashboard.live().end(None, 1.0);
    drop(dashboard);
    for reader in [&mut early, &mut late] {
        assert_eq!(reader.update()["status"]["state"], "stopped");
        assert_eq!(reader.event().map(|(name, _)| name), Some("bye".to_owned()));
        assert_eq!(reader.event(), None);
    }
}

#[test]
fn the_fleet_is_asked_for_page_by_page() {
    let dashboard = dashboard();
    assert_eq!(get(dashboard.address(), "/fleet").0, 404);
    begin(&dashboard, 10_000);
    (1..=4).for_each(|n| round(&dashboard, n));
    let (status, _, body) = get(dashboard.address(), "/fleet?sort=taken&descending=true&limit=2");
    let page: Value =
        serde_json::from_str(body.split("\r\n").find(|line| line.starts_with('{')).unwrap()).unwrap();
    assert_eq!((status, &page["devices"], &page["matching"]), (200, &10_000.into(), &10_000.into()));
    assert_eq!((&page["rows"][0]["device"], &page["rows"][0]["taken"]), (&"phone-0".into(), &4.into()));
    assert_eq!((&page["rows"][0]["frequency"], &page["rows"][0]["type"]), (&1.0.into(), &"phone".into()));
    let searched = get(dashboard.address(), "/fleet?search=NE-999&sort=compute_secs&offset=1").2;
    assert!(searched.contains("\"matching\":11") && searched.contains("phone-9990"), "{searched}");
    for wrong in ["sort=colour", "limit=-1", "what=ever"] {
        assert_eq!(get(dashboard.address(), &format!("/fleet?{wrong}")).0, 400, "{wrong}");
    }
}

/// A reader that has stopped reading holds up neither the run nor another reader, and when it wakes up it gets
/// the view as it is and not all that it missed.
#[test]
fn a_sleeper_holds_up_nobody() {
    let dashboard = dashboard();
    begin(&dashboard, 100);
    let mut sleeper = Reader::new(dashboard.address());
    sleeper.update();
    let mut awake = Reader::new(dashboard.address());
    awake.update();
    let mut slowest = Duration::ZERO;
    for n in 1..=200_000 {
        let started = Instant::now();
        round(&dashboard, n);
        slowest = slowest.max(started.elapsed());
    }
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    let mut last = awake.update();
    while last["status"]["summary"]["rounds"] != 200_000 {
        last = awake.update();
    }
    // What the system had buffered, and then the present: not two hundred thousand rounds.
    let mut updates = 1;
    while sleeper.update()["status"]["summary"]["rounds"] != 200_000 {
        updates += 1;
    }
    assert!(updates < 100, "{updates}");
}

#[test]
fn one_reader_too_many_is_told_so_and_a_place_is_free_again_later() {
    let dashboard = dashboard();
    let mut readers: Vec<Reader> = (0..READERS_MAX).map(|_| Reader::new(dashboard.address())).collect();
    readers.iter_mut().for_each(|reader| assert!(reader.status().contains(" 200 ")));
    assert!(Reader::new(dashboard.address()).status().contains(" 503 "));
    readers.pop();
    // The server notices when it has something to say, or at the latest when it says that it is there.
    let again = (0..100).any(|n| {
        begin(&dashboard, 1 + n % 2);
        std::thread::sleep(Duration::from_millis(50));
        Reader::new(dashboard.address()).status().contains(" 200 ")
    });
    assert!(again);
}

/// Half a request costs a place; when there are no more, it is the first to give way.
#[test]
fn half_sent_requests_keep_nobody_out() {
    let dashboard = dashboard();
    begin(&dashboard, 3);
    let mut reader = Reader::new(dashboard.address());
    reader.update();
    let half = || {
        let mut stream = connect(dashboard.address());
        write!(stream, "GET / HTTP/1.1\r\nHost: loc").unwrap();
        stream
    };
    let held: Vec<TcpStream> = (0..400).map(|_| half()).collect();
    for _ in 0..10 {
        assert_eq!(get(dashboard.address(), "/healthz").0, 200);
    }
    let mut oldest = &held[0];
    assert!(matches!(oldest.read(&mut [0; 1]), Ok(0) | Err(_)), "it is still served");
}

#[test]
fn half_a_request_is_given_up_within_seconds() {
    let dashboard = dashboard();
    let mut stream = connect(dashboard.address());
    write!(stream, "GET / HTTP/1.1\r\nHost: loc").unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(12))).unwrap();
    stream.read_to_end(&mut Vec::new()).expect("the server closes the connection");
}

#[test]
fn a_port_is_free_again_at_once_and_taken_only_once() {
    let first = dashboard();
    let address = first.address();
    let same = || Dashboard::serve(Address::parse(&address.to_string(), false).unwrap());
    let refused = same().unwrap_err();
    assert!(matches!(refused, DashboardError::Listen { .. }));
    assert!(refused.hint().contains("another program listens there"), "{}", refused.hint());
    // Not even somebody who does not read keeps it from ending.
    let sleeper = Reader::new(address);
    let started = Instant::now();
    drop(first);
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    same().unwrap();
    drop(sleeper);
}
