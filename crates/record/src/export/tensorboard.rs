//! A run's curves as an event file of TensorBoard, written while it goes or afterwards.
//!
//! Steps are rounds, and the time of an event is virtual: TensorBoard's relative axis shows it, and equal runs
//! give equal bytes. Scalars are `simple_value`, 32 bits wide, which every version of TensorBoard reads; the
//! records keep all digits.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use prost::Message;

use super::tfrecord::framed;
use crate::atomic;
use crate::error::RecordError;
use crate::schema::{End, Initial, Round};

/// The event file of a run's folder. TensorBoard knows it by `tfevents`; where others have a date and a host,
/// it has the same for equal runs.
pub const EVENTS: &str = "events.out.tfevents.0.fedflip";

/// What the first event of a file says.
const FILE_VERSION: &str = "brain.Event:2";

/// Appends events to a file, each whole or not at all.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    /// Where it is until it is published.
    beside: Option<PathBuf>,
    file: BufWriter<File>,
}

impl EventWriter {
    /// Begins an event file for `folder`. Until it is published, the one that is there stays.
    pub fn create(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(EVENTS);
        // Not by a name that TensorBoard would take for one more.
        let beside = folder.join("events.new");
        let file = File::create(&beside).map_err(RecordError::io(&path, "cannot be written"))?;
        let mut writer = Self { path, beside: Some(beside), file: BufWriter::with_capacity(1 << 16, file) };
        let file_version = Some(FILE_VERSION.to_owned());
        writer.append(&Event { wall_time: Some(0.0), file_version, ..Event::default() })?;
        Ok(writer)
    }

    /// Puts the file with all rounds so far in its place; more can follow.
    pub fn publish(&mut self) -> Result<(), RecordError> {
        self.sync()?;
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.path).map_err(RecordError::io(&self.path, "cannot be written"))?;
            self.beside = None;
            atomic::sync_folder(&self.path)?;
        }
        Ok(())
    }

    /// Appends the evaluation of the first model as step 0.
    pub fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        self.scalars(0, initial.secs, initial.metrics.iter())
    }

    /// Appends a round: one scalar for each metric, and its other numbers. It may stay in memory for a while.
    pub fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        let secs = round.end_secs();
        let train_loss = round.train_loss.map(|loss| ("train_loss", loss));
        let others = [
            ("round_secs", round.round_secs),
            ("participants", round.cohort.len() as f64),
            ("virtual_hours", secs / 3600.0),
        ];
        self.scalars(round.round, secs, round.metrics.iter().chain(train_loss).chain(others))
    }

    /// Ends the file: with the last model's evaluation, if its round had none.
    pub fn end(&mut self, end: &End) -> Result<(), RecordError> {
        if !end.metrics.is_empty() {
            self.scalars(end.rounds, end.secs, end.metrics.iter())?;
        }
        self.sync()
    }

    /// Hands everything to the system, so that readers see it.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io(&self.path, "cannot be written"))
    }

    fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(RecordError::io(&self.path, "cannot be written"))
    }

    /// Appends one event with these values.
    fn scalars<'v>(
        &mut self,
        step: u64,
        secs: f64,
        values: impl Iterator<Item = (&'v str, f64)>,
    ) -> Result<(), RecordError> {
        let scalar = |(tag, value): (&str, f64)| Scalar {
            tag: Some(tag.to_owned()),
            simple_value: Some(value as f32),
        };
        let summary = Summary { value: values.map(scalar).collect() };
        self.append(&Event {
            wall_time: Some(secs),
            step: Some(step as i64),
            summary: Some(summary),
            ..Event::default()
        })
    }

    fn append(&mut self, event: &Event) -> Result<(), RecordError> {
        // Far shorter than the buffer, which therefore hands on whole frames only.
        let frame = framed(&event.encode_to_vec());
        self.file.write_all(&frame).map_err(RecordError::io(&self.path, "cannot be written"))
    }
}

impl Drop for EventWriter {
    fn drop(&mut self) {
        // The old one stays; what was begun does not.
        if let Some(beside) = &self.beside {
            let _ = fs::remove_file(beside);
        }
    }
}

/// TensorBoard's messages, with the fields that are used here. Fields are optional so that zeros are written, too.
#[derive(prost::Message)]
struct Event {
    #[prost(double, optional, tag = 1)]
    wall_time: Option<f64>,
    #[prost(int64, optional, tag = 2)]
    step: Option<i64>,
    #[prost(string, optional, tag = 3)]
    file_version: Option<String>,
    #[prost(message, optional, tag = 5)]
    summary: Option<Summary>,
}

#[derive(prost::Message)]
struct Summary {
    #[prost(message, repeated, tag = 1)]
    value: Vec<Scalar>,
}

#[derive(prost::Message)]
struct Scalar {
    #[prost(string, optional, tag = 1)]
    tag: Option<String>,
    #[prost(float, optional, tag = 2)]
    simple_value: Option<f32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::EndReason;

    /// A file that is there, with some rounds.
    fn published(folder: &Path, past: &[Round]) -> EventWriter {
        let mut writer = EventWriter::create(folder).unwrap();
        past.iter().try_for_each(|round| writer.round(round)).unwrap();
        writer.publish().unwrap();
        writer
    }

    fn rounds() -> Vec<Round> {
        (1..=300)
            .map(|round| Round {
                round,
                start_secs: round as f64,
                round_secs: 0.5,
                cohort: vec![0; (round % 3) as usize],
                train_loss: (round % 3 > 0).then_some(1.0 / round as f64),
                metrics: (0..round % 5 / 4).map(|_| ("accuracy", 0.25)).collect(),
                ..Round::default()
            })
            .collect()
    }

    /// The first two events, byte by byte, as the format has them.
    #[test]
    fn events_are_what_the_format_says() {
        let desk = tempfile::tempdir().unwrap();
        let round = Round { round: 300, start_secs: 1.0, round_secs: 0.5, ..Round::default() };
        published(desk.path(), &[round]);
        let bytes = fs::read(desk.path().join(EVENTS)).unwrap();
        let version = [&b"\x09"[..], &0_f64.to_le_bytes(), b"\x1a\x0dbrain.Event:2"].concat();
        assert_eq!(bytes[..8], (version.len() as u64).to_le_bytes());
        assert_eq!(bytes[12..12 + version.len()], version);
        let scalar = |tag: &str, value: f32| {
            let inside = [&[0x0a, tag.len() as u8], tag.as_bytes(), b"\x15", &value.to_le_bytes()].concat();
            [&[0x0a, inside.len() as u8], &inside[..]].concat()
        };
        let summary = [
            scalar("round_secs", 0.5),
            scalar("participants", 0.0),
            scalar("virtual_hours", (1.5_f64 / 3600.0) as f32),
        ]
        .concat();
        let event =
            [b"\x09", &1.5_f64.to_le_bytes()[..], b"\x10\xac\x02\x2a", &[summary.len() as u8], &summary]
                .concat();
        let start = 12 + version.len() + 4;
        assert_eq!(bytes[start..start + 8], (event.len() as u64).to_le_bytes());
        assert_eq!(bytes[start + 12..bytes.len() - 4], event);
    }

    #[test]
    fn a_run_that_went_on_has_the_same_bytes() {
        let (rounds, desk) = (rounds(), tempfile::tempdir().unwrap());
        let end = End {
            reason: EndReason::RoundsMax,
            rounds: 300,
            secs: 300.5,
            metrics: [("accuracy", 0.5), ("loss", 1.0)].into(),
            estimated: None,
            test: Default::default(),
            detail: None,
        };
        let written = |folder: &str, cuts: &[usize]| {
            let folder = desk.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            for &cut in cuts {
                let mut writer = published(&folder, &rounds[..cut]);
                // Some rounds that the records lost when it was killed.
                rounds[cut..].iter().take(7).try_for_each(|round| writer.round(round)).unwrap();
            }
            let past = cuts.last().copied().unwrap_or(0);
            let mut writer = published(&folder, &rounds[..past]);
            rounds[past..].iter().try_for_each(|round| writer.round(round)).unwrap();
            writer.end(&end).unwrap();
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
            fs::read(folder.join(EVENTS)).unwrap()
        };
        assert_eq!(written("whole", &[]), written("resumed", &[0, 20, 290, 300]));
    }

    #[test]
    fn what_is_not_published_leaves_the_old_one_as_it_was() {
        let (rounds, desk) = (rounds(), tempfile::tempdir().unwrap());
        published(desk.path(), &rounds);
        let before = fs::read(desk.path().join(EVENTS)).unwrap();
        let mut begun = EventWriter::create(desk.path()).unwrap();
        begun.round(&rounds[0]).unwrap();
        drop(begun);
        assert_eq!(fs::read(desk.path().join(EVENTS)).unwrap(), before);
        assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 1);
    }
}
