//! α and β of the round model R(q) = α/(β − C(q)), and how pilots yield them.
//!
//! 1/R = β/α − C/α is a straight line in C: two pilots with different C determine it, and more than two
//! give a least-squares fit with confidence intervals.

use fedflip_fleet::Fleet;

use crate::error::{PlanError, short};
use crate::problem::sampling_noise;
use crate::scheme::Scheme;
use crate::solve::baseline;
use crate::student::t_quantile_975;

/// The constants of the round model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    alpha: f64,
    beta: f64,
}

impl Constants {
    /// Both must be positive numbers.
    pub fn new(alpha: f64, beta: f64) -> Result<Self, PlanError> {
        for (name, value) in [("alpha", alpha), ("beta", beta)] {
            if !(1e-12..=1e15).contains(&value) {
                return Err(PlanError::BadNumber {
                    name,
                    value,
                    wanted: "a number above 0 (from 1e-12 to 1e15)",
                });
            }
        }
        Ok(Self { alpha, beta })
    }

    /// α: rounds, were there no sampling noise and β = 1.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// β: the sampling noise at which the target moves out of reach.
    pub fn beta(self) -> f64 {
        self.beta
    }

    /// R = α/(β − C) where the sampling noise is C, if that leaves the target within reach.
    pub fn rounds(self, noise: f64) -> Option<f64> {
        Some(self.beta - noise).filter(|&headroom| headroom > 0.0).map(|headroom| self.alpha / headroom)
    }
}

/// A short training run under a baseline scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pilot {
    /// Rounds to the loss F_s; a decimal is a mean over seeds.
    pub rounds: f64,
    /// Whether F_s was reached; otherwise `rounds` is where the pilot gave up.
    pub reached: bool,
    /// What it sampled with.
    pub scheme: Scheme,
}

/// A 95 % confidence interval; an end that the pilots leave open is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// α and β as the pilots have it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotFit {
    /// The point estimate.
    pub constants: Constants,
    /// Of α; none with two pilots, which always fit exactly.
    pub alpha_interval: Option<Interval>,
    /// Of β; none with two pilots.
    pub beta_interval: Option<Interval>,
}

/// Fits α and β to pilots that were run on `fleet`.
pub fn from_pilots(fleet: &Fleet, pilots: &[Pilot]) -> Result<PilotFit, PlanError> {
    let mut points = Vec::with_capacity(pilots.len());
    for pilot in pilots {
        if !(pilot.rounds >= 1.0 && pilot.rounds <= 1e12) {
            return Err(PlanError::BadNumber {
                name: "pilot",
                value: pilot.rounds,
                wanted: "a number of rounds from 1 to 1e12",
            });
        }
        let Some((q, _)) = baseline::participation(fleet, pilot.scheme) else {
            return Err(refuse(
                format!("a pilot under {} has no q before α and β are known", pilot.scheme),
                "run pilots under full, uniform, weighted or fixed=Q",
            ));
        };
        if !pilot.reached {
            return Err(refuse(
                format!("the pilot under {} gave up after {} rounds", pilot.scheme, pilot.rounds),
                "choose a loss F_s that is easier to reach (pilot.loss), or let the pilot run longer (pilot.rounds_max)",
            ));
        }
        points.push(NoiseAndRounds { noise: sampling_noise(fleet.weights(), &q), rounds: pilot.rounds });
    }
    if fleet.len() == 1 {
        return Err(refuse(
            "with one device every scheme is full participation".to_owned(),
            "with a single device there is nothing to plan: q = 1 (or its availability)",
        ));
    }
    fit(&points)
}

/// One pilot as a point of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseAndRounds {
    /// C(q) of the pilot.
    pub noise: f64,
    /// R.
    pub rounds: f64,
}

/// Fits 1/R = β/α − C/α.
pub fn fit(points: &[NoiseAndRounds]) -> Result<PilotFit, PlanError> {
    let [first, second, ..] = points else {
        return Err(refuse(
            format!("two unknowns need two pilots, and there is {}", points.len()),
            "give --pilot twice, for example --pilot 18:uniform --pilot 11:full",
        ));
    };
    let count = points.len() as f64;
    let mean = |value: fn(&NoiseAndRounds) -> f64| points.iter().map(value).sum::<f64>() / count;
    let (mean_noise, mean_speed) = (mean(|point| point.noise), mean(|point| 1.0 / point.rounds));
    let (mut noise_squares, mut products) = (0.0, 0.0);
    for point in points {
        noise_squares += (point.noise - mean_noise).powi(2);
        products += (point.noise - mean_noise) * (1.0 / point.rounds - mean_speed);
    }
    if noise_squares <= (1e-9 * mean_noise).powi(2) * count {
        return Err(refuse(
            format!("all pilots have the same sampling noise Σ a²/q = {}", short(mean_noise)),
            "run pilots under schemes that differ in how many take part, such as uniform and full",
        ));
    }
    let slope = products / noise_squares;
    if slope >= 0.0 {
        return Err(refuse(
            format!("rounds do not grow with the sampling noise ({})", means_by_noise(points)),
            "the pilots were too short or too noisy: choose a lower loss F_s, or average over more seeds",
        ));
    }
    let (alpha, beta) = if points.len() == 2 {
        // The paper's own formulae: exact where the general ones below would round.
        let rounds_gap = first.rounds - second.rounds;
        (
            first.rounds * second.rounds * (first.noise - second.noise) / rounds_gap,
            (first.rounds * first.noise - second.rounds * second.noise) / rounds_gap,
        )
    } else {
        (-1.0 / slope, mean_noise - mean_speed / slope)
    };
    let constants = Constants::new(alpha, beta)?;
    if let Some(point) = points.iter().find(|point| point.noise >= beta) {
        return Err(refuse(
            format!(
                "the fitted β = {} says that Σ a²/q = {} never gets to F_s, yet a pilot did in {} rounds",
                short(beta),
                short(point.noise),
                point.rounds
            ),
            "the pilots contradict each other: average each over more seeds, or leave out the odd one",
        ));
    }
    if points.len() == 2 {
        return Ok(PilotFit { constants, alpha_interval: None, beta_interval: None });
    }

    let freedom = points.len() - 2;
    let residual =
        |point: &NoiseAndRounds| 1.0 / point.rounds - mean_speed - slope * (point.noise - mean_noise);
    let variance = points.iter().map(|point| residual(point).powi(2)).sum::<f64>() / freedom as f64;
    let t = t_quantile_975(freedom);
    let slope_margin = t * (variance / noise_squares).sqrt();
    // α = −1/slope is monotone in the slope, so the ends of one interval are the ends of the other.
    let alpha_high = if slope + slope_margin < 0.0 { -1.0 / (slope + slope_margin) } else { f64::INFINITY };
    let alpha_interval = Interval { low: -1.0 / (slope - slope_margin), high: alpha_high };
    // β is where the line meets 1/R = 0: a quotient of two estimates, hence Fieller's interval.
    let g = slope_margin.powi(2) / slope.powi(2);
    let beta_interval = if g < 1.0 {
        let reach = -mean_speed / slope;
        let spread =
            (t / slope.abs()) * (variance * ((1.0 - g) / count + reach.powi(2) / noise_squares)).sqrt();
        let centre = mean_noise + reach / (1.0 - g);
        Interval { low: centre - spread / (1.0 - g), high: centre + spread / (1.0 - g) }
    } else {
        Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }
    };
    Ok(PilotFit { constants, alpha_interval: Some(alpha_interval), beta_interval: Some(beta_interval) })
}

/// Pilots in a sentence, those with the same noise as one: `18 rounds at Σ a²/q = 2.02, 11 at 0.0202`.
fn means_by_noise(points: &[NoiseAndRounds]) -> String {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| b.noise.total_cmp(&a.noise));
    let groups = sorted.chunk_by(|a, b| (a.noise - b.noise).abs() <= 1e-9 * a.noise.abs());
    let parts = groups.enumerate().map(|(place, group)| {
        let mean = group.iter().map(|point| point.rounds).sum::<f64>() / group.len() as f64;
        let (mean, noise) = (short(mean), short(group[0].noise));
        if place == 0 { format!("{mean} rounds at Σ a²/q = {noise}") } else { format!("{mean} at {noise}") }
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn refuse(problem: String, hint: &'static str) -> PlanError {
    PlanError::Pilots { problem, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_one_number_for_all_seeds_of_a_scheme() {
        let point = |noise: f64, rounds: f64| NoiseAndRounds { noise, rounds };
        let points = [point(0.5, 12.0), point(2.0, 9.0), point(0.5, 13.0), point(2.0 + 1e-12, 8.0)];
        let error = fit(&points).unwrap_err().to_string();
        assert!(error.ends_with("(8.5 rounds at Σ a²/q = 2, 12.5 at 0.5)"), "{error}");
    }
}
