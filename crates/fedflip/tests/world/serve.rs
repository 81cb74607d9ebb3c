//! `fedflip serve` and `fedflip join` as processes of their own, with certificates.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use fedflip_net::state::StateView;

pub(crate) const ANY_PORT: &str = "127.0.0.1:0";

pub(crate) fn fedflip() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fedflip"));
    command.stdin(Stdio::null());
    command
}

pub(crate) fn done(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// A process that does not outlive its test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server whose log has said where it listens.
pub(crate) struct Serving {
    process: Running,
    pub(crate) address: String,
    log: std::thread::JoinHandle<Vec<serde_json::Value>>,
}

impl Serving {
    fn start(folder: &Path, listen: &str) -> Self {
        Self::start_with(folder, listen, &[])
    }

    pub(crate) fn start_with(folder: &Path, listen: &str, more: &[&str]) -> Self {
        let mut command = fedflip();
        command.arg("serve").arg(folder.join("s.toml")).arg("--certs").arg(folder.join("certs"));
        Self::spawned(command.args(more), folder, listen)
    }

    /// A server without certificates.
    pub(crate) fn start_plain(folder: &Path, listen: &str) -> Self {
        let mut command = fedflip();
        Self::spawned(command.arg("serve").arg(folder.join("s.toml")).arg("--insecure"), folder, listen)
    }

    fn spawned(command: &mut Command, folder: &Path, listen: &str) -> Self {
        command.arg("--out").arg(folder.join("run"));
        command.args(["--listen", listen, "--log", "json", "--json", "--dashboard", "0"]);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let address = loop {
            let line = lines.next().expect("the server listens").unwrap();
            let event: serde_json::Value = serde_json::from_str(&line).expect(&line);
            said.push(event.clone());
            if event["message"] == "listening" {
                break event["address"].as_str().unwrap().to_owned();
            }
        };
        let log = std::thread::spawn(move || {
            let objects = lines.map_while(Result::ok).map(|line| serde_json::from_str(&line).expect(&line));
            said.extend(objects);
            said
        });
        Self { process: Running(process), address, log }
    }

    pub(crate) fn end(mut self) -> (Option<i32>, serde_json::Value, Vec<serde_json::Value>) {
        let mut result = String::new();
        let mut output = self.process.0.stdout.take().unwrap();
        std::io::Read::read_to_string(&mut output, &mut result).unwrap();
        let code = self.process.0.wait().unwrap().code();
        (code, serde_json::from_str(&result).unwrap_or_default(), self.log.join().unwrap())
    }
}

pub(crate) fn device(folder: &Path, address: &str, name: &str) -> Running {
    device_with(folder, address, name, &[])
}

pub(crate) fn device_with(folder: &Path, address: &str, name: &str, more: &[&str]) -> Running {
    let mut command = fedflip();
    command.args(["join", address, "--log-level", "off", "--identity"]);
    command.arg(folder.join("certs/devices").join(name)).args(more);
    Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "the processes that are waited for go by the wall")]
pub(crate) fn a_moment() {
    std::thread::sleep(std::time::Duration::from_millis(50));
}

/// An authority, some devices, and a scenario of this number of rounds.
pub(crate) fn prepare(folder: &Path, devices: &[&str], rounds: u64) {
    let certs = folder.join("certs");
    done(fedflip().args(["certs", "init", "--dir"]).arg(&certs));
    done(fedflip().args(["certs", "device"]).args(devices).arg("--dir").arg(&certs));
    let scenario = format!(
        "[task]\nname = \"synthetic\"\n[data]\ntest_samples_max = 100\n[fleet]\ndevices = {}\n\
         [world]\ndropout = 0.1\n[plan]\nscheme = \"fixed=0.7\"\n[stop]\ntarget_accuracy = 1\nrounds_max = {rounds}\n\
         [pilot]\nloss = 1e-6\nrounds_max = 30\n",
        devices.len()
    );
    std::fs::write(folder.join("s.toml"), scenario).unwrap();
}

#[test]
fn a_run_ends_and_the_fleet_is_as_measured() {
    let desk = tempfile::tempdir().unwrap();
    let names = ["phone", "laptop", "tablet"];
    prepare(desk.path(), &names, 8);
    let server = Serving::start(desk.path(), ANY_PORT);
    let kept = desk.path().join("kept.safetensors");
    let keep =
        |name| if name == "tablet" { vec!["--save-model", kept.to_str().unwrap()] } else { Vec::new() };
    let mut devices: Vec<Running> =
        names.iter().map(|name| device_with(desk.path(), &server.address, name, &keep(*name))).collect();
    let (code, result, log) = server.end();
    assert_eq!(code, Some(0), "{log:?}");
    assert_eq!((&result["status"], &result["rounds"]), (&"cap".into(), &8.into()));
    for device in &mut devices {
        assert!(device.0.wait().unwrap().success(), "agents leave when the run is over");
    }
    let model = |path: &Path| std::fs::read(path).unwrap();
    assert!(model(&kept) == model(&desk.path().join("run/model.safetensors")), "the device keeps the model");
    assert!(!model(&desk.path().join("run/best.safetensors")).is_empty());
    let events = |message: &str| log.iter().filter(|event| event["message"] == message).collect::<Vec<_>>();
    let [dashboard] = events("serving a dashboard")[..] else { panic!("{log:?}") };
    assert!(dashboard["url"].as_str().unwrap().starts_with("http://127.0.0.1:"));
    let [unused] = events("the scenario has keys that are not used on real devices")[..] else {
        panic!("{log:?}")
    };
    assert_eq!((&unused["level"], &unused["keys"]), (&"WARN".into(), &"world.dropout".into()));
    // Records say what they are of.
    let records = std::fs::read_to_string(desk.path().join("run/records.jsonl")).unwrap();
    let header: serde_json::Value = serde_json::from_str(records.lines().next().unwrap()).unwrap();
    assert_eq!(header["deployed"]["constants"]["source"], "scenario");
    let export = ["export", "--table", "participants"];
    let rows = String::from_utf8(done(fedflip().args(export).arg(desk.path().join("run"))).stdout).unwrap();
    assert!(rows.lines().skip(1).all(|row| names.contains(&row.rsplit(',').next().unwrap())), "{rows}");
    assert!(rows.lines().count() > 8, "{rows}");
    // What was measured is what `fedflip plan` reads.
    let fleet = desk.path().join("run/fleet.csv");
    let plan = done(
        fedflip().args(["plan", "--json", "--bandwidth", "100", "--alpha", "12", "--beta", "2"]).arg(&fleet),
    );
    let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
    assert_eq!(plan["devices"], 3);
    // It is over, and stays so.
    let (code, again, log) = Serving::start(desk.path(), ANY_PORT).end();
    assert_eq!((code, &again["rounds"]), (Some(0), &8.into()));
    let says_so =
        |event: &serde_json::Value| event["message"].as_str().is_some_and(|text| text.contains("was over"));
    assert!(log.iter().any(says_so), "{log:?}");
    let other = fedflip()
        .arg("serve")
        .arg(desk.path().join("s.toml"))
        .args(["--set", "train.batch=8", "--insecure", "--listen", "127.0.0.1:0", "--out"])
        .arg(desk.path().join("run"))
        .output()
        .unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("another scenario"), "{other:?}");
}

#[cfg(unix)]
#[test]
fn a_server_that_is_told_to_stop_exits_well_and_goes_on_later() {
    let desk = tempfile::tempdir().unwrap();
    let names = ["a", "b"];
    prepare(desk.path(), &names, 1_000_000);
    let server = Serving::start(desk.path(), ANY_PORT);
    let port: String = server.address.clone();
    let _devices: Vec<Running> = names.iter().map(|name| device(desk.path(), &port, name)).collect();
    let records = desk.path().join("run/records.jsonl");
    let rounds = || std::fs::read_to_string(&records).map_or(0, |text| text.lines().count());
    while rounds() < 5 {
        a_moment();
    }
    let stop = Command::new("kill").args(["-TERM", &server.process.0.id().to_string()]).status().unwrap();
    assert!(stop.success());
    let (code, result, _) = server.end();
    assert_eq!((code, &result["status"]), (Some(0), &"stopped".into()));
    let before = rounds();
    // The same command, and the same devices: they come back by themselves.
    let server = Serving::start(desk.path(), &port);
    while rounds() < before + 3 {
        a_moment();
    }
    drop(server);
}

/// Pilots come before the run, and devices enrol for all of it: a server that is killed on the way knows who has
/// which place, and what was measured then.
#[test]
fn devices_keep_their_places_from_pilots_to_the_run() {
    let desk = tempfile::tempdir().unwrap();
    let names = ["a", "b"];
    prepare(desk.path(), &names, 1_000_000);
    let serve = |listen: &str| Serving::start_with(desk.path(), listen, &["--pilots"]);
    let run = desk.path().join("run");
    let kept = |folder: &str| StateView::open(&run.join(folder)).and_then(|view| view.devices());
    let rounds = |folder: &str| {
        let view = StateView::open(&run.join("pilots").join(folder));
        view.and_then(|view| view.rounds()).unwrap_or(0)
    };
    let server = serve(ANY_PORT);
    let address = server.address.clone();
    let _devices: Vec<Running> = names.iter().map(|name| device(desk.path(), &address, name)).collect();
    while rounds("uniform") < 2 {
        a_moment();
    }
    drop(server);
    let before = kept("").unwrap();
    assert_eq!(before.len(), names.len(), "the run knows them while its pilot is on");
    assert_eq!(kept("pilots/uniform").unwrap(), before);
    let _server = serve(&address);
    while rounds("full") < 1 {
        a_moment();
    }
    assert_eq!(kept("pilots/full").unwrap(), before);
    assert_eq!(kept("").unwrap(), before);
}

/// A file names devices as their certificates do. A device without a q is an error; the file may name more devices.
#[test]
fn a_plan_from_a_file_goes_by_the_names_of_the_certificates() {
    let desk = tempfile::tempdir().unwrap();
    let names = ["phone", "laptop", "tablet"];
    prepare(desk.path(), &names, 6);
    let scenario = std::fs::read_to_string(desk.path().join("s.toml")).unwrap();
    std::fs::write(desk.path().join("s.toml"), scenario.replace("fixed=0.7", "file=q.csv")).unwrap();
    let q = |text: &str| std::fs::write(desk.path().join("q.csv"), text).unwrap();
    q("device,q\nlaptop,0.5\nphone,1\ntablet-1,0.25\n");
    let free = std::net::TcpListener::bind(ANY_PORT).unwrap().local_addr().unwrap().to_string();
    let mut command = fedflip();
    command.args(["serve", "--listen", &free, "--log-level", "off"]).arg(desk.path().join("s.toml"));
    command.arg("--out").arg(desk.path().join("run")).arg("--certs").arg(desk.path().join("certs"));
    let server = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let devices: Vec<Running> = names.iter().map(|name| device(desk.path(), &free, name)).collect();
    let output = server.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("q.csv: there is no q for the device \"tablet\""), "{said}");
    assert!(said.contains("line 4 has \"tablet-1\""), "{said}");
    drop(devices);

    // The file is mended, and the same command continues.
    q("q,device\n0.25,tablet\n0.5,laptop\n1,phone\n0.75,watch\n");
    let server = Serving::start(desk.path(), ANY_PORT);
    let _devices: Vec<Running> =
        names.iter().map(|name| device(desk.path(), &server.address, name)).collect();
    let (code, result, log) = server.end();
    assert_eq!((code, &result["scheme"]), (Some(0), &"file=q.csv".into()), "{log:?}");
    let plan = std::fs::read_to_string(desk.path().join("run/plan.csv")).unwrap();
    for row in ["phone,1,", "laptop,0.5,", "tablet,0.25,"] {
        assert!(plan.lines().any(|line| line.starts_with(row)), "{plan}");
    }
    assert_eq!(plan.lines().count(), 4, "{plan}");
}

#[test]
fn strangers_stay_out() {
    let desk = tempfile::tempdir().unwrap();
    prepare(desk.path(), &["a", "lost"], 3);
    let other = tempfile::tempdir().unwrap();
    prepare(other.path(), &["a"], 3);
    done(fedflip().args(["certs", "revoke", "lost", "--dir"]).arg(desk.path().join("certs")));
    let server = Serving::start(desk.path(), ANY_PORT);
    let joined = |command: &mut Command| {
        let output = command.args(["--give-up-secs", "5", "--log-level", "off"]).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, errors) = joined(
        fedflip().args(["join", &server.address, "--identity"]).arg(other.path().join("certs/devices/a")),
    );
    assert_eq!(code, Some(2), "another authority: {errors}");
    assert!(errors.contains("hint: "), "{errors}");
    // Under TLS 1.3 a device may have begun to speak when it is refused: then the line breaks, and why is heard
    // the next time.
    let mut heard = String::new();
    for _ in 0..10 {
        let lost = desk.path().join("certs/devices/lost");
        let (code, errors) = joined(fedflip().args(["join", &server.address, "--identity"]).arg(lost));
        assert_eq!(code, Some(2), "revoked: {errors}");
        heard += &errors;
        if heard.contains("refuses this device") {
            break;
        }
    }
    assert!(heard.contains("refuses this device"), "{heard}");
    let broken = desk.path().join("broken");
    for file in ["cert.pem", "key.pem", "coin.key", "ca.pem"] {
        std::fs::create_dir_all(broken.join(file)).unwrap();
    }
    let (code, errors) = joined(fedflip().args(["join", &server.address, "--identity"]).arg(&broken));
    assert_eq!(code, Some(2), "files that are none: {errors}");
    assert!(errors.contains("cannot be read"), "{errors}");
    let (code, errors) = joined(fedflip().args(["join", &server.address, "--insecure", "--name", "a"]));
    assert_ne!(code, Some(0), "without a certificate: {errors}");
}

/// The agent tries again, because the server's certificate can be renewed; its log says how.
#[test]
fn a_server_of_another_name_is_told_with_the_names_of_its_certificate() {
    let desk = tempfile::tempdir().unwrap();
    prepare(desk.path(), &["a"], 3);
    let hosts = ["--host", "fl.example.org", "--host", "10.0.0.1"];
    done(fedflip().args(["certs", "server"]).args(hosts).arg("--dir").arg(desk.path().join("certs")));
    let server = Serving::start(desk.path(), ANY_PORT);
    let identity = desk.path().join("certs/devices/a");
    let problem = "is not for 127.0.0.1, by which it was called, but for fl.example.org, 10.0.0.1";
    let command = "`fedflip certs server --host fl.example.org --host 10.0.0.1 --host 127.0.0.1`";
    // One attempt ends with the error; further ones are logged.
    for (secs, place) in [("0", "error: "), ("5", "trying again")] {
        let join = ["join", &server.address, "--give-up-secs", secs, "--identity"];
        let output = fedflip().args(join).arg(&identity).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!([place, problem, command].iter().all(|text| told.contains(text)), "{told}");
    }
}

#[test]
fn a_refused_start_leaves_nothing_behind() {
    let desk = tempfile::tempdir().unwrap();
    let (scenario, run) = (desk.path().join("s.toml"), desk.path().join("run"));
    std::fs::write(&scenario, done(fedflip().args(["scenario", "new", "synthetic"])).stdout).unwrap();
    std::fs::create_dir(desk.path().join("certs")).unwrap();
    let certs = desk.path().join("certs").display().to_string();
    for (args, expected) in [
        (vec!["--insecure", "--devices-min", "101"], "--devices-min: 101 is out of range"),
        (vec!["--insecure", "--listen", "0.0.0.0:0"], "can be reached from other machines"),
        (
            vec!["--insecure", "--listen", ANY_PORT, "--metrics", "0.0.0.0:0"],
            "can be reached from other machines",
        ),
        (vec!["--certs", &certs, "--listen", ANY_PORT], "holds no certificate authority"),
        (vec!["--insecure", "--listen", "nowhere"], "is not an address"),
    ] {
        let output =
            fedflip().arg("serve").arg(&scenario).arg("--out").arg(&run).args(&args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
        assert!(!run.exists(), "{args:?}");
    }
}

#[test]
fn a_folder_that_holds_something_else_is_left_alone() {
    let desk = tempfile::tempdir().unwrap();
    prepare(desk.path(), &["a"], 1);
    let certs = desk.path().join("certs");
    let serve = |out: &Path| {
        let mut command = fedflip();
        command.args(["serve", "--insecure", "--listen", ANY_PORT, "--out"]).arg(out);
        command.arg(desk.path().join("s.toml"));
        command
    };
    let listing = || {
        let mut names: Vec<_> =
            std::fs::read_dir(&certs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = listing();
    let output = serve(&certs).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("certs is not a run folder (found") && said.contains("name a new folder"),
        "{said}"
    );
    assert_eq!(listing(), before);
    // What a server that was killed at its very start, or a new disk, has in it is no obstacle.
    let fresh = desk.path().join("fresh");
    std::fs::create_dir_all(fresh.join("lost+found")).unwrap();
    std::fs::write(fresh.join(".lock"), "").unwrap();
    let mut server = Running(serve(&fresh).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    while !fresh.join("state.sqlite").exists() {
        assert!(server.0.try_wait().unwrap().is_none(), "it runs");
        a_moment();
    }
}
