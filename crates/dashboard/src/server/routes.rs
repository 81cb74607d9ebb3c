//! What may be asked for, and the headers of every answer.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::header::{
    ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, REFERRER_POLICY, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response, Sse};
use axum::routing::get;

use fedflip_net::http::may_be_asked_as;

use super::assets::ASSETS;
use super::{Context, events};
use crate::fleet_page::{self, FleetTable, Page};
use crate::tally::Tally;

/// Of every answer: nothing but our own files may run, load or show the page, and nothing is kept.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    (
        CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
    ),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
];

/// Devices whose tallies are copied under one lock: some microseconds.
const TALLIES_AT_ONCE: usize = 4096;

pub(super) fn router(context: Arc<Context>) -> Router {
    let mut router = Router::new()
        .route("/events", get(stream))
        .route("/fleet", get(fleet))
        .route("/healthz", get(async || "ok\n"));
    for asset in ASSETS {
        router = router.route(asset.path, get(async || ([(CONTENT_TYPE, asset.content_type)], asset.text)));
    }
    router
        .fallback(async || (StatusCode::NOT_FOUND, "no such page; the dashboard is at /\n"))
        .layer(from_fn_with_state(Arc::clone(&context), guarded))
        .with_state(context)
}

async fn guarded(State(context): State<Arc<Context>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let mut response = if !may_be_asked_as(host, context.bound.ip()) {
        let why = "ask for the dashboard by its address, such as http://127.0.0.1: other names are refused, \
                   because a foreign web page could use one to read the data\n";
        (StatusCode::FORBIDDEN, why).into_response()
    } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
        (StatusCode::METHOD_NOT_ALLOWED, [(ALLOW, "GET, HEAD")], "this address only answers GET and HEAD\n")
            .into_response()
    } else {
        next.run(request).await
    };
    response.headers_mut().extend(HEADERS);
    response
}

async fn stream(State(context): State<Arc<Context>>) -> Response {
    match Arc::clone(&context.readers).try_acquire_owned() {
        Ok(place) => Sse::new(events::stream(context, place)).into_response(),
        Err(_) => {
            let why = "too many pages are open: close one, or try again\n";
            (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], why).into_response()
        }
    }
}

async fn fleet(State(context): State<Arc<Context>>, Query(query): Query<fleet_page::PageQuery>) -> Response {
    let Some(json) = page(&context, &query).and_then(|page| serde_json::to_string(&page).ok()) else {
        return (StatusCode::NOT_FOUND, "there is no run yet, or another one has just begun\n")
            .into_response();
    };
    ([(CONTENT_TYPE, "application/json")], json).into_response()
}

/// None without a run, or if another one begins meanwhile. The lock is never held for long: tallies are copied
/// piece by piece, and rows are found without it.
fn page(context: &Context, query: &fleet_page::PageQuery) -> Option<Page> {
    let roster = context.live().roster()?;
    let devices = roster.fleet.len();
    let mut tallies: Vec<Tally> = Vec::with_capacity(devices);
    while tallies.len() < devices {
        let piece = tallies.len()..devices.min(tallies.len() + TALLIES_AT_ONCE);
        tallies.extend_from_slice(context.live().tallies(roster.run, piece)?);
    }
    let (rounds, secs) = context.live().elapsed();
    let watch = context.live().device_watch();
    let devices = watch.devices();
    Some(FleetTable { roster: &roster, tallies: &tallies, devices: &devices, rounds, secs }.page(query))
}
