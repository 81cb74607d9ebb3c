//! Counts the lines that a server would write to its log.

use std::sync::atomic::{AtomicU64, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

static LINES: AtomicU64 = AtomicU64::new(0);

struct Counter;

impl Subscriber for Counter {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("fedflip_net")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        LINES.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Counts from now on. Lines of other tests in the same process count too: nextest starts one for each.
pub(crate) fn count() {
    // The first call wins, and one is enough.
    let _ = tracing::subscriber::set_global_default(Counter);
}

/// How many lines there have been in this process.
pub(crate) fn lines() -> u64 {
    LINES.load(Ordering::Relaxed)
}
