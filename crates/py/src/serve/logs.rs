//! The log of the crates, for Python's `logging`: the logger `fedflip`.
//!
//! Events come from threads that must not wait for the interpreter. They go into a queue, which the thread that called
//! fedflip empties while it holds the interpreter.

use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tracing::field::{Field, Visit};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

/// The most events that wait; more are counted and left out.
const WAITING_MAX: usize = 10_000;

/// The least level that anybody wants, as Python counts; 0 is nobody.
static LEVEL: AtomicU8 = AtomicU8::new(0);

static QUEUE: Mutex<Queue> =
    Mutex::new(Queue { events: VecDeque::new(), left_out: 0, watching: Vec::new(), ids: 0 });

struct Queue {
    events: VecDeque<Logged>,
    left_out: u64,
    /// Threads that empty the queue: each is woken by its function.
    watching: Vec<(u64, Box<dyn Fn() + Send>)>,
    ids: u64,
}

/// An event on its way to Python.
struct Logged {
    level: u8,
    message: String,
    fields: Vec<(&'static str, String)>,
}

fn queue() -> MutexGuard<'static, Queue> {
    QUEUE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that empties the queue until this is dropped.
pub(super) struct Watching(u64);

impl Watching {
    /// From now on events are queued, and `wake` is called for each.
    pub(super) fn begin(py: Python<'_>, wake: impl Fn() + Send + 'static) -> PyResult<Self> {
        static STARTED: OnceLock<()> = OnceLock::new();
        STARTED.get_or_init(|| {
            // A log that was started before, such as that of the command line, stays.
            let _ = tracing::subscriber::set_global_default(registry().with(Forward));
        });
        LEVEL.store(wanted_level(py)?, Ordering::Relaxed);
        let mut queue = queue();
        queue.ids += 1;
        let id = queue.ids;
        queue.watching.push((id, Box::new(wake)));
        Ok(Self(id))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut queue = queue();
        queue.watching.retain(|(id, _)| *id != self.0);
        if queue.watching.is_empty() {
            LEVEL.store(0, Ordering::Relaxed);
            queue.events.clear();
        }
    }
}

fn logger(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    py.import("logging")?.call_method1("getLogger", ("fedflip",))
}

fn wanted_level(py: Python<'_>) -> PyResult<u8> {
    let level: i64 = logger(py)?.call_method0("getEffectiveLevel")?.extract()?;
    Ok(level.clamp(1, 255) as u8)
}

/// Hands all waiting events over to Python's logger, and looks which levels it wants from now on.
pub(super) fn forward(py: Python<'_>) -> PyResult<()> {
    if LEVEL.load(Ordering::Relaxed) == 0 {
        return Ok(());
    }
    LEVEL.store(wanted_level(py)?, Ordering::Relaxed);
    let logger = logger(py)?;
    loop {
        // Python code must not run while the queue is locked: it may wait for a thread that logs.
        let next = {
            let mut queue = queue();
            let left_out = std::mem::take(&mut queue.left_out);
            let lost = || Logged::warning(format!("{left_out} lines of the log were left out"));
            if left_out > 0 { Some(lost()) } else { queue.events.pop_front() }
        };
        let Some(Logged { level, message, fields }) = next else { return Ok(()) };
        let mut text = message.clone();
        let extra = PyDict::new(py);
        for (name, value) in &fields {
            // Writing to a string cannot fail.
            let _ = write!(text, " {name}={value}");
            extra.set_item(*name, value)?;
        }
        let named = PyDict::new(py);
        let known = PyDict::new(py);
        known.set_item("event", message)?;
        known.set_item("fields", extra)?;
        named.set_item("extra", known)?;
        logger.call_method("log", (level, "%s", text), Some(&named))?;
    }
}

impl Logged {
    fn warning(message: String) -> Self {
        Self { level: of(Level::WARN), message, fields: Vec::new() }
    }
}

/// The level as Python counts.
fn of(level: Level) -> u8 {
    match level {
        Level::ERROR => 40,
        Level::WARN => 30,
        Level::INFO => 20,
        Level::DEBUG => 10,
        Level::TRACE => 5,
    }
}

/// Puts the events of fedflip's crates into the queue.
struct Forward;

impl Forward {
    fn wants(metadata: &Metadata<'_>) -> bool {
        let least = LEVEL.load(Ordering::Relaxed);
        least > 0 && of(*metadata.level()) >= least && metadata.target().starts_with("fedflip")
    }
}

impl<S: Subscriber> Layer<S> for Forward {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        match metadata.is_event() && metadata.target().starts_with("fedflip") {
            true => Interest::sometimes(),
            false => Interest::never(),
        }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        Self::wants(metadata)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut read = Fields { message: String::new(), fields: Vec::new() };
        event.record(&mut read);
        let logged =
            Logged { level: of(*event.metadata().level()), message: read.message, fields: read.fields };
        let mut queue = queue();
        if queue.events.len() >= WAITING_MAX {
            queue.left_out += 1;
            return;
        }
        queue.events.push_back(logged);
        if let Some((_, wake)) = queue.watching.first() {
            wake();
        }
    }
}

struct Fields {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Fields {
    fn take(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name => self.fields.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, format!("{value:?}"));
    }
}
