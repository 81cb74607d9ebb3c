//! `--tensorboard`: an event file in the folder of every run.

use std::time::{Duration, Instant};

use fedflip_record::export::tensorboard::EventWriter;
use fedflip_record::{End, Initial, RecordError, Round};

use crate::observe::{Observer, RunInfo};

/// How often events reach those who read along; TensorBoard itself looks every 30 s.
const FLUSH: Duration = Duration::from_secs(1);

/// Writes the events of one run after another.
pub struct TensorBoard {
    /// The writer of the current run; none between runs.
    writer: Option<EventWriter>,
    flushed: Instant,
    now: fn() -> Instant,
}

impl TensorBoard {
    /// Flushes by this clock.
    pub fn new(now: fn() -> Instant) -> Self {
        Self { writer: None, flushed: now(), now }
    }
}

impl Observer for TensorBoard {
    fn begin(&mut self, run: &RunInfo<'_>) -> Result<(), RecordError> {
        self.writer = run.folder.map(EventWriter::create).transpose()?;
        Ok(())
    }

    fn caught_up(&mut self) -> Result<(), RecordError> {
        self.writer.as_mut().map_or(Ok(()), EventWriter::publish)
    }

    fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        self.writer.as_mut().map_or(Ok(()), |writer| writer.initial(initial))
    }

    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.round(round)?;
        let now = (self.now)();
        if now - self.flushed >= FLUSH {
            self.flushed = now;
            writer.flush()?;
        }
        Ok(())
    }

    fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        match (self.writer.take(), end) {
            (Some(mut writer), Some(end)) => writer.end(end),
            (Some(mut writer), None) => writer.flush(),
            (None, _) => Ok(()),
        }
    }
}
