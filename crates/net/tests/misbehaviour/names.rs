//! Devices that say they are somebody else.

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_net::coin::CoinKey;
use fedflip_net::door::{Security, client_config};
use fedflip_net::identity::Store;
use fedflip_net::identity::mint::{self, Identity, Signer, Validity};
use fedflip_net::reason::Reason;
use fedflip_net::state::StateView;
use tonic::Code;

use crate::bench::{Bench, Wanted};
use crate::device::Device;
use crate::refuse;

/// Who speaks is the certificate, whatever else is said; and a name has one coin.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_devices_name_is_of_no_use() {
    let certs = tempfile::tempdir().unwrap();
    let now = rustls_pki_types::UnixTime::now().as_secs() as i64;
    let validity = Validity { now_unix_secs: now, days: 30 };
    let mut store = Store::create(certs.path(), &["localhost".to_owned()], validity).unwrap();
    let [victim, thief] =
        ["victim", "thief"].map(|name| store.device(&name.parse().unwrap(), validity).unwrap());
    let security = Security::MutualTls { certs_folder: certs.path().to_owned() };
    let bench = Bench::serve(Wanted { security, ..Wanted::full(2, 2) });
    let learner = bench.wanted.learner();
    let connect = async |name: &str, folder| {
        Device::connect_tls(bench.address, name, client_config(folder).unwrap()).await.unwrap()
    };
    let mut victim = connect("victim", &victim).await;
    victim.come_in(&learner).await;
    let mut thief = connect("victim", &thief).await;
    thief.come_in(&learner).await;
    assert_ne!(victim.slot, thief.slot, "it is not the victim");
    // The authority was careless, and gave the name to somebody else: its coin is another one.
    let mut namesake = connect("victim", &second_identity(certs.path(), "victim", validity)).await;
    refuse(namesake.hello().await, Code::PermissionDenied, "other_coin");
    refuse(namesake.attend().await, Code::PermissionDenied, "other_coin");
    assert_eq!(bench.metrics.refused.get(Reason::OtherCoin), 2);

    let opened = victim.opened().await.unwrap();
    // The victim's proof is no proof of the thief's.
    thief.opened().await.unwrap();
    thief.answer(opened.round, victim.proof(&opened, opened.round).1).await;
    assert_eq!(thief.refusal().await.reason, "false_coin");
    let grant = victim.take_part(&opened).await;
    let update = victim.trained(&grant, &learner).await;
    let stolen = thief.upload(Device::head(&grant, &update), &update.bytes).await;
    refuse(stolen, Code::PermissionDenied, "not_granted");
    assert!(!victim.upload(Device::head(&grant, &update), &update.bytes).await.unwrap());
    for device in [&mut victim, &mut thief] {
        let opened = device.opened().await.unwrap();
        device.answer(opened.round, Vec::new()).await;
    }
    assert!(victim.opened().await.is_none() && thief.opened().await.is_none());
    drop((victim, thief));
    let (_, replayed, folder) = bench.ended();
    assert_eq!((replayed.rounds, replayed.accepted, replayed.lost), (2, 1, 0));
    let devices = StateView::open(folder.path()).unwrap().devices().unwrap();
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["victim", "thief"]);
}

/// A certificate for a name that has one already.
fn second_identity(certs: &Path, name: &str, validity: Validity) -> PathBuf {
    let read = |file: &str| fs::read_to_string(certs.join(file)).unwrap();
    let signer = Signer::new(&Identity { certificate_pem: read("ca.pem"), key_pem: read("ca.key") }).unwrap();
    let coin = CoinKey::generate();
    let identity = signer.device(&name.parse().unwrap(), &coin.public(), mint::serial(), validity).unwrap();
    let folder = certs.join("second");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("ca.pem"), read("ca.pem")).unwrap();
    fs::write(folder.join("cert.pem"), identity.certificate_pem).unwrap();
    fs::write(folder.join("key.pem"), identity.key_pem).unwrap();
    fs::write(folder.join("coin.key"), mint::hex(&coin.to_bytes())).unwrap();
    folder
}
