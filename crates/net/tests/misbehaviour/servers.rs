//! Servers that agents cannot work with: they do not answer, or speak another version of the protocol.

use std::net::SocketAddr;
use std::time::Duration;

use fedflip_learn::task::TaskSettings;
use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials};
use fedflip_net::plain;
use fedflip_net::wire::v1::federation_server::{Federation, FederationServer};
use fedflip_net::wire::{PROTOCOL, task, v1};
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status, Streaming};

async fn join(server: SocketAddr, give_up_after: Option<Duration>) -> NetError {
    let name: fedflip_net::identity::DeviceName = "a".parse().unwrap();
    let settings = AgentSettings {
        server: server.to_string(),
        credentials: Credentials { coin: plain::coin(&name).unwrap(), name, tls: None },
        trains: BuiltInTasks::in_folder("no data set is needed"),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after,
    };
    let joined = tokio::task::spawn_blocking(move || agent::join(&settings, &|| false, &mut |_| {}));
    tokio::time::timeout(Duration::from_secs(50), joined).await.expect("it ends").unwrap().unwrap_err()
}

/// However the server fails to answer, the agent ends when it was told to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_gives_up_in_time() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let timeout = Duration::from_secs(3);
    for server in [silent.local_addr().unwrap(), gone] {
        let start = Instant::now();
        let error = join(server, Some(timeout)).await;
        let took = start.elapsed();
        println!("gives up after {took:?}: {error}");
        assert!(took >= timeout.mul_f64(0.9) && took < timeout + Duration::from_secs(1), "{took:?}: {error}");
        assert!(!error.is_final() && error.is_failure(), "{error}");
    }
}

/// A server that says hello, in its own words.
struct Greeter(v1::HelloReply);

type Nothing<T> = tokio_stream::Pending<Result<T, Status>>;

#[tonic::async_trait]
impl Federation for Greeter {
    async fn hello(&self, _: Request<v1::HelloRequest>) -> Result<Response<v1::HelloReply>, Status> {
        Ok(Response::new(self.0.clone()))
    }

    type ProbeStream = Nothing<v1::ProbeReply>;

    async fn probe(
        &self,
        _: Request<Streaming<v1::ProbePart>>,
    ) -> Result<Response<Self::ProbeStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn enrol(&self, _: Request<v1::EnrolRequest>) -> Result<Response<v1::EnrolReply>, Status> {
        Err(Status::unimplemented(""))
    }

    type AttendStream = Nothing<v1::ToDevice>;

    async fn attend(
        &self,
        _: Request<Streaming<v1::FromDevice>>,
    ) -> Result<Response<Self::AttendStream>, Status> {
        Err(Status::unimplemented(""))
    }

    type FetchStream = Nothing<v1::FetchPart>;

    async fn fetch(&self, _: Request<v1::FetchRequest>) -> Result<Response<Self::FetchStream>, Status> {
        Err(Status::unimplemented(""))
    }

    async fn upload(
        &self,
        _: Request<Streaming<v1::UploadPart>>,
    ) -> Result<Response<v1::UploadReply>, Status> {
        Err(Status::unimplemented(""))
    }
}

async fn greeted(reply: v1::HelloReply) -> NetError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tonic::transport::Server::builder().add_service(FederationServer::new(Greeter(reply)));
    tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    join(address, None).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_ends_at_a_server_of_another_version_and_names_both() {
    let error = greeted(v1::HelloReply { protocol: PROTOCOL + 1, ..v1::HelloReply::default() }).await;
    let [theirs, ours] = [PROTOCOL + 1, PROTOCOL].map(|version| format!("version {version}"));
    let text = error.to_string();
    assert!(error.is_final() && text.contains(&theirs) && text.contains(&ours), "{text}");
    assert!(error.hint().contains("install the server's version"), "{}", error.hint());
}

/// The same settings, but the server's version computes something else for them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_does_not_train_what_it_would_compute_differently() {
    let mut task = task::message(&TaskSettings::paper("synthetic".parse().unwrap(), 5)).unwrap();
    task.digest = vec![0; 32].into();
    let hello = |task| v1::HelloReply {
        protocol: PROTOCOL,
        task: Some(task),
        parameters: 610,
        ..v1::HelloReply::default()
    };
    let error = greeted(hello(task.clone())).await;
    assert!(error.is_final() && error.to_string().contains("digests differ"), "{error}");
    assert!(error.hint().contains("same version"), "{}", error.hint());
    task.name = "synthetic-of-tomorrow".to_owned();
    let error = greeted(hello(task)).await;
    assert!(error.is_final() && error.to_string().contains("no task of that name"), "{error}");
}
