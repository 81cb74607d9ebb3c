//! Numbers and health over HTTP, for collectors and supervisors.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use super::health::Health;
use super::metrics::Metrics;
use crate::error::NetError;
use crate::http::{ACCEPT_AGAIN_AFTER, Patient, Places, may_be_asked_as, protocol};

/// The most connections: a collector and a supervisor have one each.
const CONNECTIONS_MAX: usize = 64;
/// How long a connection may last. Who reads nothing is rid of by then; a collector connects again.
const CONNECTION_WITHIN: Duration = Duration::from_secs(600);
/// What is read of a request at most before it is understood: the least that hyper allows.
const REQUEST_BYTES_MAX: usize = 8 * 1024;

const PLAIN: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const PROMETHEUS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    ThisMachine,
    /// Everybody who can reach the address: they learn how many devices there are and how well they learn.
    Everybody,
}

/// Numbers and health, served until this is dropped.
#[derive(Debug)]
pub struct StatusServer {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl StatusServer {
    /// Listens, and serves on that runtime.
    pub fn serve(
        runtime: &Handle,
        address: SocketAddr,
        reach: Reach,
        metrics: Arc<Metrics>,
        health: Arc<Health>,
    ) -> Result<Self, NetError> {
        if reach == Reach::ThisMachine && !address.ip().is_loopback() {
            return Err(NetError::StatusPublic { address });
        }
        let failed = |source| NetError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener).map_err(failed)?
        };
        let site = Site { bound, reach, metrics, health };
        let task = runtime.spawn(serve(listener, Arc::new(site)));
        Ok(Self { address: bound, task })
    }

    /// Where it is served: the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        // Its connections end with it.
        self.task.abort();
    }
}

/// What there is to ask for, and who may.
struct Site {
    bound: SocketAddr,
    reach: Reach,
    metrics: Arc<Metrics>,
    health: Arc<Health>,
}

impl Site {
    /// Whether the request names this server by a name that only programs on this machine would use. Probes that send
    /// no name are no browsers, which always do.
    fn may_answer<B>(&self, request: &Request<B>) -> bool {
        let host = request.headers().get(HOST).map(|host| host.to_str().unwrap_or_default());
        self.reach == Reach::Everybody || host.is_none_or(|host| may_be_asked_as(host, self.bound.ip()))
    }
}

async fn serve(listener: TcpListener, site: Arc<Site>) {
    let mut places = Places::new(CONNECTIONS_MAX);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => places.seat(stream, |stream| converse(stream, Arc::clone(&site))),
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
        }
    }
}

async fn converse(stream: Patient, site: Arc<Site>) {
    let respond = |request: Request<hyper::body::Incoming>| {
        let response = if site.may_answer(&request) {
            answer(request.method(), request.uri().path(), &site.metrics, &site.health)
        } else {
            let why = "ask by address, such as http://127.0.0.1, or let the server answer everybody: other names are \
                       refused, because a foreign web page could use one to read the metrics\n";
            with_headers(StatusCode::FORBIDDEN, PLAIN, why.to_owned())
        };
        async { Ok::<_, Infallible>(response) }
    };
    let connection = protocol(REQUEST_BYTES_MAX).serve_connection(TokioIo::new(stream), service_fn(respond));
    // A connection that is interrupted is its reader's affair.
    let _ = tokio::time::timeout(CONNECTION_WITHIN, connection).await;
}

fn answer(method: &Method, path: &str, metrics: &Metrics, health: &Health) -> Response<String> {
    let (status, content_type, text) = match path {
        "/metrics" | "/healthz" | "/readyz" if !matches!(*method, Method::GET | Method::HEAD) => {
            (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "this address only answers GET and HEAD\n".to_owned())
        }
        "/metrics" => (StatusCode::OK, PROMETHEUS, metrics.render()),
        "/healthz" => (StatusCode::OK, PLAIN, "ok\n".to_owned()),
        "/readyz" => {
            let readiness = health.readiness();
            let (ready, why) = readiness.verdict();
            let status = if ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
            (status, PLAIN, format!("{why}\n"))
        }
        _ => {
            let there = "no such page; the pages are /metrics, /healthz and /readyz\n";
            (StatusCode::NOT_FOUND, PLAIN, there.to_owned())
        }
    };
    with_headers(status, content_type, text)
}

fn with_headers(status: StatusCode, content_type: HeaderValue, text: String) -> Response<String> {
    let mut response = Response::new(text);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if status == StatusCode::METHOD_NOT_ALLOWED {
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    }
    response
}
