//! The files in `deploy/`: units, containers, dashboard and settings name only what the programs have.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use fedflip_net::status::{DeviceStatus, FleetStatus, Metrics, Standing};
use fedflip_record::{Estimated, Target, TargetMode};

use super::Desk;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All words of a text that begin with `start`.
fn words<'a>(text: &'a str, start: &str) -> BTreeSet<&'a str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split(|c| !is_part(c)).filter(|word| word.starts_with(start)).collect()
}

fn a_device() -> DeviceStatus {
    DeviceStatus {
        slot: 0,
        name: "phone-01".to_owned(),
        is_connected: true,
        standing: Standing::Active,
        version: "1".to_owned(),
        samples: 10.0,
        compute_secs: 1.0,
        comm_mbit: 1.0,
        link_mbps: Some(2.0),
        availability: 1.0,
        certificate_until_unix_secs: Some(1),
        last_seen_unix_secs: None,
    }
}

#[test]
fn the_dashboard_asks_for_metrics_that_the_server_exports() {
    let metrics = Metrics::default();
    let some = || [("accuracy", 0.5)].into_iter().collect();
    let estimated = Estimated { devices: 5, share: 0.5, se: some(), limit: some() };
    metrics.evaluated(&some(), Some(&estimated));
    metrics.server_certificate_until.set(1.0);
    metrics.overhead_secs.set(0.1);
    metrics.ask_for_devices(Arc::new(|| Some(FleetStatus { unix_secs: 0, devices: vec![a_device()] })));
    metrics.ends_at(&Target { metric: "accuracy".to_owned(), at: 0.9, mode: TargetMode::Max });
    let exported = metrics.render();
    let exported = words(&exported, "fedflip_");
    let dashboard: serde_json::Value = serde_json::from_str(&file("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 10);
    for panel in panels {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let asked = words(query, "fedflip_");
            assert!(!asked.is_empty() && asked.is_subset(&exported), "{}: {query}", panel["title"]);
        }
    }
    // What the server exports of devices and certificates is there to be seen.
    let shown = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries: String = shown.map(|target| target["expr"].as_str().unwrap().to_owned() + "\n").collect();
    let hidden: Vec<&&str> = exported
        .iter()
        .filter(|name| name.starts_with("fedflip_device_") || name.contains("certificate"))
        .filter(|name| !words(&queries, "fedflip_").contains(**name))
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "every panel has its own id");
}

/// Parses the words as they stand, and shows help instead of doing anything.
#[track_caller]
fn accepts(line: &str) {
    let output = Desk::new().run(&format!("{line} --help"));
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_units_and_the_compose_file_use_options_that_the_programs_have() {
    for (unit, program) in [("fedflip-serve.service", "fedflip "), ("fedflip-join.service", "fedflip-join ")]
    {
        let text = file(unit);
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/")).unwrap();
        let options = line.strip_prefix(program).unwrap().replace("$FEDFLIP_SERVE_OPTIONS", "");
        accepts(&if program == "fedflip " { options } else { format!("join {options}") });
    }
    let compose = file("compose.yaml");
    let (_, command) = compose.split_once("    command:\n").unwrap();
    let command: Vec<&str> = command.lines().map_while(|line| line.strip_prefix("      - ")).collect();
    assert_eq!(command[0], "serve");
    accepts(&command.join(" "));
    // A container does not see that a single mounted file was replaced: certificates come in folders.
    let mut mounts = compose.lines().filter(|line| line.trim_start().starts_with("- ./state/"));
    assert!(mounts.all(|mount| !mount.contains(".pem") && !mount.contains("certs/server:")));
    for needed in fedflip_net::door::SERVER_FILES {
        let name = needed.split('/').next().unwrap();
        assert!(compose.contains(&format!(" {name} ")), "{name} is copied for the server");
    }
}

#[test]
fn join_takes_the_settings_of_its_file() {
    let desk = Desk::new();
    desk.write("agent.toml", "server = \"fl.example.org:7700\"\nidentity = \"phone-01\"\n");
    let refused = |line: &str| {
        let output = desk.run(line);
        assert_eq!(output.status.code(), Some(2), "{line}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused("join --config agent.toml");
    assert!(said.contains("--identity: phone-01 holds no identity of a device"), "{said}");
    let said = refused("join --config agent.toml not-an-address");
    assert!(said.contains("not-an-address"), "the command line has precedence: {said}");
    desk.write("agent.toml", "\nsevrer = \"fl.example.org:7700\"\n");
    let said = refused("join --config agent.toml");
    assert!(said.starts_with("error: agent.toml, line 2: there is no key \"sevrer\"\n"), "{said}");
    assert!(said.contains("hint: did you mean server?"), "{said}");
    let said = refused("join");
    assert!(said.contains("<SERVER>") && said.contains("--identity"), "{said}");
}
