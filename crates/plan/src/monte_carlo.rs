//! E[T̂(q)], which has no closed form, by seeded Monte Carlo.

use fedflip_fleet::bandwidth::{Job, finish_together};
use fedflip_fleet::{CohortSampler, Fleet, Mbps, Purpose, StreamKey};

/// A mean over draws, with what it may be off by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error; 0 where nothing is random.
    pub std_error: f64,
    /// How many draws it is of.
    pub draws: u64,
}

/// Draws for about a percent of error in a few milliseconds with 100 devices.
const DRAWS_MAX: u64 = 10_000;
/// Even a fleet of millions gets this many: the more take part, the less T̂ varies.
const DRAWS_MIN: u64 = 64;
/// Participants visited over all draws: half a second of work, whatever the size of the fleet.
const VISITS_MAX: f64 = 1e7;

/// How many draws keep the work bounded when this many devices are expected to take part.
pub fn default_draws(expected_participants: f64) -> u64 {
    ((VISITS_MAX / (1.0 + expected_participants)) as u64).clamp(DRAWS_MIN, DRAWS_MAX)
}

/// The mean of T̂ over independent cohorts; an empty cohort takes 0 seconds.
pub fn round_secs(fleet: &Fleet, q: &[f64], band: Mbps, seed: u64, draws: u64) -> Estimate {
    // Where every coin is certain there is one cohort only.
    let certain = q.iter().all(|&q| q >= 1.0);
    let draws = if certain { 1 } else { draws.max(2) };
    let sampler = CohortSampler::new(q);
    let (mut cohort, mut jobs) = (Vec::new(), Vec::new());
    // Welford's update: no difference of large sums.
    let (mut mean, mut squares) = (0.0, 0.0);
    for draw in 0..draws {
        sampler.draw(&mut StreamKey { seed, purpose: Purpose::RoundTime, round: draw }.shared(), &mut cohort);
        jobs.clear();
        jobs.extend(cohort.iter().map(|&n| Job {
            compute_secs: fleet.compute_secs()[n as usize],
            load_mbit: fleet.comm_secs()[n as usize],
        }));
        let secs = finish_together(jobs.iter().copied(), band).round_secs();
        let deviation = secs - mean;
        mean += deviation / (draw + 1) as f64;
        squares += deviation * (secs - mean);
    }
    let std_error = if certain { 0.0 } else { (squares / (draws - 1) as f64 / draws as f64).sqrt() };
    Estimate { mean, std_error, draws }
}
