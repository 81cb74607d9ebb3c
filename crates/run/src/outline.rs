//! A run in a few numbers and a curve: what the terminal shows of it.

use std::path::Path;

use fedflip_record::{End, Header, Line, RecordError, Round, Summary, reader};

/// What is shown of a run, however many rounds it has.
#[derive(Clone, Debug)]
pub struct Outline {
    pub summary: Summary,
    pub curve: Curve,
}

impl Outline {
    pub fn new(header: &Header) -> Self {
        Self { summary: Summary::new(header), curve: Curve::default() }
    }

    /// Of all rounds in a file of records.
    pub fn read(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let mut outline = Self::new(header);
        reader::each(path, |line| match line {
            Line::Header(_) | Line::Replan(_) => {}
            Line::Round(round) => outline.add(&round),
            Line::End(end) => outline.end(&end),
        })?;
        Ok(outline)
    }

    /// One more round.
    pub fn add(&mut self, round: &Round) {
        self.summary.add(round);
        self.curve.evaluated(round.start_secs + round.round_secs, round.loss, round.accuracy);
    }

    pub fn end(&mut self, end: &End) {
        self.summary.end(end);
        self.curve.evaluated(end.secs, end.loss, end.accuracy);
    }
}

/// An evaluation and its virtual time.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Evaluated {
    secs: f64,
    loss: f64,
    accuracy: f64,
}

/// Evaluations over virtual time, thinned so that memory stays bounded: the first, the last, and some hundred
/// of those between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Curve {
    kept: Vec<Evaluated>,
    last: Option<Evaluated>,
    /// Evaluations so far; every so many of them is kept.
    seen: u64,
    doublings: u32,
}

/// Of the evaluations kept, at most: every other one is dropped when there are more.
const KEPT_MAX: usize = 512;

impl Curve {
    fn evaluated(&mut self, secs: f64, loss: Option<f64>, accuracy: Option<f64>) {
        let (Some(loss), Some(accuracy)) = (loss, accuracy) else { return };
        let evaluated = Evaluated { secs, loss, accuracy };
        self.last = Some(evaluated);
        if self.seen.trailing_zeros() >= self.doublings {
            self.kept.push(evaluated);
        }
        self.seen += 1;
        if self.kept.len() > KEPT_MAX {
            let mut place = 0;
            self.kept.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.doublings += 1;
        }
    }

    /// Accuracy over virtual seconds.
    pub fn accuracy(&self) -> Vec<(f64, f64)> {
        self.over_time(|evaluated| evaluated.accuracy)
    }

    /// Loss over virtual seconds.
    pub fn loss(&self) -> Vec<(f64, f64)> {
        self.over_time(|evaluated| evaluated.loss)
    }

    fn over_time(&self, value: fn(&Evaluated) -> f64) -> Vec<(f64, f64)> {
        let last = self.last.filter(|last| self.kept.last() != Some(last));
        self.kept.iter().chain(&last).map(|evaluated| (evaluated.secs, value(evaluated))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_keeps_its_ends_and_its_shape() {
        let mut curve = Curve::default();
        let rounds = 1_000_001;
        for round in 1..=rounds {
            let share = f64::from(round) / f64::from(rounds);
            curve.evaluated(f64::from(round), Some(1.0 - share), Some(share));
            // Rounds without an evaluation leave no trace.
            curve.evaluated(f64::from(round), None, None);
        }
        let accuracy = curve.accuracy();
        assert!(accuracy.len() > KEPT_MAX / 2 && accuracy.len() <= KEPT_MAX + 1, "{}", accuracy.len());
        assert_eq!((accuracy[0].0, accuracy[accuracy.len() - 1]), (1.0, (f64::from(rounds), 1.0)));
        let steps: Vec<f64> = accuracy.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(steps[..steps.len() - 1].iter().all(|step| *step == steps[0]), "{steps:?}");
        assert!(curve.loss().iter().zip(&accuracy).all(|(loss, accuracy)| loss.1 + accuracy.1 == 1.0));
    }
}
