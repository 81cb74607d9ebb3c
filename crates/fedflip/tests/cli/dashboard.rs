//! `--dashboard`: where it may be, what it shows, and that it changes nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Desk;
use super::refusals::assert_refused;

/// Some hundred rounds, well under a second.
const QUICK: &str = "--set task.hidden=8 --set fleet.devices=20 --set data.test_samples_max=200 \
                     --set stop.target_accuracy=0.999 --set stop.rounds_max=120 --set plan.scheme=fixed=0.3 \
                     --set world.dropout=0.05 --quiet";

fn desk() -> Desk {
    let desk = Desk::new();
    let scenario = desk.stdout("scenario new synthetic");
    desk.write("s.toml", scenario);
    desk
}

/// A run that keeps its dashboard, and the address that it says.
fn start(desk: &Desk, line: &str) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fedflip"))
        .args(line.split_whitespace())
        .current_dir(desk.folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().strip_prefix("dashboard: http://").and_then(|rest| rest.strip_suffix('/'));
    (child, address.unwrap_or_else(|| panic!("{said}")).to_owned())
}

/// What the stream opens with.
fn snapshot(address: &str) -> serde_json::Value {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(stream, "GET /events HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
    serde_json::from_str(&data.unwrap()).unwrap()
}

#[test]
fn addresses_are_refused_with_what_would_be_right() {
    let desk = desk();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let cases: &[(&str, &[&str])] = &[
        (
            "0.0.0.0:8080",
            &["--dashboard: 0.0.0.0:8080", "other machines", "127.0.0.1:8080", "--dashboard-public"],
        ),
        ("[::]:80", &["[::]:80", "other machines"]),
        ("192.0.2.1:8080 --dashboard-public", &["cannot listen on 192.0.2.1:8080", "hint:"]),
        ("example.org:80", &["\"example.org:80\" is not an address", "HOST:PORT"]),
        ("99999", &["\"99999\" is not an address"]),
        ("-1", &["\"-1\" is not an address"]),
        (&taken, &["cannot listen on", "another program"]),
    ];
    for (address, wanted) in cases {
        for command in ["run", "compare", "pilot"] {
            assert_refused(&desk, &format!("{command} s.toml --dashboard {address}"), b"", wanted);
        }
    }
    for flag in ["--dashboard-public", "--keep-dashboard"] {
        assert_refused(&desk, &format!("run s.toml {flag}"), b"", &["--dashboard <ADDRESS>"]);
    }
}

#[test]
fn a_run_that_is_watched_comes_to_the_same_bytes_and_ends_as_ever() {
    let desk = desk();
    desk.stdout(&format!("run s.toml {QUICK} --out alone"));
    let output = desk.run(&format!("run s.toml {QUICK} --out watched --dashboard 0"));
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("dashboard: http://127.0.0.1:"));
    let records = |run: &str| std::fs::read(desk.folder.path().join(run).join("records.jsonl")).unwrap();
    assert_eq!(records("alone"), records("watched"));
}

#[cfg(unix)]
#[test]
fn a_dashboard_that_is_kept_shows_the_whole_run_until_it_is_interrupted() {
    let desk = desk();
    // The first half before, the second half watched: the view has both.
    desk.stdout(&format!("run s.toml {QUICK} --set stop.rounds_max=60 --out half"));
    let (mut child, address) =
        start(&desk, &format!("run s.toml {QUICK} --out half --resume --dashboard 0 --keep-dashboard"));
    let mut view = snapshot(&address);
    while view["status"]["state"] != "ended" {
        view = snapshot(&address);
    }
    let status = &view["status"];
    assert_eq!((&status["summary"]["rounds"], &status["header"]["task"]), (&120.into(), &"synthetic".into()));
    assert_eq!((&status["header"]["devices"], &status["folder"]), (&20.into(), &"half".into()));
    // The first model and 120 rounds, in pairs: the last one waits for its pair. The curve begins at time 0.
    let curve = view["curves"]["metrics"]["accuracy"]["new"].as_array().unwrap();
    assert_eq!((curve.len(), curve[0].as_f64()), (2 * 120, Some(0.0)));
    // What was found is handed out before, so that a script need not wait.
    let mut said = vec![0; 20];
    child.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
    assert!(said.starts_with(b"synthetic under"), "{}", String::from_utf8_lossy(&said));
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(child.wait().unwrap().success());
}
