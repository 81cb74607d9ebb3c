//! The progress of a run on standard error: a bar on a terminal, lines now and then elsewhere.

use std::time::{Duration, Instant};

use fedflip_record::{End, RecordError, Round};
use fedflip_run::{Observer, RunInfo};

use crate::eta::Eta;
use crate::interrupt::now;
use crate::progress::{Line, Progress, Stage, now_and_then, warn};
use crate::render::{duration, percent, significant};

/// How often the bar changes.
const LOOK: Duration = Duration::from_millis(200);

/// Of the bar: finer than its characters.
const BAR_STEPS: u64 = 1000;

/// Shows one run after another.
pub(crate) struct Bar {
    /// None between runs, and where rounds are shown elsewhere.
    run: Option<Shown>,
    working: Option<Progress>,
    shows_rounds: bool,
}

struct Shown {
    stage: Stage,
    line: Line,
    title: String,
    target_accuracy: Option<f64>,
    /// Loss and accuracy of the last evaluation.
    evaluated: Option<[f64; 2]>,
    eta: Eta,
    began: Instant,
    rounds_before: u64,
    looked: Instant,
}

impl Bar {
    pub(crate) fn new() -> Self {
        Self { run: None, working: None, shows_rounds: true }
    }

    /// Only warnings and what takes long: a server logs its rounds.
    pub(crate) fn without_rounds() -> Self {
        Self { shows_rounds: false, ..Self::new() }
    }
}

impl Observer for Bar {
    fn begin(&mut self, run: &RunInfo<'_>) -> Result<(), RecordError> {
        if !self.shows_rounds {
            return Ok(());
        }
        let began = now();
        self.run = Some(Shown {
            stage: Stage::now(),
            line: Line::with_bar(BAR_STEPS),
            title: run.title.to_owned(),
            target_accuracy: run.header.target_of("accuracy"),
            evaluated: None,
            eta: Eta::default(),
            began,
            rounds_before: run.rounds_before,
            looked: began,
        });
        Ok(())
    }

    fn wants_history(&self) -> bool {
        false
    }

    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        if let Some(shown) = &mut self.run {
            shown.round(round);
        }
        Ok(())
    }

    fn end(&mut self, _end: Option<&End>) -> Result<(), RecordError> {
        self.run = None;
        Ok(())
    }

    fn working(&mut self, what: &str) {
        self.working = (!what.is_empty()).then(|| Progress::start(what));
    }

    fn warn(&mut self, text: &str) {
        warn(text);
    }
}

impl Shown {
    fn round(&mut self, round: &Round) {
        let metrics = &round.metrics;
        if let (Some(loss), Some(accuracy)) = (metrics.get("loss"), metrics.get("accuracy")) {
            self.eta.evaluated(round.round, accuracy);
            self.evaluated = Some([loss, accuracy]);
        }
        let now = now();
        if now - self.looked < LOOK {
            return;
        }
        self.looked = now;
        match self.stage {
            Stage::Terminal => {
                self.line.at(self.way_steps());
                self.line.say(self.message(now, round));
            }
            Stage::Lines => now_and_then(now, || self.message(now, round)),
            Stage::Quiet => {}
        }
    }

    /// The share of the way to the target: accuracy stands for it, because nobody knows the number of rounds.
    fn way_steps(&self) -> u64 {
        let share = self.evaluated.zip(self.target_accuracy).map(|([_, accuracy], target)| accuracy / target);
        (share.unwrap_or(0.0).clamp(0.0, 1.0) * BAR_STEPS as f64) as u64
    }

    fn message(&self, now: Instant, round: &Round) -> String {
        let secs = round.start_secs + round.round_secs;
        let mut message = format!("{}: round {}, {}", self.title, round.round, duration(secs));
        if let Some([loss, accuracy]) = self.evaluated {
            message += &format!(", accuracy {}, loss {}", percent(accuracy), significant(loss, 3));
        }
        let rounds = round.round.saturating_sub(self.rounds_before);
        if let Some(left) = self.target_accuracy.and_then(|target| self.eta.rounds_left(target))
            && rounds > 0
        {
            let secs = left * (now - self.began).as_secs_f64() / rounds as f64;
            message += &format!(", about {} to go", duration(secs));
        }
        message
    }
}
