//! An agent and a server whose clocks do not agree on a certificate.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials, News};
use fedflip_net::coin::CoinKey;
use fedflip_net::door::{DeviceTls, Limits};
use fedflip_net::identity::mint::Validity;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::bench::{Bench, now_unix_secs};

/// An agent with an identity that the server takes for expired; by its own clock it is good until then.
fn settings(bench: &Bench, folder: &Path, valid_until_unix_secs: i64) -> AgentSettings {
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    let config = ClientTlsConfig::new()
        .ca_certificate(Certificate::from_pem(read("ca.pem")))
        .identity(Identity::from_pem(read("cert.pem"), read("key.pem")));
    let tls = Some(DeviceTls { config, valid_until_unix_secs, folder: None, certificate_pem: Vec::new() });
    AgentSettings {
        server: format!("localhost:{}", bench.address.port()),
        credentials: Credentials { name: "early".parse().unwrap(), coin: CoinKey::generate(), tls },
        trains: BuiltInTasks::in_folder("no data set is needed"),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: None,
    }
}

/// A server whose clock has jumped forward loses its agents for a while, and not for good.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_ends_only_when_its_own_clock_agrees() {
    let mut bench = Bench::open(Limits::default()).await;
    let past = Validity { now_unix_secs: now_unix_secs() - 40 * 86_400, days: 30 };
    let folder = bench.store.device(&"early".parse().unwrap(), past).unwrap();
    let still_good = settings(&bench, &folder, now_unix_secs() + 1000);
    let (tell, told) = mpsc::channel();
    // It waits when the test is over; nobody waits for it.
    std::thread::spawn(move || agent::join(&still_good, &|| false, &mut |news| drop(tell.send(news))));
    let (problem, wait) = loop {
        match told.recv_timeout(Duration::from_secs(20)).expect("it goes on, and says so") {
            // Under TLS 1.3 the line may break before the reason is heard.
            News::Waiting { problem, .. } if !problem.contains("certificate") => {}
            News::Waiting { problem, wait, .. } => break (problem, wait),
            _ => {}
        }
    };
    assert!(problem.contains("by this device's clock it is valid until"), "{problem}");
    assert!((Duration::from_secs(10)..=Duration::from_secs(900)).contains(&wait), "{wait:?}");
    let expired = settings(&bench, &folder, now_unix_secs() - 1);
    let ended = tokio::task::spawn_blocking(move || agent::join(&expired, &|| false, &mut |_| {}));
    let error = tokio::time::timeout(Duration::from_secs(20), ended).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(&error, NetError::NotAdmitted { problem: "has expired" }), "{error}");
}
