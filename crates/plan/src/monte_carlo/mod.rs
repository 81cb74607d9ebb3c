//! E[T̂(q)], which has no closed form, by seeded Monte Carlo.
//!
//! Theorem 2's first bound is known exactly, and per cohort it is Σ_K t/f + max_K τ ≥ T̂(K). So only the
//! gap between the two is drawn: the estimate is the bound less the mean gap. The gap is nothing for
//! cohorts of one and none, so where few take part only larger ones are drawn (`at_least_two`), and their
//! probability is known exactly. This is many times more precise than a mean of T̂, has digits left for
//! the smallest q, and never exceeds the bound.

mod at_least_two;

use at_least_two::AtLeastTwo;
use fedflip_fleet::{Band, CohortSampler, Purpose, StreamKey};
use rand::Rng;

use crate::problem::Problem;
use crate::round_time::theorem2_bound_secs;
use crate::sampler::{Observed, Sampler};

/// A mean over draws, with what it may be off by.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The mean of the estimate.
    pub mean: f64,
    /// Its standard error; 0 where nothing is random.
    pub std_error: f64,
    /// How many draws it is of.
    pub draws: u64,
}

/// Draws for about a percent of error in a few milliseconds with 100 devices.
const DRAWS_MAX: u64 = 10_000;
/// Even a fleet of millions gets this many: the more take part, the less T̂ varies.
const DRAWS_MIN: u64 = 8;
/// Participants visited over all draws: half a second of work, whatever the size of the fleet.
const VISITS_MAX: f64 = 1e7;

/// Visits of linear rounds that take as long as one on a band of spectrum, where every rate is a root of its own.
const SPECTRUM_VISIT: f64 = 30.0;

/// How many draws keep the work bounded when this many devices are expected to take part.
pub fn default_draws(band: Band, expected_participants: f64) -> u64 {
    let visits = match band {
        Band::Linear(_) => VISITS_MAX,
        Band::Shannon(_) => VISITS_MAX / SPECTRUM_VISIT,
    };
    ((visits / (1.0 + expected_participants)) as u64).clamp(DRAWS_MIN, DRAWS_MAX)
}

/// The mean round time over independent cohorts: T̂, the download and the overhead. An empty cohort takes the overhead.
pub fn round_secs(problem: &Problem<'_>, q: &[f64], seed: u64, draws: u64) -> Estimate {
    let cohorts = Cohorts::new(q);
    let probability = cohorts.probability();
    // One cohort is all there is where every coin is certain, and none matters where two never meet.
    let certain = matches!(cohorts, Cohorts::Certain(_)) || probability == 0.0;
    let draws = if certain { 1 } else { draws.max(2) };
    let (mut cohort, mut jobs) = (Vec::new(), Vec::new());
    let gap = mean_of(draws, |draw| {
        let key = StreamKey { seed, purpose: Purpose::RoundTime, round: draw };
        cohorts.draw(&mut key.shared(), &mut cohort);
        jobs.clear();
        jobs.extend(cohort.iter().map(|&device| problem.job(device)));
        problem.gap_secs(jobs.iter().copied())
    });
    Estimate {
        mean: theorem2_bound_secs(problem, q) - probability * gap.mean,
        std_error: probability * gap.std_error,
        draws,
    }
}

/// The mean round time over the cohorts that a sampler draws, however it draws them.
pub fn round_secs_of(problem: &Problem<'_>, sampler: &mut dyn Sampler, seed: u64, draws: u64) -> Estimate {
    let (mut cohort, mut jobs) = (Vec::new(), Vec::new());
    mean_of(draws.max(2), |draw| {
        sampler.draw(draw + 1, seed, &Observed::default(), &mut cohort);
        jobs.clear();
        jobs.extend(cohort.iter().map(|draw| problem.job(draw.device)));
        problem.cohort_secs(jobs.iter().copied()) + problem.overhead_secs()
    })
}

/// The mean of a quantity of draws, by Welford's update: no difference of large sums.
fn mean_of(draws: u64, mut quantity: impl FnMut(u64) -> f64) -> Estimate {
    let (mut mean, mut squares) = (0.0, 0.0);
    for draw in 0..draws {
        let value = quantity(draw);
        let deviation = value - mean;
        mean += deviation / (draw + 1) as f64;
        squares += deviation * (value - mean);
    }
    let std_error = if draws > 1 { (squares / (draws - 1) as f64 / draws as f64).sqrt() } else { 0.0 };
    Estimate { mean, std_error, draws }
}

/// Where the cohorts come from that decide the gap.
enum Cohorts {
    /// All devices, in every round.
    Certain(usize),
    /// Few are expected: only those draws count that have at least two.
    AtLeastTwo(AtLeastTwo),
    /// Many are expected, and some may be certain.
    Any(CohortSampler),
}

impl Cohorts {
    fn new(q: &[f64]) -> Self {
        if q.iter().all(|&q| q >= 1.0) {
            Self::Certain(q.len())
        } else if q.iter().sum::<f64>() < 3.0 && q.iter().all(|&q| q < 1.0) {
            Self::AtLeastTwo(AtLeastTwo::new(q))
        } else {
            Self::Any(CohortSampler::new(q))
        }
    }

    /// How likely a round is of the kind that is drawn; in all others the gap is nothing.
    fn probability(&self) -> f64 {
        match self {
            Self::AtLeastTwo(cohorts) => cohorts.probability(),
            Self::Certain(_) | Self::Any(_) => 1.0,
        }
    }

    fn draw(&self, rng: &mut impl Rng, cohort: &mut Vec<usize>) {
        match self {
            Self::Certain(devices) => *cohort = (0..*devices).collect(),
            Self::AtLeastTwo(cohorts) if cohorts.probability() > 0.0 => cohorts.draw(rng, cohort),
            Self::AtLeastTwo(_) => cohort.clear(),
            Self::Any(cohorts) => cohorts.draw(rng, cohort),
        }
    }
}
