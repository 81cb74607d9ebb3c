//! The stream of updates to one reader.
//!
//! It is pulled, not pushed: when the connection can take more, what is new by then is put together. So nothing
//! queues up for a reader that is slow, and a reader that was asleep gets the view as it is.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::stream::{Stream, unfold};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::{Context, until_stopped};
use crate::update::{Cursor, Update};

/// Between two updates: five a second look like motion and cost next to nothing.
const PAUSE: Duration = Duration::from_millis(200);
/// Pauses without news after which a word is sent all the same, so that a dead connection is noticed.
const PAUSES_QUIET_MAX: u32 = 75;

struct Reader {
    context: Arc<Context>,
    stop: watch::Receiver<bool>,
    cursor: Cursor,
    /// Its place among the readers, given up with the connection.
    _place: OwnedSemaphorePermit,
    /// Whether something was sent, so that a pause is due.
    rests: bool,
    over: bool,
}

/// Everything at first, then what is new, and at last a goodbye.
pub(super) fn stream(
    context: Arc<Context>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let stop = context.stop.clone();
    let reader =
        Reader { context, stop, cursor: Cursor::default(), _place: place, rests: false, over: false };
    unfold(reader, async |mut reader| {
        let event = reader.next().await?;
        Some((Ok(event), reader))
    })
}

impl Reader {
    async fn next(&mut self) -> Option<Event> {
        let mut quiet = 0;
        while !self.over {
            let mut stopped = *self.stop.borrow();
            if self.rests && !stopped {
                stopped = until_stopped(&mut self.stop, tokio::time::sleep(PAUSE)).await.is_none();
            }
            self.rests = true;
            // Copied under the lock, written out without it.
            let new = self.context.live().since(&self.cursor);
            if let Some((update, cursor)) = new {
                self.cursor = cursor;
                return event(&update);
            }
            if stopped {
                self.over = true;
                return Some(Event::default().event("bye").data("{}"));
            }
            quiet += 1;
            if quiet == PAUSES_QUIET_MAX {
                return Some(Event::default().comment(""));
            }
        }
        None
    }
}

/// None only if the update cannot be written as JSON, which would end the stream: the reader asks again.
fn event(update: &Update) -> Option<Event> {
    let json = serde_json::to_string(update).ok()?;
    Some(Event::default().event("update").id(update.version.to_string()).data(json))
}
