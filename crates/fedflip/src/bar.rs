//! The progress of a run on standard error: a bar on a terminal, lines now and then elsewhere.

use std::time::{Duration, Instant};

use fedflip_fleet::{Display, MetricInfo};
use fedflip_record::{End, Fold, Header, Initial, RecordError, Round, Target, TargetMode};
use fedflip_run::{Observer, RunInfo};

use crate::eta::secs_left;
use crate::interrupt::now;
use crate::progress::{Line, Stage, now_and_then, warn};
use crate::render::{duration, metric_value};

/// How often the bar changes.
const LOOK: Duration = Duration::from_millis(200);

/// Of the bar: finer than its characters.
const BAR_STEPS: u64 = 1000;

/// Shows one run after another.
pub(crate) struct Bar {
    /// None between runs, and where rounds are shown elsewhere.
    run: Option<Shown>,
    working: Option<Line>,
    shows_rounds: bool,
}

struct Shown {
    stage: Stage,
    line: Line,
    title: String,
    metrics: Vec<MetricInfo>,
    target: Option<Target>,
    fold: Fold,
    began: Instant,
    /// On the run's clock at the first round of this session.
    secs_before: Option<f64>,
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
        self.run = Some(Shown::new(run.title, run.header, now()));
        Ok(())
    }

    fn wants_history(&self) -> bool {
        false
    }

    fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        if let Some(shown) = &mut self.run {
            shown.fold.initial(initial);
        }
        Ok(())
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
        self.working = (!what.is_empty()).then(|| Line::while_alive(what));
    }

    fn warn(&mut self, text: &str) {
        warn(text);
    }
}

impl Shown {
    fn new(title: &str, header: &Header, began: Instant) -> Self {
        Self {
            stage: Stage::now(),
            line: Line::with_bar(BAR_STEPS),
            title: title.to_owned(),
            metrics: header.metrics.clone(),
            target: header.stop.clone(),
            fold: Fold::new(header),
            began,
            secs_before: None,
            looked: began,
        }
    }

    fn round(&mut self, round: &Round) {
        self.secs_before.get_or_insert(round.start_secs);
        self.fold.round(round);
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

    /// The share of the way to the target: the metric stands for it, because nobody knows the number of rounds.
    fn way_steps(&self) -> u64 {
        let share = self.target.as_ref().and_then(|Target { metric, at, mode }| {
            let value = self.fold.summary.metrics.get(metric)?;
            Some(if *mode == TargetMode::Max { value / at } else { at / value })
        });
        (share.unwrap_or(0.0).clamp(0.0, 1.0) * BAR_STEPS as f64) as u64
    }

    fn message(&self, now: Instant, round: &Round) -> String {
        let mut message = format!("{}: round {}, {}", self.title, round.round, duration(round.end_secs()));
        for info in &self.metrics {
            if let Some(value) = self.fold.summary.metrics.get(&info.name) {
                message += &format!(", {} {}", info.name, metric_value(info.display, value));
            }
        }
        if let Some(secs) = self.real_secs_left(now, round) {
            message += &format!(", about {} to go", duration(secs));
        }
        message
    }

    /// As much longer by the clock on the wall as by that of the run.
    fn real_secs_left(&self, now: Instant, round: &Round) -> Option<f64> {
        let target = self.target.as_ref()?;
        let info = self.metrics.iter().find(|info| info.name == target.metric);
        let display = info.map_or(Display::Number, |info| info.display);
        let left = secs_left(&self.fold.curve.of(&target.metric), target, display)?;
        let secs = round.end_secs() - self.secs_before?;
        (secs > 0.0).then(|| left * (now - self.began).as_secs_f64() / secs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_accuracy_shows_its_metrics_its_way_and_what_is_left() {
        let header = r#"{"version":3,"fedflip":"0","task":"t","scheme":"exact","seed":1,"devices":1,"parameters":1,
            "bandwidth_mbps":1,"expected_participants":1,"expected_rounds":null,"expected_round_secs":null,
            "metrics":[{"name":"rmse","better":"smaller","display":"number"}],
            "stop":{"metric":"rmse","at":0.5,"mode":"min"}}"#;
        let began = now();
        let mut shown = Shown::new("a run", &serde_json::from_str(header).unwrap(), began);
        let round = |n: u64| Round {
            round: n,
            start_secs: (n - 1) as f64,
            round_secs: 1.0,
            // 0.5 after 2500 s.
            metrics: [("rmse", 25.0 * (n as f64).powf(-0.5))].into(),
            ..Round::default()
        };
        (1..=1600).for_each(|n| shown.round(&round(n)));
        assert_eq!(shown.way_steps(), 800);
        // 900 of the run's seconds are left, and 16 of the wall's were 1600 of them.
        let message = shown.message(began + Duration::from_secs(16), &round(1600));
        assert!(message.starts_with("a run: round 1600, 26.7 min, rmse 0.625, about "), "{message}");
        let left = shown.real_secs_left(began + Duration::from_secs(16), &round(1600)).unwrap();
        assert!((left - 9.0).abs() < 1.0, "{left}");
    }
}
