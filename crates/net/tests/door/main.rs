//! The door as peers find it, over real sockets: devices come in, everybody else stays out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bench;
mod clocks;
mod crowds;

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bench::{Bench, Client, client, eventually, now_unix_secs, validity};
use fedflip_net::NetError;
use fedflip_net::door::{Door, Limits, Peer, Security, client_config};
use fedflip_net::identity::Store;
use fedflip_net::identity::mint::{self, Identity, Signer, Validity};
use fedflip_net::status::{ConnectionRefusal as Because, Metrics};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::rustls::HandshakeKind;
use tonic::transport::{Endpoint, Server};

#[tokio::test]
async fn a_device_comes_in_and_is_known() {
    let mut bench = Bench::open(Limits::default()).await;
    let folder = bench.device("phone-01");
    let mut stream = bench.call(&client(&folder)).await.unwrap();
    let peer = bench.peer().await;
    let caller = peer.caller.unwrap();
    assert_eq!(caller.name.as_str(), "phone-01");
    assert_eq!(caller.coin, client_config(&folder).unwrap().coin.public());
    assert_eq!(peer.address, stream.get_ref().0.local_addr().unwrap());
    assert_eq!(bench.metrics.connections_open.get(), 1.0);
    stream.shutdown().await.unwrap();
    drop(stream);
    eventually("its place is given up", || bench.metrics.connections_open.get() == 0.0).await;
}

#[tokio::test]
async fn strangers_stay_out() {
    let mut bench = Bench::open(Limits::default()).await;
    let good = bench.device("good");
    let other_desk = tempfile::tempdir().unwrap();
    let mut other = Store::create(other_desk.path(), &["localhost".to_owned()], validity()).unwrap();
    let stranger = other.device(&"good".parse().unwrap(), validity()).unwrap();
    // It trusts our server, and shows the certificate of another authority.
    fs::copy(good.join("ca.pem"), stranger.join("ca.pem")).unwrap();
    let past = Validity { now_unix_secs: now_unix_secs() - 40 * 86_400, days: 30 };
    let expired = bench.store.device(&"expired".parse().unwrap(), past).unwrap();
    let nameless = bench.nameless();
    let cases: [(&str, Client, Because); 5] = [
        ("without a certificate", bench.anonymous(), Because::NoCertificate),
        ("of another authority", client(&stranger), Because::Untrusted),
        ("expired", client(&expired), Because::Expired),
        ("a server's certificate", client(&bench.folder().join("server")), Because::Untrusted),
        ("ours, but names no device", client(&nameless), Because::NoDevice),
    ];
    for (who, stranger, why) in cases {
        let before = bench.metrics.connections_refused.get(why);
        assert!(bench.call(&stranger).await.is_err(), "{who} came in");
        assert_eq!(bench.metrics.connections_refused.get(why), before + 1, "{who}");
    }
    bench.call(&client(&good)).await.expect("devices still come in");
    assert_eq!(bench.peer().await.caller.unwrap().name.as_str(), "good", "and nobody before it");
}

#[tokio::test]
async fn noise_and_silence_are_turned_away() {
    let limits = Limits { handshake_within: Duration::from_millis(300), ..Limits::default() };
    let mut bench = Bench::open(limits).await;
    let mut noise = TcpStream::connect(bench.address).await.unwrap();
    noise.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    assert_closed(&mut noise).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Protocol), 1);
    let mut silence = TcpStream::connect(bench.address).await.unwrap();
    // A silent peer keeps nobody waiting.
    let folder = bench.device("good");
    bench.call(&client(&folder)).await.unwrap();
    assert_eq!(bench.metrics.connections_refused.get(Because::Timeout), 0);
    assert_closed(&mut silence).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Timeout), 1);
}

#[tokio::test]
async fn a_revoked_device_is_cut_off_and_stays_out() {
    let mut bench = Bench::open(bench::quick()).await;
    let (lost, kept) = (client(&bench.device("lost")), client(&bench.device("kept")));
    let mut lost_stream = bench.call(&lost).await.unwrap();
    let mut kept_stream = bench.call(&kept).await.unwrap();
    bench.store.revoke("lost", now_unix_secs()).unwrap();
    assert_closed(&mut lost_stream).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Revoked), 1);
    // The same client would resume its session if it could.
    assert!(bench.call(&lost).await.is_err());
    assert_eq!(bench.metrics.connections_refused.get(Because::Revoked), 2);
    bench::echo(&mut kept_stream).await.expect("others notice nothing");
    bench.call(&kept).await.unwrap();
    // A door that opens later knows of it too.
    let later = bench.another().await;
    assert!(later.call(&lost).await.is_err());
    later.call(&kept).await.unwrap();
    assert_eq!(later.metrics.connections_refused.get(Because::Revoked), 1);
}

/// A renewal may end sooner than the certificate before it.
#[tokio::test]
async fn a_renewed_certificate_is_taken_up_whatever_its_end() {
    let mut bench = Bench::open(Limits::default()).await;
    let folder = bench.device("phone-01");
    let credentials = client_config(&folder).unwrap();
    assert!(credentials.renewed().is_none());
    let until = |credentials: &fedflip_net::door::Credentials| {
        credentials.tls.as_ref().map(|tls| tls.valid_until_unix_secs)
    };
    let sooner = Validity { days: 1, ..validity() };
    bench.store.renew(&"phone-01".parse().unwrap(), sooner).unwrap();
    let renewed = credentials.renewed().expect("another certificate");
    assert!(until(&renewed) < until(&credentials));
    assert!(renewed.renewed().is_none());
}

/// A server with its part of the authority's files learns the names of devices that were revoked while they were away.
#[tokio::test]
async fn revoked_devices_are_known_by_name_although_they_are_away() {
    let mut bench = Bench::open(Limits::default()).await;
    bench.device("away");
    assert!(bench.second_door().await.revoked_names().is_empty());
    bench.store.revoke("away", now_unix_secs()).unwrap();
    fs::remove_file(bench.folder().join("issued.json")).unwrap();
    assert!(bench.second_door().await.revoked_names().contains("away"));
}

#[tokio::test]
async fn a_connection_does_not_outlive_its_certificate() {
    let mut bench = Bench::open(bench::quick()).await;
    let soon = Validity { now_unix_secs: now_unix_secs() + 3, days: 0 };
    let folder = bench.store.device(&"brief".parse().unwrap(), soon).unwrap();
    let mut stream = bench.call(&client(&folder)).await.unwrap();
    assert_closed(&mut stream).await;
    assert_eq!(bench.metrics.connections_refused.get(Because::Expired), 1);
}

#[tokio::test]
async fn renewed_certificates_are_taken_up_and_damaged_ones_are_not() {
    let mut bench = Bench::open(bench::quick()).await;
    let good = client(&bench.device("good"));
    let served = async |bench: &Bench| {
        let stream = bench.call(&good).await.unwrap();
        stream.get_ref().1.peer_certificates().unwrap()[0].clone()
    };
    let first = served(&bench).await;
    let read = |name: &str| fs::read_to_string(bench.folder().join(name)).unwrap();
    let signer = Signer::new(&Identity { certificate_pem: read("ca.pem"), key_pem: read("ca.key") }).unwrap();
    let renewed = signer.server(&["localhost".to_owned()], validity()).unwrap();
    let place = bench.folder().join("server");
    // Half of a renewal does not fit, and changes nothing.
    fs::write(place.join("cert.pem"), &renewed.certificate_pem).unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(served(&bench).await, first);
    fs::write(place.join("key.pem"), &renewed.key_pem).unwrap();
    let mut second = first.clone();
    for _ in 0..100 {
        second = served(&bench).await;
        if second != first {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_ne!(first, second, "the renewed certificate is never served");
    fs::write(bench.folder().join("revoked.pem"), "nonsense").unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!(served(&bench).await, second);
}

/// Neither the agent nor the server restarts: the files change under both.
#[tokio::test]
async fn a_device_is_renewed_while_it_is_connected() {
    let mut bench = Bench::open(bench::quick()).await;
    let folder = bench.device("phone-01");
    let before = client_config(&folder).unwrap();
    assert!(before.renewed().is_none(), "nothing has changed");
    let mut first = bench.call(&client(&folder)).await.unwrap();
    let old = bench.peer().await;
    let later = Validity { days: 60, ..validity() };
    bench.store.renew(&"phone-01".parse().unwrap(), later).unwrap();
    let after = before.renewed().expect("the new certificate is found");
    assert!(after.renewed().is_none());
    assert_eq!(after.coin.public(), before.coin.public());
    let _second = bench.call(&client(&folder)).await.unwrap();
    let new = bench.peer().await;
    assert_eq!(new.caller, old.caller, "the same name and coin");
    let days = |peer: &Peer| (peer.certificate_until_unix_secs.unwrap() - now_unix_secs() + 60) / 86_400;
    assert_eq!((days(&old), days(&new)), (30, 60));
    bench::echo(&mut first).await.expect("the old certificate is still valid");
    let renewed = Validity { days: 90, ..validity() };
    bench.store.renew_server(&["localhost".to_owned()], renewed).unwrap();
    let until = || bench.metrics.server_certificate_until.get();
    let wanted = (now_unix_secs() + 89 * 86_400) as f64;
    eventually("the server's own renewal shows in the metrics", || until() > wanted).await;
    assert!(bench.metrics.render().contains("fedflip_server_certificate_expiry_timestamp_seconds"));
    // A folder that holds another device by now is not taken up.
    let other = bench.device("other");
    for file in ["cert.pem", "key.pem", "coin.key"] {
        fs::copy(other.join(file), folder.join(file)).unwrap();
    }
    assert!(before.renewed().is_none());
}

#[tokio::test]
async fn no_more_come_in_than_there_are_places() {
    let limits = Limits { connections_max: 2, ..bench::quick() };
    let mut bench = Bench::open(limits).await;
    let [a, b, c] = ["a", "b", "c"].map(|name| client(&bench.device(name)));
    let first = bench.call(&a).await.unwrap();
    let _second = bench.call(&b).await.unwrap();
    assert!(bench.call(&c).await.is_err());
    assert_eq!(bench.metrics.connections_refused.get(Because::Full), 1);
    drop(first);
    eventually("a place is free", || bench.metrics.connections_open.get() == 1.0).await;
    bench.call(&c).await.unwrap();
}

#[tokio::test]
async fn a_device_that_comes_again_and_again_replaces_itself() {
    let mut bench = Bench::open(Limits::default()).await;
    let device = client(&bench.device("phone"));
    let mut oldest = bench.call(&device).await.unwrap();
    let mut older = bench.call(&device).await.unwrap();
    let newest = bench.call(&device).await.unwrap();
    // No session is resumed: every time it shows its certificate, which may be revoked by now.
    assert_eq!(newest.get_ref().1.handshake_kind(), Some(HandshakeKind::Full));
    assert_closed(&mut oldest).await;
    bench::echo(&mut older).await.unwrap();
    assert_eq!(bench.metrics.connections_refused.get(Because::Superseded), 1);
    assert_eq!(bench.metrics.connections_open.get(), 2.0);
}

#[tokio::test]
async fn without_certificates_only_this_machine_comes_in() {
    let metrics = Arc::new(Metrics::default());
    let open = async |address: &str, security| {
        Door::open(address.parse().unwrap(), security, Limits::default(), Arc::clone(&metrics)).await
    };
    let refused = open("0.0.0.0:0", Security::Plain).await.err().unwrap();
    assert!(matches!(refused, NetError::PlainText { .. }) && refused.hint().contains("127.0.0.1:0"));
    let mut bench = Bench::around(open("127.0.0.1:0", Security::Plain).await.unwrap(), Arc::clone(&metrics));
    let mut stream = bench.connect().await;
    bench::echo(&mut stream).await.unwrap();
    assert!(bench.peer().await.caller.is_none());
    let nowhere = tempfile::tempdir().unwrap().path().join("none");
    let missing = open("127.0.0.1:0", Security::MutualTls { certs_folder: nowhere }).await.err().unwrap();
    assert!(missing.to_string().contains("ca.pem"), "{missing}");
}

#[tokio::test]
async fn grpc_goes_through_it_and_knows_who_calls() {
    let mut bench = Bench::open(Limits::default()).await;
    let pass = client_config(&bench.device("phone-01")).unwrap();
    let door = bench.second_door().await;
    let port = door.local_addr().port();
    let seen: Arc<Mutex<Vec<Peer>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let note = move |request: tonic::Request<()>| {
        noted.lock().unwrap().push(request.extensions().get::<Peer>().expect("the door says who").clone());
        Ok(request)
    };
    let server = Server::builder()
        .layer(tonic::service::InterceptorLayer::new(note))
        .add_routes(tonic::service::Routes::default())
        .serve_with_incoming(door.into_stream());
    let server = tokio::spawn(server);
    let endpoint = Endpoint::from_shared(format!("https://localhost:{port}")).unwrap();
    let channel = endpoint.tls_config(pass.tls.clone().unwrap().config).unwrap().connect().await.unwrap();
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.unwrap();
    let codec = tonic_prost::ProstCodec::<(), ()>::default();
    let path = http::uri::PathAndQuery::from_static("/nothing/Here");
    let answer = grpc.unary(tonic::Request::new(()), path, codec).await.unwrap_err();
    assert_eq!(answer.code(), tonic::Code::Unimplemented, "{answer}");
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].caller.as_ref().unwrap().name, pass.name);
    // A server is the host that the user typed, or it is not the server.
    let elsewhere = Endpoint::from_shared(format!("https://localhost:{port}")).unwrap();
    let tls = pass.tls.unwrap().config.domain_name("elsewhere.example");
    assert!(elsewhere.tls_config(tls).unwrap().connect().await.is_err());
    server.abort();
}

#[test]
fn a_damaged_identity_is_refused_with_the_name_of_the_file() {
    let desk = tempfile::tempdir().unwrap();
    let mut store = Store::create(desk.path(), &["localhost".to_owned()], validity()).unwrap();
    let [good, other] =
        ["good", "other"].map(|name| store.device(&name.parse().unwrap(), validity()).unwrap());
    assert_eq!(client_config(&good).unwrap().name.as_str(), "good");
    let with = |file: &str, change: &dyn Fn(&Path)| {
        let copy = tempfile::tempdir().unwrap();
        for name in ["cert.pem", "key.pem", "coin.key", "ca.pem"] {
            fs::copy(good.join(name), copy.path().join(name)).unwrap();
        }
        change(&copy.path().join(file));
        let error = client_config(copy.path()).expect_err(file);
        assert!(error.to_string().contains(file), "{file}: {error}");
        assert!(!error.hint().is_empty());
    };
    for file in ["cert.pem", "key.pem", "coin.key", "ca.pem"] {
        with(file, &|path| fs::remove_file(path).unwrap());
        with(file, &|path| fs::write(path, "").unwrap());
        with(file, &|path| fs::write(path, [0xff; 70]).unwrap());
        let half = |path: &Path| fs::write(path, &fs::read(path).unwrap()[..40]).unwrap();
        with(file, &half);
    }
    for (file, from) in [("key.pem", &other), ("coin.key", &other), ("cert.pem", &desk.path().join("server"))]
    {
        with(file, &|path| fs::write(path, fs::read(from.join(file)).unwrap()).unwrap());
    }
    let past = Validity { now_unix_secs: now_unix_secs() - 40 * 86_400, days: 30 };
    let expired = client_config(&store.device(&"late".parse().unwrap(), past).unwrap()).unwrap_err();
    assert!(expired.to_string().ends_with("cert.pem: has expired"), "{expired}");
    // A machine that starts before its clock is set starts again, which systemd does for failures alone.
    let future = Validity { now_unix_secs: now_unix_secs() + 40 * 86_400, days: 30 };
    let early = client_config(&store.device(&"early".parse().unwrap(), future).unwrap()).unwrap_err();
    assert!(matches!(early, NetError::NotYetValid { .. }) && early.is_failure(), "{early}");
    // Another authority's word for the same name.
    let stranger = mint::authority(now_unix_secs()).unwrap();
    let path = good.join("ca.pem");
    fs::write(&path, stranger.certificate_pem).unwrap();
    assert!(matches!(client_config(&good), Err(NetError::Unfit { .. })));
}

/// By the other side, and soon.
pub(crate) async fn assert_closed(stream: &mut (impl AsyncReadExt + Unpin)) {
    let closed = async { while stream.read(&mut [0; 64]).await.is_ok_and(|bytes| bytes > 0) {} };
    tokio::time::timeout(Duration::from_secs(10), closed).await.expect("the connection is still open");
}
