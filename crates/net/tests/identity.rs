//! An authority as its users have it: what it issues is good for its purpose, for its time, and until it is
//! revoked.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::time::Duration;

use fedflip_net::identity::mint::Validity;
use fedflip_net::identity::{DeviceName, Store};
use fedflip_net::{CoinKey, NetError};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, UnixTime};
use webpki::{
    CertRevocationList, EndEntityCert, KeyUsage, OwnedCertRevocationList, RevocationOptionsBuilder,
};

const NOW: i64 = 1_800_000_000;
const DAY: u64 = 86_400;

fn validity() -> Validity {
    Validity { now_unix_secs: NOW, days: 30 }
}

fn name(text: &str) -> DeviceName {
    text.parse().unwrap()
}

fn new_store(folder: &Path) -> Store {
    Store::create(folder, &["localhost".to_owned(), "127.0.0.1".to_owned()], validity()).unwrap()
}

/// What a server would say to this certificate after this number of days.
fn verdict(authority: &Path, certificate: &Path, usage: KeyUsage, days: u64) -> Result<(), webpki::Error> {
    let read = |path: &Path| CertificateDer::from_pem_file(path).unwrap();
    let (root, leaf) = (read(&authority.join("ca.pem")), read(certificate));
    let list = CertificateRevocationListDer::from_pem_file(authority.join("revoked.pem")).unwrap();
    let list = CertRevocationList::from(OwnedCertRevocationList::from_der(&list).unwrap());
    let lists = [&list];
    let anchors = [webpki::anchor_from_trusted_cert(&root).unwrap()];
    let time = UnixTime::since_unix_epoch(Duration::from_secs(NOW as u64 + days * DAY));
    let revocation = RevocationOptionsBuilder::new(&lists).unwrap().build();
    EndEntityCert::try_from(&leaf)
        .unwrap()
        .verify_for_usage(webpki::ALL_VERIFICATION_ALGS, &anchors, &[], time, usage, Some(revocation), None)
        .map(|_| ())
}

#[test]
fn identities_are_good_for_their_purpose_and_time() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(&desk.path().join("ca"));
    let folder = store.device(&name("phone-01"), validity()).unwrap();
    let at = |usage, days| verdict(&desk.path().join("ca"), &folder.join("cert.pem"), usage, days);
    assert_eq!(at(KeyUsage::client_auth(), 0), Ok(()));
    assert_eq!(at(KeyUsage::client_auth(), 29), Ok(()));
    assert!(at(KeyUsage::client_auth(), 31).is_err(), "it has expired");
    assert!(at(KeyUsage::server_auth(), 0).is_err(), "a device is no server");
    let server = desk.path().join("ca/server/cert.pem");
    assert_eq!(verdict(&desk.path().join("ca"), &server, KeyUsage::server_auth(), 0), Ok(()));
    assert!(verdict(&desk.path().join("ca"), &server, KeyUsage::client_auth(), 0).is_err());

    let mut stranger = new_store(&desk.path().join("other"));
    let stranger = stranger.device(&name("phone-01"), validity()).unwrap().join("cert.pem");
    assert!(
        verdict(&desk.path().join("ca"), &stranger, KeyUsage::client_auth(), 0).is_err(),
        "of another authority"
    );
}

#[test]
fn a_revoked_device_is_refused_and_the_others_are_not() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(desk.path());
    let [lost, kept] =
        ["lost", "kept"].map(|text| store.device(&name(text), validity()).unwrap().join("cert.pem"));
    store.revoke("lost", NOW + 5).unwrap();
    let at = |certificate: &Path| verdict(desk.path(), certificate, KeyUsage::client_auth(), 1);
    assert_eq!(at(&lost), Err(webpki::Error::CertRevoked));
    assert_eq!(at(&kept), Ok(()));
    drop(store);
    // What was revoked stays so, whoever comes later.
    let mut again = Store::open(desk.path()).unwrap();
    again.revoke("lost", NOW + 999).unwrap();
    assert_eq!(again.issued()[0].revoked_unix_secs, Some(NOW + 5));
    assert_eq!(at(&lost), Err(webpki::Error::CertRevoked));
    let unknown = again.revoke("keep", NOW).unwrap_err();
    assert_eq!(unknown.hint(), "did you mean kept?");
    // A server finds the name of a device that is away, without the list of all identities.
    let names = || fs::read_to_string(desk.path().join("revoked.json")).unwrap();
    assert_eq!(names().split_whitespace().collect::<String>(), "[\"lost\"]");
    fs::remove_file(desk.path().join("revoked.json")).unwrap();
    drop(again);
    Store::open(desk.path()).unwrap();
    assert!(names().contains("lost"), "an authority of an earlier version gets the file");
}

/// A renewal needs none of the device's secrets, and a revocation holds for every certificate of the device.
#[test]
fn a_renewed_certificate_is_of_the_same_key_and_coin() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(desk.path());
    let folder = store.device(&name("phone-01"), validity()).unwrap();
    let (first, second) = (desk.path().join("first.pem"), folder.join("cert.pem"));
    fs::copy(&second, &first).unwrap();
    let secrets = ["key.pem", "coin.key"].map(|file| (folder.join(file), desk.path().join(file)));
    for (inside, outside) in &secrets {
        fs::rename(inside, outside).unwrap();
    }
    let later = Validity { now_unix_secs: NOW + 20 * DAY as i64, days: 30 };
    assert_eq!(store.renew(&name("phone-01"), later).unwrap(), second);
    for (inside, outside) in &secrets {
        fs::rename(outside, inside).unwrap();
    }
    let at = |certificate: &Path, days| verdict(desk.path(), certificate, KeyUsage::client_auth(), days);
    assert_eq!((at(&first, 25), at(&second, 25)), (Ok(()), Ok(())), "the old one stays valid");
    assert!(at(&first, 40).is_err());
    assert_eq!(at(&second, 40), Ok(()));
    let [old, new] = [&first, &second].map(|path| CertificateDer::from_pem_file(path).unwrap());
    let key = |certificate: &CertificateDer<'_>| {
        EndEntityCert::try_from(certificate).unwrap().subject_public_key_info().to_vec()
    };
    assert_eq!(key(&old), key(&new));
    let said = format!("fedflip:device/phone-01/coin/{}", store.issued()[0].coin);
    assert!(new.windows(said.len()).any(|window| window == said.as_bytes()));
    assert_eq!(store.issued()[0].not_after_unix_secs, NOW + 50 * DAY as i64);
    drop(store);
    let mut store = Store::open(desk.path()).unwrap();
    store.revoke("phone-01", NOW + 21 * DAY as i64).unwrap();
    assert_eq!(at(&first, 25), Err(webpki::Error::CertRevoked));
    assert_eq!(at(&second, 25), Err(webpki::Error::CertRevoked));
    assert!(matches!(store.renew(&name("phone-01"), later), Err(NetError::Revoked { .. })));
    assert!(matches!(store.renew(&name("phone-02"), later), Err(NetError::Unknown { .. })));
}

#[test]
fn the_certificate_vouches_for_the_coin() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(desk.path());
    let folder = store.device(&name("phone-01"), validity()).unwrap();
    let digits = fs::read_to_string(folder.join("coin.key")).unwrap();
    let bytes: Vec<u8> =
        (0..32).map(|place| u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).unwrap()).collect();
    let coin = CoinKey::from_bytes(bytes.try_into().unwrap()).unwrap();
    let public: String = coin.public().to_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(store.issued()[0].coin, public);
    let certificate = CertificateDer::from_pem_file(folder.join("cert.pem")).unwrap();
    let said = format!("fedflip:device/phone-01/coin/{public}");
    assert!(certificate.windows(said.len()).any(|window| window == said.as_bytes()));
}

#[test]
fn names_are_given_once_and_authorities_made_once() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(desk.path());
    store.device(&name("a"), validity()).unwrap();
    assert!(matches!(store.device(&name("a"), validity()), Err(NetError::Exists { .. })));
    assert!(matches!(Store::open(desk.path()), Err(NetError::Locked { .. })), "one at a time");
    drop(store);
    assert!(matches!(Store::create(desk.path(), &[], validity()), Err(NetError::Exists { .. })));
    assert!(matches!(Store::open(&desk.path().join("none")), Err(NetError::NoAuthority { .. })));
    // A name that was revoked is not given again either.
    let mut store = Store::open(desk.path()).unwrap();
    store.revoke("a", NOW).unwrap();
    fs::remove_dir_all(desk.path().join("devices/a")).unwrap();
    assert!(matches!(store.device(&name("a"), validity()), Err(NetError::Exists { .. })));
    let bad = Store::create(&desk.path().join("new"), &["not a host".to_owned()], validity());
    assert!(matches!(bad, Err(NetError::BadHost { .. })) && !desk.path().join("new").exists());
}

#[cfg(unix)]
#[test]
fn secrets_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let desk = tempfile::tempdir().unwrap();
    let mut store = new_store(&desk.path().join("ca"));
    let device = store.device(&name("a"), validity()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let ca = desk.path().join("ca");
    for secret in
        [ca.join("ca.key"), ca.join("server/key.pem"), device.join("key.pem"), device.join("coin.key")]
    {
        assert_eq!(mode(&secret), 0o600, "{}", secret.display());
    }
    assert_eq!(mode(&device), 0o700);
}

/// The library that writes certificates panics at times that they cannot hold.
#[test]
fn times_that_no_certificate_can_hold_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = new_store(folder.path());
    for days in [3_000_000, u32::MAX] {
        let refused = store.device(&name("later"), Validity { days, ..validity() }).unwrap_err();
        assert!(refused.to_string().contains("since 1970"), "{refused}");
    }
    store.device(&name("phone"), validity()).unwrap();
    store.revoke("phone", validity().now_unix_secs).unwrap();
    drop(store);
    let path = folder.path().join("issued.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let now = format!("\"revoked_unix_secs\": {}", validity().now_unix_secs);
    for wrong in [-1, -62_200_000_000, 253_402_300_800, i64::MIN, i64::MAX] {
        std::fs::write(&path, text.replace(&now, &format!("\"revoked_unix_secs\": {wrong}"))).unwrap();
        let refused = Store::open(folder.path()).unwrap().revoke("phone", 1_800_000_000).unwrap_err();
        assert!(
            refused
                .to_string()
                .ends_with(&format!("phone was revoked {wrong} s after 1970: this time is out of range"))
        );
    }
}
