//! An operator's day: certificates are renewed, devices leave, and settings change, while a run is in progress.

use std::path::Path;
use std::process::Command;

use fedflip_record::{Line, Replan};
use serde_json::Value;

use crate::serve::{ANY_PORT, Running, Serving, a_moment, device, done, fedflip, prepare};

fn lines(folder: &Path) -> Vec<Line> {
    let records = std::fs::read_to_string(folder.join("run/records.jsonl")).unwrap_or_default();
    records.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn rounds(folder: &Path) -> usize {
    lines(folder).iter().filter(|line| matches!(line, Line::Round(_))).count()
}

fn replans(folder: &Path) -> Vec<Replan> {
    let replan = |line| if let Line::Replan(replan) = line { Some(replan) } else { None };
    lines(folder).into_iter().filter_map(replan).collect()
}

fn listed(folder: &Path) -> Value {
    let listing = fedflip().args(["devices", "list", "--json", "--run"]).arg(folder.join("run")).output();
    serde_json::from_slice(&listing.unwrap().stdout).unwrap_or_default()
}

fn listed_device(folder: &Path, name: &str) -> Value {
    let devices = listed(folder);
    let found = devices.as_array().and_then(|devices| devices.iter().find(|device| device["name"] == name));
    found.cloned().unwrap_or_default()
}

fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1200 {
        if holds() {
            return;
        }
        a_moment();
    }
    panic!("it never happens: {what}");
}

fn refused(command: &mut Command, expected: &str) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(expected) && said.contains("hint: "), "{said}");
}

#[test]
fn devices_are_renewed_retired_and_revoked_while_the_run_goes_on() {
    let desk = tempfile::tempdir().unwrap();
    let (folder, certs) = (desk.path(), desk.path().join("certs"));
    let names = ["a", "b", "c", "d"];
    prepare(folder, &names, 1_000_000);
    let server = Serving::start_with(folder, ANY_PORT, &["--window-secs", "0.5"]);
    let mut devices: Vec<Running> = names.iter().map(|name| device(folder, &server.address, name)).collect();
    wait_for("rounds", || rounds(folder) > 3);
    wait_for("all are connected", || {
        names.iter().all(|name| listed_device(folder, name)["state"] == "connected")
    });
    let before = listed_device(folder, "a");
    assert_eq!(before["version"], env!("CARGO_PKG_VERSION"));
    let until = |device: &Value| device["certificate_until_unix_secs"].as_i64().unwrap();
    done(fedflip().args(["certs", "renew", "a", "--days", "700", "--dir"]).arg(&certs));
    wait_for("the agent and the server take up the new certificate", || {
        until(&listed_device(folder, "a")) > until(&before) + 300 * 86_400
    });
    assert_eq!(listed_device(folder, "a")["slot"], before["slot"]);

    let run = folder.join("run");
    let retire = |names: &[&str]| {
        let mut command = fedflip();
        command.args(["devices", "retire"]).args(names).arg("--run").arg(&run);
        command
    };
    refused(&mut retire(&["bb"]), "no device of this name has enrolled");
    refused(&mut retire(&names), "no device would be left");
    let slot = |name: &str| listed_device(folder, name)["slot"].as_u64().unwrap() as usize;
    let [b, c] = ["b", "c"].map(slot);
    done(&mut retire(&["b"]));
    wait_for("a plan without the retired device", || replans(folder).iter().any(|plan| plan.retired == [b]));
    assert_eq!(devices[1].0.wait().unwrap().code(), Some(2), "its agent ends");
    // A device that is away is revoked like any other, and the server needs no list of all identities.
    drop(devices.remove(2));
    wait_for("one is away", || listed_device(folder, "c")["state"] == "away");
    done(fedflip().args(["certs", "revoke", "c", "--dir"]).arg(&certs));
    std::fs::rename(certs.join("issued.json"), folder.join("issued.json")).unwrap();
    let both = if b < c { [b, c] } else { [c, b] };
    wait_for("a plan without the revoked device", || {
        replans(folder).iter().any(|plan| plan.retired == both && plan.reason.contains("c was revoked"))
    });
    assert_eq!(listed_device(folder, "b")["state"], "retired");
    assert_eq!(listed_device(folder, "c")["state"], "revoked");
    let after = rounds(folder);
    wait_for("rounds of the others", || rounds(folder) > after + 3);
    let text = done(fedflip().args(["devices", "list", "--run"]).arg(&run)).stdout;
    assert!(String::from_utf8(text).unwrap().lines().count() > 4);
    drop(server);
    // Also without a server.
    done(&mut retire(&["d"]));
    assert_eq!(listed_device(folder, "d")["state"], "retired");
}

#[test]
fn targets_caps_and_deadlines_change_and_what_rounds_compute_does_not() {
    let desk = tempfile::tempdir().unwrap();
    let (folder, names) = (desk.path(), ["a", "b"]);
    prepare(folder, &names, 5);
    let serve = |set: &[&str]| {
        let set: Vec<&str> = set.iter().flat_map(|value| ["--set", *value]).collect();
        let server = Serving::start_with(folder, ANY_PORT, &set);
        let _devices = names.map(|name| device(folder, &server.address, name));
        server.end()
    };
    let (code, result, _) = serve(&[]);
    assert_eq!((code, &result["rounds"]), (Some(0), &5.into()));
    let raised = ["stop.rounds_max=9", "stop.at=0.999", "round.deadline_secs=30"];
    let (code, result, log) = serve(&raised);
    assert_eq!((code, &result["rounds"]), (Some(0), &9.into()), "{log:?}");
    let changed: Vec<_> = lines(folder)
        .into_iter()
        .filter_map(|line| if let Line::Changed(changed) = line { Some(changed) } else { None })
        .collect();
    let [changed] = &changed[..] else { panic!("{changed:?}") };
    let keys: Vec<&str> = changed.changes.iter().map(|change| change.key.as_str()).collect();
    assert_eq!(
        (changed.after_round, &keys[..]),
        (5, &["stop.at", "stop.rounds_max", "round.deadline_secs"][..])
    );
    assert_eq!(changed.stop.as_ref().map(|target| target.at), Some(0.999));
    // The same settings again change nothing.
    let before = lines(folder).len();
    serve(&raised);
    assert_eq!(lines(folder).len(), before);
    // A target that the model has reached ends the run without another round.
    let (_, result, _) = serve(&["stop.rounds_max=20", "stop.at=0.01", "round.deadline_secs=30"]);
    assert_eq!((&result["status"], &result["rounds"]), (&"reached".into(), &9.into()));
    // A model that was the best by another metric is not kept as the best.
    let best = folder.join("run/best.safetensors");
    assert!(best.exists());
    let (_, result, _) =
        serve(&["stop.rounds_max=9", "stop.metric=loss", "stop.at=1e-9", "round.deadline_secs=30"]);
    assert_eq!((&result["status"], &result["rounds"]), (&"cap".into(), &9.into()));
    assert!(!best.exists());
    let report = done(fedflip().arg("report").arg(folder.join("run")).arg("--json"));
    assert!(!report.stdout.is_empty());
    let mut other = fedflip();
    other.arg("serve").arg(folder.join("s.toml")).args(["--insecure", "--listen", ANY_PORT, "--out"]);
    refused(
        other.arg(folder.join("run")).args(["--set", "train.batch=8"]),
        "`train.batch = 8`; a run keeps the values of these keys",
    );
}
