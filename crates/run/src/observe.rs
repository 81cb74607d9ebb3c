//! Observers of runs: a progress bar, a dashboard, TensorBoard, a script.

use std::path::Path;

use fedflip_fleet::Fleet;
use fedflip_record::folder::RECORDS;
use fedflip_record::{End, Header, Initial, Line, RecordError, Round, reader};

/// A run that begins or resumes.
#[derive(Clone, Copy, Debug)]
pub struct RunInfo<'a> {
    /// Such as `3/24 exact-seed1`.
    pub title: &'a str,
    /// The first line of its records.
    pub header: &'a Header,
    /// The fleet of the run.
    pub fleet: &'a Fleet,
    /// The share of the rounds in which each device participates.
    pub q: &'a [f64],
    /// The run's folder, if it is kept.
    pub folder: Option<&'a Path>,
}

/// Watches one run after another. A closure that takes a round is an observer, too.
pub trait Observer {
    /// A run begins, resumes, or is shown again after its end; the one before it is over.
    fn begin(&mut self, _run: &RunInfo<'_>) -> Result<(), RecordError> {
        Ok(())
    }

    /// Whether rounds that earlier sessions recorded are to be shown first.
    fn wants_history(&self) -> bool {
        true
    }

    /// Whether it may end a run, and therefore must see each round when it is over.
    fn may_end_runs(&self) -> bool {
        false
    }

    /// The recorded rounds have been shown; from now on rounds are new.
    fn caught_up(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    /// Another plan replaces the present one: `run` as it is from now on.
    fn replan(&mut self, _run: &RunInfo<'_>, _reason: &str) {}

    /// The first model was evaluated.
    fn initial(&mut self, _initial: &Initial) -> Result<(), RecordError> {
        Ok(())
    }

    /// One more round. Called thousands of times a second where nothing is trained, so it must not wait.
    fn round(&mut self, round: &Round) -> Result<(), RecordError>;

    /// The run is over; none if it was interrupted and can be resumed.
    fn end(&mut self, _end: Option<&End>) -> Result<(), RecordError> {
        Ok(())
    }

    /// All runs are over: nothing more will come.
    fn all_done(&mut self) {}

    /// Something that takes a while begins, such as reading data; an empty text ends it.
    fn working(&mut self, _what: &str) {}

    /// A warning for the user.
    fn warn(&mut self, _text: &str) {}
}

impl<F: FnMut(&Round)> Observer for F {
    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        self(round);
        Ok(())
    }
}

/// All observers of a session.
#[derive(Default)]
pub struct Observers<'a>(Vec<Box<dyn Observer + 'a>>);

impl<'a> Observers<'a> {
    /// Adds an observer to the list.
    pub fn add(&mut self, observer: impl Observer + 'a) {
        self.0.push(Box::new(observer));
    }

    /// Whether one of them may end a run.
    pub fn may_end_runs(&self) -> bool {
        self.0.iter().any(|observer| observer.may_end_runs())
    }

    /// A run begins or resumes. Recorded rounds are read from its folder and not held.
    pub fn begin(&mut self, run: &RunInfo<'_>) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|observer| observer.begin(run))?;
        if let Some(folder) = run.folder
            && self.0.iter().any(|observer| observer.wants_history())
        {
            let mut shown = Ok(());
            reader::each(&folder.join(RECORDS), |line| {
                let mut interested = self.0.iter_mut().filter(|observer| observer.wants_history());
                match (line, &shown) {
                    (Line::Initial(initial), Ok(())) => {
                        shown = interested.try_for_each(|observer| observer.initial(&initial));
                    }
                    (Line::Round(round), Ok(())) => {
                        shown = interested.try_for_each(|observer| observer.round(&round));
                    }
                    _ => {}
                }
            })?;
            shown?;
        }
        self.0.iter_mut().try_for_each(|observer| observer.caught_up())
    }

    /// Another plan replaces the present one.
    pub fn replan(&mut self, run: &RunInfo<'_>, reason: &str) {
        self.0.iter_mut().for_each(|observer| observer.replan(run, reason));
    }

    /// The first model was evaluated.
    pub fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|observer| observer.initial(initial))
    }

    /// Passes a round to all observers.
    pub fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|observer| observer.round(round))
    }

    /// The run is over, or interrupted.
    pub fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|observer| observer.end(end))
    }

    /// All runs are over.
    pub fn all_done(&mut self) {
        self.0.iter_mut().for_each(|observer| observer.all_done());
    }

    /// Shows a text while `work` runs.
    pub fn while_working<T>(&mut self, what: &str, work: impl FnOnce() -> T) -> T {
        self.0.iter_mut().for_each(|observer| observer.working(what));
        let result = work();
        self.0.iter_mut().for_each(|observer| observer.working(""));
        result
    }

    /// Passes a warning to the user.
    pub fn warn(&mut self, text: &str) {
        self.0.iter_mut().for_each(|observer| observer.warn(text));
    }
}
