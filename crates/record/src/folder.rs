//! A run's folder: who may write, what is on the disk when, and where to continue.
//!
//! | file | |
//! |---|---|
//! | `run.toml` | the resolved scenario: all that decides the bytes of the other files |
//! | `fleet.csv`, `plan.csv` | the fleet with the data's sample counts; q and a/q of each device, of quiet rounds too |
//! | `records.jsonl` | the records, see [`crate::schema`] |
//! | `model.safetensors` | the model at the end |
//! | `best.safetensors` | the model with the best value of the metric that the target names |
//! | `initial.safetensors` | the first model, if the scenario names a file |
//! | `weights.csv` | the aggregation weights, if the scenario names a file |
//! | `checkpoint/` | the last two checkpoints |
//! | `events.out.tfevents.…` | its curves for TensorBoard, if they are asked for |
//! | `host.json` | what belongs to the machine and not to the run |
//! | `.lock` | held by the process that writes |
//!
//! A checkpoint is written before the first round, and later only when the records before it are on the disk, so the
//! newest whole checkpoint always has its records; what was recorded after it is cut off and comes again, to the byte.
//! Where that does not hold, something else than an interruption has happened, and the folder is refused rather than
//! overwritten. At the end the order is: checkpoint, model, last line. A run that was killed in between ends again, in
//! the same way.

use std::fs;
use std::path::{Path, PathBuf};

use crate::atomic;
pub use crate::caps::Caps;
use crate::checkpoint::Checkpoint;
use crate::error::{FolderProblem, RecordError};
pub use crate::lock::{LOCK, Lock, lock};
pub use crate::names::{BEST, FLEET, HOST, MODEL, PILOTS, PLAN, RECORDS, RUN, WEIGHTS, is_of_run};
use crate::names::{CHECKPOINTS, SLOTS};
use crate::others;
use crate::reader;
use crate::same_run::difference;
use crate::schema::{End, Header, Initial, Line, Round};
use crate::writer::RecordWriter;

/// What a run's folder starts with.
#[derive(Clone, Debug)]
pub struct Contents<'a> {
    /// The content of `run.toml`.
    pub run: String,
    /// Keys of it that may differ when a run continues: they say when to stop and how often to save, and do not
    /// change what the rounds record. A run that ended at a cap continues if the cap has changed.
    pub free_keys: &'static [&'static str],
    /// The caps in `run.toml`.
    pub caps: Caps,
    /// The content of `fleet.csv`.
    pub fleet: Vec<u8>,
    /// The content of `plan.csv`.
    pub plan: Vec<u8>,
    /// The first line of the records.
    pub header: Header,
    /// Copies of files that the scenario names, by the names that they have in the folder.
    pub copies: Vec<(&'static str, &'a [u8])>,
}

impl Contents<'_> {
    /// Whether a run that was killed at its beginning may have left this, or one that has done nothing but its pilots.
    fn may_have_left(&self, folder: &Path, name: &str) -> bool {
        let is = |content: &[u8]| fs::read(folder.join(name)).is_ok_and(|found| found == content);
        let copy = self.copies.iter().find(|(copy, _)| *copy == name);
        match name {
            FLEET => is(&self.fleet),
            PLAN => is(&self.plan),
            PILOTS => true,
            _ => name.ends_with(atomic::UNFINISHED) || copy.is_some_and(|(_, content)| is(content)),
        }
    }
}

/// Where a run begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Start {
    /// At the first round, before which there has to be a checkpoint.
    New,
    /// Resumes behind a checkpoint.
    After(Checkpoint),
    /// Not at all: it has ended.
    Ended(End),
}

/// A folder that this process writes to.
#[derive(Debug)]
pub struct RunFolder {
    folder: PathBuf,
    writer: RecordWriter,
    /// Where the next checkpoint goes: the older one's place.
    next_slot: usize,
    _lock: Lock,
}

impl RunFolder {
    /// Opens a folder for a run. With `resume` it may hold a run of the same scenario, which continues.
    pub fn open(folder: &Path, contents: &Contents<'_>, resume: bool) -> Result<(Self, Start), RecordError> {
        let refuse = |problem| Err(RecordError::folder(folder, problem));
        // Before the first file is written: the folder may be somebody else's. One that has a lock is looked at when nobody
        // writes to it.
        if !folder.join(LOCK).exists() {
            Self::check_free(folder, contents)?;
        }
        fs::create_dir_all(folder).map_err(RecordError::io(folder, "cannot be made"))?;
        let lock = lock(folder)?;
        let run = folder.join(RUN);
        let known = run.try_exists().map_err(RecordError::io(&run, "cannot be read"))?;
        Self::check_free(folder, contents)?;
        if known && !resume {
            return refuse(FolderProblem::Occupied);
        }
        let (writer, next_slot, start) = if known {
            let before = fs::read_to_string(&run).map_err(RecordError::io(&run, "cannot be read"))?;
            if let Some(difference) = difference(folder, &before, contents)? {
                return refuse(difference);
            }
            let is_changed = before != contents.run;
            let caps = contents.caps.new_since(&before, &contents.run);
            let resumed = resumed(folder, &contents.header, is_changed, caps)?;
            let is_over = matches!(&resumed.2, Start::Ended(end) if !caps.allow(end.rounds, end.secs));
            if is_changed && !is_over {
                atomic::write(&run, contents.run.as_bytes())?;
            }
            resumed
        } else {
            atomic::write(&folder.join(FLEET), &contents.fleet)?;
            atomic::write(&folder.join(PLAN), &contents.plan)?;
            for (name, content) in &contents.copies {
                atomic::write(&folder.join(name), content)?;
            }
            // The last one: what has a run.toml has the others.
            atomic::write(&run, contents.run.as_bytes())?;
            (begun(folder, &contents.header)?, 0, Start::New)
        };
        let checkpoints = folder.join(CHECKPOINTS);
        fs::create_dir_all(&checkpoints).map_err(RecordError::io(&checkpoints, "cannot be made"))?;
        Ok((Self { folder: folder.to_owned(), writer, next_slot, _lock: lock }, start))
    }

    /// Refuses a folder that holds neither a run nor room for one: files of somebody else are in it.
    pub fn check_free(folder: &Path, contents: &Contents<'_>) -> Result<(), RecordError> {
        if folder.join(RUN).exists() {
            return Ok(());
        }
        if folder.join(RECORDS).exists() {
            return Err(RecordError::folder(folder, FolderProblem::NotOurs));
        }
        others::refuse(folder, |name| contents.may_have_left(folder, name))
    }

    /// Refuses a folder whose run is not the one that is wanted. Nothing is locked: the run is over.
    pub fn check_same(folder: &Path, contents: &Contents<'_>) -> Result<(), RecordError> {
        let run = folder.join(RUN);
        let found = fs::read_to_string(&run).map_err(RecordError::io(&run, "cannot be read"))?;
        match difference(folder, &found, contents)? {
            Some(problem) => Err(RecordError::folder(folder, problem)),
            None => Ok(()),
        }
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Appends the evaluation of the first model.
    pub fn append_initial(&mut self, initial: Initial) -> Result<(), RecordError> {
        self.writer.append(&Line::Initial(initial))
    }

    /// Appends the record of a round.
    pub fn append(&mut self, round: Round) -> Result<(), RecordError> {
        self.writer.append(&Line::Round(round))
    }

    /// Lets readers see what was appended.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.writer.flush()
    }

    /// Syncs the records to the disk, and then a checkpoint that holds their length.
    pub fn checkpoint(&mut self, mut checkpoint: Checkpoint) -> Result<(), RecordError> {
        checkpoint.records = self.writer.sync()?;
        atomic::write(&self.folder.join(SLOTS[self.next_slot]), &checkpoint.to_bytes())?;
        self.next_slot = 1 - self.next_slot;
        Ok(())
    }

    /// Ends a run whose last checkpoint has been written.
    pub fn end(mut self, end: End, model: &[u8]) -> Result<(), RecordError> {
        atomic::write(&self.folder.join(MODEL), model)?;
        self.writer.append(&Line::End(end))?;
        self.writer.sync()?;
        Ok(())
    }

    /// Replaces a file beside the records.
    pub fn write(&self, file: &str, content: &[u8]) -> Result<(), RecordError> {
        atomic::write(&self.folder.join(file), content)
    }
}

/// The newest whole checkpoint in a folder; none if there is none.
pub fn last_checkpoint(folder: &Path) -> Result<Option<Checkpoint>, RecordError> {
    let newest = checkpoints(folder)?.0.into_iter().next();
    Ok(newest.map(|(_, checkpoint)| checkpoint))
}

fn begun(folder: &Path, header: &Header) -> Result<RecordWriter, RecordError> {
    let records = folder.join(RECORDS);
    let mut writer = RecordWriter::create(&records)?;
    writer.append(&Line::Header(header.clone()))?;
    writer.sync()?;
    atomic::sync_folder(&records)?;
    Ok(writer)
}

/// The whole checkpoints of a folder with their slots, the newest first, and the number of files; a damaged one is none.
fn checkpoints(folder: &Path) -> Result<(Vec<(usize, Checkpoint)>, usize), RecordError> {
    let (mut whole, mut slots) = (Vec::new(), 0);
    for (slot, name) in SLOTS.iter().enumerate() {
        let path = folder.join(name);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(RecordError::io(&path, "cannot be read")(error)),
        };
        slots += 1;
        whole.extend(Checkpoint::from_bytes(&bytes).map(|found| (slot, found)));
    }
    whole.sort_by_key(|(_, checkpoint)| std::cmp::Reverse(checkpoint.round));
    Ok((whole, slots))
}

/// Resumes after the newest checkpoint that is complete, fits the model and has its records, or else from the beginning. A run
/// that ended at a cap continues if the caps have been raised.
fn resumed(
    folder: &Path,
    header: &Header,
    is_changed: bool,
    new_caps: Caps,
) -> Result<(RecordWriter, usize, Start), RecordError> {
    let records = folder.join(RECORDS);
    // Another version's records are not ours to cut.
    if let Err(error @ RecordError::Version { .. }) = reader::header(&records) {
        return Err(error);
    }
    if let Some(end) = reader::end(&records)
        && (!is_changed || !end.reason.is_cap() || !new_caps.allow(end.rounds, end.secs))
        && folder.join(MODEL).is_file()
    {
        return Ok((RecordWriter::at_end(&records)?, 0, Start::Ended(end)));
    }
    let (whole, slots) = checkpoints(folder)?;
    // One of another model is none.
    for (slot, checkpoint) in whole.into_iter().filter(|(_, found)| found.fits(header.parameters)) {
        if !new_caps.allow(checkpoint.round, checkpoint.secs) {
            let (rounds, secs) = (checkpoint.round, format!("{:.3}", checkpoint.secs));
            return Err(RecordError::folder(folder, FolderProblem::BeyondCaps { rounds, secs }));
        }
        if let Some(writer) = RecordWriter::resume(&records, checkpoint.records)? {
            return Ok((writer, 1 - slot, Start::After(checkpoint)));
        }
    }
    // What is left is not ours to overwrite, but for a run that was killed before its first round.
    if slots > 0 {
        return Err(RecordError::folder(folder, FolderProblem::Damaged));
    }
    if !reader::is_just_begun(&records)? {
        return Err(RecordError::folder(folder, FolderProblem::NoCheckpoint));
    }
    Ok((begun(folder, header)?, 0, Start::New))
}
