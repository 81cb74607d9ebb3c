//! α and β of the round model R(q) = α/(β − C(q)), and how pilots yield them.
//!
//! 1/R = β/α − C/α is a straight line in C: two pilots with different C determine it, and more than two
//! give a least-squares fit with confidence intervals.

use fedflip_fleet::Fleet;

use crate::error::{PlanError, short};
use crate::methods::baseline;
use crate::pilot_error::PilotError;
use crate::scheme::Scheme;
use crate::student::t_quantile_975;
use crate::variance::sampling_variance;

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

    /// α: the number of rounds without sampling variance at β = 1.
    pub fn alpha(self) -> f64 {
        self.alpha
    }

    /// β: the sampling variance at which the target moves out of reach.
    pub fn beta(self) -> f64 {
        self.beta
    }

    /// R = α/(β − C) for the sampling variance C, if the target is within reach.
    pub fn rounds(self, variance: f64) -> Option<f64> {
        Some(self.beta - variance).filter(|&headroom| headroom > 0.0).map(|headroom| self.alpha / headroom)
    }
}

/// A short training run under a baseline scheme.
#[derive(Clone, Debug, PartialEq)]
pub struct Pilot {
    /// Rounds to the loss F_s; a fraction is a mean over seeds.
    pub rounds: f64,
    /// Whether F_s was reached; if not, the pilot gave up after `rounds`.
    pub reached: bool,
    /// The baseline that it sampled with.
    pub scheme: Scheme,
}

/// A 95 % confidence interval; an end that the pilots leave open is infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// α and β as estimated from pilots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotFit {
    /// The point estimates of α and β.
    pub constants: Constants,
    /// The interval of α; none with two pilots, which always fit exactly.
    pub alpha_interval: Option<Interval>,
    /// The interval of β; none with two pilots.
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
        let scheme = &pilot.scheme;
        let plan = baseline::plan(fleet, scheme).map_err(|error| match error {
            PlanError::NotABaseline { scheme } => PilotError::NotABaseline { scheme }.into(),
            error => error,
        })?;
        if !pilot.reached {
            return Err(PilotError::GaveUp { scheme: scheme.clone(), rounds: pilot.rounds }.into());
        }
        let variance = sampling_variance(fleet.weights(), plan.q());
        points.push(PilotPoint { variance, rounds: pilot.rounds });
    }
    if fleet.len() == 1 {
        return Err(PilotError::OneDevice.into());
    }
    fit(&points)
}

/// One pilot as a point of the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PilotPoint {
    /// C(q) of the pilot.
    pub variance: f64,
    /// The number of rounds R.
    pub rounds: f64,
}

/// Fits 1/R = β/α − C/α.
pub fn fit(points: &[PilotPoint]) -> Result<PilotFit, PlanError> {
    let [first, second, ..] = points else {
        return Err(PilotError::TooFew { given: points.len() }.into());
    };
    let line = Line::through(points)?;
    let (alpha, beta) = if points.len() == 2 {
        // The paper's own formulae: exact where the general ones below would round.
        let rounds_gap = first.rounds - second.rounds;
        (
            first.rounds * second.rounds * (first.variance - second.variance) / rounds_gap,
            (first.rounds * first.variance - second.rounds * second.variance) / rounds_gap,
        )
    } else {
        (-1.0 / line.slope, line.mean_variance - line.mean_speed / line.slope)
    };
    let constants = Constants::new(alpha, beta)?;
    if let Some(&PilotPoint { variance, rounds }) = points.iter().find(|point| point.variance >= beta) {
        return Err(PilotError::Contradiction { beta, variance, rounds }.into());
    }
    if points.len() == 2 {
        return Ok(PilotFit { constants, alpha_interval: None, beta_interval: None });
    }
    let (alpha_interval, beta_interval) = line.intervals(points);
    Ok(PilotFit { constants, alpha_interval: Some(alpha_interval), beta_interval: Some(beta_interval) })
}

/// The least-squares line of the speed 1/R against the variance C.
struct Line {
    mean_variance: f64,
    mean_speed: f64,
    /// Σ (C − mean)²: the spread of the sampling variances.
    squares: f64,
    slope: f64,
}

impl Line {
    fn through(points: &[PilotPoint]) -> Result<Self, PilotError> {
        let count = points.len() as f64;
        let mean = |value: fn(&PilotPoint) -> f64| points.iter().map(value).sum::<f64>() / count;
        let (mean_variance, mean_speed) = (mean(|point| point.variance), mean(|point| 1.0 / point.rounds));
        let (mut squares, mut products) = (0.0, 0.0);
        for point in points {
            squares += (point.variance - mean_variance).powi(2);
            products += (point.variance - mean_variance) * (1.0 / point.rounds - mean_speed);
        }
        if squares <= (1e-9 * mean_variance).powi(2) * count {
            return Err(PilotError::SameVariance { variance: mean_variance });
        }
        let slope = products / squares;
        if slope >= 0.0 {
            return Err(PilotError::NotSlower { means: means_by_variance(points) });
        }
        Ok(Self { mean_variance, mean_speed, squares, slope })
    }

    /// 95 % confidence intervals of α and β, for three points or more.
    fn intervals(&self, points: &[PilotPoint]) -> (Interval, Interval) {
        let Self { mean_variance, mean_speed, squares, slope } = *self;
        let (count, freedom) = (points.len() as f64, points.len() - 2);
        let residual =
            |point: &PilotPoint| 1.0 / point.rounds - mean_speed - slope * (point.variance - mean_variance);
        let error_sq = points.iter().map(|point| residual(point).powi(2)).sum::<f64>() / freedom as f64;
        let t = t_quantile_975(freedom);
        let slope_margin = t * (error_sq / squares).sqrt();
        // α = −1/slope is monotone in the slope, so the ends of one interval are the ends of the other.
        let alpha_high =
            if slope + slope_margin < 0.0 { -1.0 / (slope + slope_margin) } else { f64::INFINITY };
        let alpha = Interval { low: -1.0 / (slope - slope_margin), high: alpha_high };
        // β is where the line meets 1/R = 0: a quotient of two estimates, hence Fieller's interval.
        let g = slope_margin.powi(2) / slope.powi(2);
        let beta = if g < 1.0 {
            let reach = -mean_speed / slope;
            let spread =
                (t / slope.abs()) * (error_sq * ((1.0 - g) / count + reach.powi(2) / squares)).sqrt();
            let centre = mean_variance + reach / (1.0 - g);
            Interval { low: centre - spread / (1.0 - g), high: centre + spread / (1.0 - g) }
        } else {
            Interval { low: f64::NEG_INFINITY, high: f64::INFINITY }
        };
        (alpha, beta)
    }
}

/// The pilots in words, with the mean of those of equal variance: `18 rounds at Σ a²/q = 2.02, 11 at 0.0202`.
fn means_by_variance(points: &[PilotPoint]) -> String {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| b.variance.total_cmp(&a.variance));
    let groups = sorted.chunk_by(|a, b| (a.variance - b.variance).abs() <= 1e-9 * a.variance.abs());
    let parts = groups.enumerate().map(|(place, group)| {
        let mean = group.iter().map(|point| point.rounds).sum::<f64>() / group.len() as f64;
        let (mean, variance) = (short(mean), short(group[0].variance));
        if place == 0 {
            format!("{mean} rounds at Σ a²/q = {variance}")
        } else {
            format!("{mean} at {variance}")
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_one_number_for_all_seeds_of_a_scheme() {
        let point = |variance: f64, rounds: f64| PilotPoint { variance, rounds };
        let points = [point(0.5, 12.0), point(2.0, 9.0), point(0.5, 13.0), point(2.0 + 1e-12, 8.0)];
        let error = fit(&points).unwrap_err().to_string();
        assert!(error.ends_with("(8.5 rounds at Σ a²/q = 2, 12.5 at 0.5)"), "{error}");
    }
}
