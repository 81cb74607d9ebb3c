//! Agents that share an identity, or call a server of another kind.

use std::sync::mpsc;
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials, News};
use fedflip_net::door::client_config;
use fedflip_net::identity::Store;
use fedflip_net::identity::mint::Validity;
use fedflip_net::plain;
use fedflip_net::wire::v1::to_device::What as Notice;

use crate::bench::{Bench, Wanted};
use crate::device::Device;

/// The older one is told so and stays away for a good while: the two do not push each other out all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_was_pushed_out_says_so_and_waits() {
    let bench = Bench::serve(Wanted::full(2, 1));
    let learner = bench.wanted.learner();
    let name: fedflip_net::identity::DeviceName = "a".parse().unwrap();
    let settings = AgentSettings {
        server: bench.address.to_string(),
        credentials: Credentials { coin: plain::coin(&name).unwrap(), name, tls: None },
        trains: BuiltInTasks::in_folder("no data set is needed"),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: None,
    };
    let (tell, told) = mpsc::channel();
    // It waits when the test is over; nobody waits for it.
    std::thread::spawn(move || agent::join(&settings, &|| false, &mut |news| drop(tell.send(news))));
    let next = |wanted: fn(&News) -> bool| loop {
        let news = told.recv_timeout(Duration::from_secs(20)).expect("news in time");
        if wanted(&news) {
            return news;
        }
    };
    next(|news| matches!(news, News::Attending { .. }));
    let mut rival = Device::connect(bench.address, "a").await;
    rival.come_in(&learner).await;
    let News::Waiting { problem, wait, .. } = next(|news| matches!(news, News::Waiting { .. })) else {
        panic!()
    };
    assert_eq!(problem, "another agent with this identity has connected");
    assert!(wait >= Duration::from_secs(10), "{wait:?}");
    // And so it goes with any other.
    let mut third = Device::connect(bench.address, "a").await;
    third.come_in(&learner).await;
    assert!(matches!(rival.notice().await, Some(Notice::Superseded(_))));
    assert_eq!(rival.notice().await, None, "its line is cut");
}

#[test]
fn an_agent_with_an_identity_hears_that_a_server_has_none() {
    let bench = Bench::serve(Wanted::full(1, 1));
    let certs = tempfile::tempdir().unwrap();
    let now_unix_secs = rustls_pki_types::UnixTime::now().as_secs() as i64;
    let validity = Validity { now_unix_secs, days: 30 };
    let mut store = Store::create(certs.path(), &["localhost".to_owned()], validity).unwrap();
    let pass = client_config(&store.device(&"a".parse().unwrap(), validity).unwrap()).unwrap();
    let settings = AgentSettings {
        server: bench.address.to_string(),
        credentials: pass,
        trains: BuiltInTasks::in_folder("no data set is needed"),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: Some(Duration::ZERO),
    };
    let error = agent::join(&settings, &|| false, &mut |_| {}).unwrap_err();
    assert!(matches!(&error, NetError::NoTlsAnswer { .. }) && !error.is_final(), "{error}");
    assert!(error.hint().contains("plain text"), "{}", error.hint());
}
