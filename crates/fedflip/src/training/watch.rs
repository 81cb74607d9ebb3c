//! Whoever watches a run: records, checkpoints, the bar, Ctrl-C, the clock on the wall.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fedflip_engine::{Control, Sink, State};
use fedflip_learn::Metrics;
use fedflip_record::{RecordError, Round, RunFolder};

use super::eta::Eta;
use super::follow::Followers;
use super::outline::Outline;
use crate::progress::{Line, Stage, be_quiet, now_and_then};
use crate::render::{duration, percent, significant};

/// Set by Ctrl-C and SIGTERM: the run stops after its round and can go on later.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How often the bar changes, and how often records reach those who read along.
const LOOK: Duration = Duration::from_millis(200);

/// From now on Ctrl-C asks the run to stop; a second one ends the process at once, which loses nothing but
/// the rounds since the last checkpoint.
pub(crate) fn catch_interrupts(quiet: bool) {
    if quiet {
        be_quiet();
    }
    let caught = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    // Without a handler Ctrl-C ends the process, as ever.
    drop(caught);
}

pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Waits for Ctrl-C.
#[expect(clippy::disallowed_methods, reason = "there is nothing else to do")]
pub(crate) fn until_interrupted() {
    while !interrupted() {
        std::thread::sleep(LOOK);
    }
}

#[expect(clippy::disallowed_methods, reason = "the bar, checkpoints and real-time caps go by the wall")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Of the bar: finer than its characters.
const BAR_STEPS: u64 = 1000;

/// Where the records go.
pub(crate) enum Keep {
    Folder(RunFolder),
    Memory(Outline),
}

/// Watches one run.
pub(crate) struct Watch<'a> {
    keep: Keep,
    followers: &'a mut Followers,
    stage: Stage,
    bar: Line,
    title: String,
    /// The last evaluation.
    evaluated: Option<Metrics>,
    eta: Eta,
    target_accuracy: Option<f64>,
    checkpoint_every: Duration,
    started: Instant,
    started_round: u64,
    /// When the run has to stop, by the wall.
    real_end: Option<Instant>,
    looked: Instant,
    checkpointed: Instant,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(keep: Keep, followers: &'a mut Followers, title: &str, state: &State) -> Self {
        let started = now();
        Self {
            keep,
            followers,
            stage: Stage::now(),
            bar: Line::with_bar(BAR_STEPS),
            title: title.to_owned(),
            evaluated: state.evaluated,
            eta: Eta::default(),
            target_accuracy: None,
            checkpoint_every: Duration::from_secs(10),
            started,
            started_round: state.round,
            real_end: None,
            looked: started,
            checkpointed: started,
        }
    }

    pub(crate) fn with_target(self, target_accuracy: Option<f64>) -> Self {
        Self { target_accuracy, ..self }
    }

    pub(crate) fn with_checkpoints(self, secs: f64) -> Self {
        Self { checkpoint_every: Duration::try_from_secs_f64(secs).unwrap_or(Duration::MAX), ..self }
    }

    pub(crate) fn with_real_hours_max(self, hours: Option<f64>) -> Self {
        let real_end = hours
            .and_then(|hours| Duration::try_from_secs_f64(3600.0 * hours).ok())
            .and_then(|most| self.started.checked_add(most));
        Self { real_end, ..self }
    }

    /// How long it has been watching.
    pub(crate) fn real(&self) -> Duration {
        self.started.elapsed()
    }

    /// What was kept.
    pub(crate) fn into_keep(self) -> Keep {
        self.bar.clear();
        self.keep
    }

    fn show(&self, now: Instant, state: &State) {
        match self.stage {
            Stage::Terminal => {
                self.bar.at(self.way_steps());
                self.bar.say(self.message(state));
            }
            Stage::Lines => now_and_then(now, || self.message(state)),
            Stage::Quiet => {}
        }
    }

    /// How much of the way to the target is done: accuracy stands for it, for nobody knows the rounds.
    fn way_steps(&self) -> u64 {
        let share = self.evaluated.zip(self.target_accuracy).map(|(now, target)| now.accuracy / target);
        (share.unwrap_or(0.0).clamp(0.0, 1.0) * BAR_STEPS as f64) as u64
    }

    fn message(&self, state: &State) -> String {
        let mut message = format!("{}: round {}, {}", self.title, state.round, duration(state.secs));
        if let Some(metrics) = self.evaluated {
            message +=
                &format!(", accuracy {}, loss {}", percent(metrics.accuracy), significant(metrics.loss, 3));
        }
        let rounds = state.round.saturating_sub(self.started_round);
        if let Some(left) = self.target_accuracy.and_then(|target| self.eta.rounds_left(target))
            && rounds > 0
        {
            let secs = left * self.started.elapsed().as_secs_f64() / rounds as f64;
            message += &format!(", about {} to go", duration(secs));
        }
        message
    }
}

impl Sink for Watch<'_> {
    fn round(&mut self, record: Round, state: &State) -> Result<Control, RecordError> {
        if let (Some(loss), Some(accuracy)) = (record.loss, record.accuracy) {
            self.eta.evaluated(record.round, accuracy);
            self.evaluated = Some(Metrics { loss, accuracy });
        }
        self.followers.round(&record)?;
        match &mut self.keep {
            Keep::Folder(folder) => folder.append(record)?,
            Keep::Memory(outline) => outline.add(&record),
        }
        // A look at the clock costs less than a round; everything else only now and then.
        let now = now();
        if now - self.looked >= LOOK {
            self.looked = now;
            self.show(now, state);
            if let Keep::Folder(folder) = &mut self.keep {
                folder.flush()?;
            }
        }
        if now - self.checkpointed >= self.checkpoint_every {
            self.checkpointed = now;
            if let Keep::Folder(folder) = &mut self.keep {
                folder.checkpoint(state.checkpoint())?;
            }
        }
        let late = self.real_end.is_some_and(|end| now >= end);
        Ok(if late || interrupted() { Control::Stop } else { Control::GoOn })
    }
}
