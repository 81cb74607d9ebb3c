//! Identities, as whoever runs a server makes them.

use std::fs;

use super::Desk;

#[test]
fn an_authority_issues_lists_and_revokes() {
    let desk = Desk::new();
    assert!(desk.stdout("certs init").starts_with("certs: an authority"));
    let folders = desk.stdout("certs device phone-01 laptop_2 --days 30");
    assert_eq!(folders, "certs/devices/phone-01\ncerts/devices/laptop_2\n");
    for name in ["cert.pem", "key.pem", "coin.key", "ca.pem"] {
        assert!(desk.folder.path().join("certs/devices/phone-01").join(name).is_file(), "{name}");
    }
    desk.stdout("certs revoke phone-01");
    let listed = desk.stdout("certs list");
    assert!(listed.contains("revoked") && listed.contains("valid for 30 days"), "{listed}");
    let json = desk.json("certs list");
    assert!(json[0]["revoked_unix_secs"].is_i64() && json[1]["revoked_unix_secs"].is_null(), "{json}");
    assert_ne!(json[0]["coin"], json[1]["coin"]);
}

#[test]
fn the_servers_certificate_can_be_renewed() {
    let desk = Desk::new();
    desk.stdout("certs init");
    let place = desk.folder.path().join("certs/server");
    let before = fs::read(place.join("cert.pem")).unwrap();
    assert_eq!(
        desk.stdout("certs server --host fl.example.org --days 9"),
        "certs/server: valid for 9 days at fl.example.org\n"
    );
    assert_ne!(fs::read(place.join("cert.pem")).unwrap(), before);
    assert!(place.join("key.pem").is_file() && place.join("ca.pem").is_file());
    assert!(!desk.folder.path().join("certs/.old").exists());
    assert_eq!(desk.stdout("certs server --host h.example --host 10.0.0.1 --host ::1").lines().count(), 1);
    assert_eq!(
        desk.stdout("certs server --days 8"),
        "certs/server: valid for 8 days at h.example, 10.0.0.1, ::1\n",
        "a renewal keeps the names"
    );
    let refused = desk.run("certs server --host a_b");
    assert_eq!(refused.status.code(), Some(2));
    assert!(place.join("cert.pem").is_file(), "a refusal changes nothing");
}

#[test]
fn a_device_is_renewed_under_its_name() {
    let desk = Desk::new();
    desk.stdout("certs init");
    desk.stdout("certs device a b --days 20");
    let read = |file: &str| fs::read(desk.folder.path().join("certs/devices/a").join(file)).unwrap();
    let before = ["cert.pem", "key.pem", "coin.key"].map(read);
    assert!(desk.stdout("certs list").contains("valid for 20 days, due for renewal"));
    assert_eq!(desk.stdout("certs renew a --days 90"), "certs/devices/a/cert.pem\n");
    let after = ["cert.pem", "key.pem", "coin.key"].map(read);
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..], "only the certificate changes");
    assert!(desk.stdout("certs list").contains("valid for 90 days\n"));
    desk.stdout("certs revoke a");
    for (line, expected) in [
        ("certs renew b a", "a was revoked, and cannot be renewed"),
        ("certs renew c", "no identity of this name"),
        ("certs renew ../b", "is not a valid device name"),
    ] {
        let refused = desk.run(line);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{line}: {said}");
        assert!(said.contains(expected) && said.contains("hint: "), "{line}: {said}");
    }
    assert!(desk.stdout("certs list").contains("valid for 20 days"), "a refusal renews nobody");
}

#[test]
fn what_cannot_be_issued_is_said() {
    let desk = Desk::new();
    for (line, code, expected) in [
        ("certs device a", 2, "hint: make one with fedflip certs init"),
        ("certs init --host a_b", 2, "is not a name or address of a server"),
        ("certs init", 0, ""),
        ("certs init", 2, "already exists"),
        ("certs init", 2, "for another one, name another folder with --dir"),
        ("certs device ../x", 2, "is not a valid device name"),
        ("certs device ok ../x", 2, "is not a valid device name"),
        ("certs device ok", 0, ""),
        ("certs device ok", 2, "already exists"),
        ("certs device new ok", 2, "devices/ok: already exists"),
        ("certs device new new", 2, "devices/new: already exists"),
        ("certs device new", 0, ""),
        ("certs revoke ok2", 2, "did you mean ok?"),
        ("certs device a --days 0", 2, "0 is not in 1..=3650"),
    ] {
        let output = desk.run(line);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{line}: {said}");
        assert!(said.contains(expected), "{line}: {said}");
    }
    fs::write(desk.folder.path().join("certs/issued.json"), "[{]").unwrap();
    let damaged = desk.run("certs list");
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("certs/issued.json"));
}
