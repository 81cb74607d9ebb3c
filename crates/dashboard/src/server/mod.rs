//! The thread that serves, its connections, and its end.
//!
//! # Layout
//!
//! - `routes`: what may be asked for, and the headers of every answer.
//! - `events`: the stream of updates to one reader.
//! - `assets`: the page.

mod assets;
mod events;
mod routes;

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use axum::Router;
use fedflip_net::http::{ACCEPT_AGAIN_AFTER, Patient, Places, protocol};
use futures_util::future::{Either, select};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};

use crate::address::Address;
use crate::error::DashboardError;
use crate::live::Live;

/// The most readers of the stream.
pub const READERS_MAX: usize = 64;
/// The most connections: a browser has a few for each page.
const CONNECTIONS_MAX: usize = 256;
/// How long readers have to take the last update when the server ends.
const GOODBYE_WITHIN: Duration = Duration::from_millis(500);
/// What is read of a request at most before it is understood.
const REQUEST_BYTES_MAX: usize = 16 * 1024;

pub(crate) struct Context {
    live: Arc<Mutex<Live>>,
    bound: SocketAddr,
    readers: Arc<Semaphore>,
    stop: watch::Receiver<bool>,
}

impl Context {
    fn live(&self) -> MutexGuard<'_, Live> {
        locked(&self.live)
    }
}

/// A view cannot be left half-changed in a way that matters: whoever held the lock only added to it.
fn locked(live: &Mutex<Live>) -> MutexGuard<'_, Live> {
    live.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A dashboard that is served until this is dropped.
#[derive(Debug)]
pub struct Dashboard {
    live: Arc<Mutex<Live>>,
    bound: SocketAddr,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Dashboard {
    /// Listens, and serves from a thread of its own.
    pub fn serve(address: Address) -> Result<Self, DashboardError> {
        let address = address.get();
        let refused = |source| DashboardError::Listen { address, source };
        let listener = std::net::TcpListener::bind(address).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .map_err(DashboardError::Start)?;
        let listener = {
            let _within = runtime.enter();
            TcpListener::from_std(listener).map_err(DashboardError::Start)?
        };
        let live = Arc::new(Mutex::new(Live::default()));
        let (stop, stopped) = watch::channel(false);
        let context = Context {
            live: Arc::clone(&live),
            bound,
            readers: Arc::new(Semaphore::new(READERS_MAX)),
            stop: stopped.clone(),
        };
        let router = routes::router(Arc::new(context));
        let thread = std::thread::Builder::new()
            .name("dashboard".to_owned())
            .spawn(move || runtime.block_on(serve(listener, router, stopped)))
            .map_err(DashboardError::Start)?;
        Ok(Self { live, bound, stop, thread: Some(thread) })
    }

    /// Where it is served: the port is the real one.
    pub fn address(&self) -> SocketAddr {
        self.bound
    }

    /// The view, for whoever runs: readers wait meanwhile.
    pub fn live(&self) -> MutexGuard<'_, Live> {
        locked(&self.live)
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // It ends within GOODBYE_WITHIN; if it panicked, the run is none the worse for it.
            let _ = thread.join();
        }
    }
}

/// Until it is told to stop.
async fn serve(listener: TcpListener, router: Router, mut stop: watch::Receiver<bool>) {
    let mut places = Places::new(CONNECTIONS_MAX);
    while let Some(accepted) = until_stopped(&mut stop, listener.accept()).await {
        match accepted {
            Ok((stream, _)) => {
                // Updates are small and wanted at once; without it they come in bunches.
                let _ = stream.set_nodelay(true);
                places.seat(stream, |stream| converse(stream, router.clone(), stop.clone()));
            }
            Err(_) => tokio::time::sleep(ACCEPT_AGAIN_AFTER).await,
        }
    }
    drop(listener);
    // Whoever has not read to the end by then misses it.
    let _ = tokio::time::timeout(GOODBYE_WITHIN, places.emptied()).await;
}

async fn converse(stream: Patient, router: Router, mut stop: watch::Receiver<bool>) {
    let connection =
        protocol(REQUEST_BYTES_MAX).serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    // A connection that is interrupted is its reader's affair.
    if until_stopped(&mut stop, connection.as_mut()).await.is_none() {
        connection.as_mut().graceful_shutdown();
        let _ = connection.await;
    }
}

/// What the future gives; none if the server is told to stop before that.
async fn until_stopped<F: Future>(stop: &mut watch::Receiver<bool>, future: F) -> Option<F::Output> {
    match select(pin!(future), pin!(stop.wait_for(|stop| *stop))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}
