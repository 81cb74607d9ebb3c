//! The download of the model by a device, by the server's clock.
//!
//! Devices are not trusted: the download ends no earlier than its last byte left, and no later than the upload began. What a
//! device says of its end counts in between, because some bytes are on their way when the last one leaves.

use tokio::time::Instant;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Transfer {
    /// The first call; a download that was interrupted counts from its beginning.
    began: Option<Instant>,
    /// The connection has taken the last byte.
    sent: Option<Instant>,
    /// The device has said that it has the model.
    received: Option<Instant>,
}

impl Transfer {
    pub(crate) fn begin(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    pub(crate) fn sent(&mut self, now: Instant) {
        self.sent = Some(now);
    }

    /// Only the first word counts.
    pub(crate) fn received(&mut self, now: Instant) {
        self.received.get_or_insert(now);
    }

    /// Whether the device has the model, as far as the server knows.
    pub(crate) fn is_over(&self) -> bool {
        self.sent.is_some()
    }

    /// The end of the download of a device that does something else from `until` on; none if it downloaded nothing.
    pub(crate) fn end(&self, until: Instant) -> Option<Instant> {
        let sent = self.sent?;
        Some(self.received.map_or(sent, |received| received.max(sent)).min(until))
    }

    /// The time of the whole download, where there was one.
    pub(crate) fn secs(&self, until: Instant) -> Option<f64> {
        Some(self.end(until)?.saturating_duration_since(self.began?).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_device_cannot_say_that_it_was_faster_than_the_server_or_slower_than_itself() {
        let start = Instant::now();
        let at = |secs: f64| start + Duration::from_secs_f64(secs);
        let of = |sent: Option<f64>, received: Option<f64>| {
            let mut transfer = Transfer::default();
            transfer.begin(at(1.0));
            transfer.begin(at(2.0));
            sent.into_iter().for_each(|secs| transfer.sent(at(secs)));
            received.into_iter().for_each(|secs| transfer.received(at(secs)));
            transfer.received(at(9.0));
            transfer.secs(at(6.0)).map(|secs| (10.0 * secs).round() / 10.0)
        };
        for (sent, received, secs) in [
            (Some(3.0), Some(4.0), Some(3.0)),
            (Some(3.0), Some(1.5), Some(2.0)),
            (Some(3.0), Some(8.0), Some(5.0)),
            (None, Some(4.0), None),
        ] {
            assert_eq!(of(sent, received), secs, "{sent:?} {received:?}");
        }
        let mut silent = Transfer::default();
        silent.begin(at(0.0));
        silent.sent(at(2.0));
        assert_eq!(silent.secs(at(6.0)), Some(2.0), "of a device that says nothing");
    }
}
