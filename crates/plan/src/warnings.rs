//! What a person should know about a plan before it is used, in sentences that every front end shows.

use fedflip_fleet::Fleet;
use fedflip_fleet::units::significant;

use crate::plan::Plan;
use crate::planning::Planning;
use crate::problem::Problem;
use crate::scheme::Scheme;

/// A weight a/q above this lets one device move the model ten times as far as its own update.
const LARGE_WEIGHT: f64 = 10.0;
/// More rounds than anybody runs.
const ROUNDS_MANY: f64 = 1e9;

/// What to know before a plan is used. `variance_key` is what the front end calls the sampling variance.
pub fn of_plan(problem: &Problem<'_>, planning: &Planning, plan: &Plan, variance_key: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    let largest_weight = plan.aggregation_weights().iter().copied().fold(0.0, f64::max);
    if largest_weight > LARGE_WEIGHT {
        let weight = significant(largest_weight, 3);
        warnings.push(format!(
            "the largest weight a/q is {weight}: a device that rarely takes part moves the model by {weight} times its \
             update"
        ));
    }
    let variance = problem.sampling_variance(plan.q());
    let constants = planning.constants.filter(|_| planning.scheme.method().flips_coins());
    let rounds = constants.and_then(|constants| constants.rounds(variance));
    if rounds.is_some_and(|rounds| rounds < 1.0) {
        warnings.push("the round model predicts less than one round: check α and β".to_owned());
    }
    if rounds.is_some_and(|rounds| rounds > ROUNDS_MANY) {
        warnings
            .push("the sampling variance is so close to β that the target is almost out of reach".to_owned());
    }
    warnings.extend(capped(&planning.scheme, plan, problem.fleet()));
    if planning.scheme.needs_variance() {
        warnings.extend(variance_above(variance_key, variance, planning.variance));
    }
    warnings
}

/// A scheme without optimisation that asks for more than some devices can give.
pub fn capped(scheme: &Scheme, plan: &Plan, fleet: &Fleet) -> Option<String> {
    let (devices, their, they_are) = match plan.capped() {
        0 => return None,
        1 => ("1 device".to_owned(), "its", "it is"),
        devices => (format!("{devices} devices"), "their", "they are"),
    };
    let over = |position: usize| {
        let (name, cap) = (fleet.name(position), fleet.availability()[position]);
        let q = scheme.given()?.q(name).filter(|q| *q > cap)?;
        Some(format!(" ({name} has q = {q} and availability {cap})"))
    };
    let such_as = (0..fleet.len()).find_map(over).unwrap_or_default();
    Some(format!(
        "{scheme} asks more of {devices} than {their} availability{such_as}: {they_are} capped there"
    ))
}

/// With devices at their caps a plan weighs cost against variance instead of meeting the variance that `key` allows.
pub fn variance_above(key: &str, variance: f64, allowed: f64) -> Option<String> {
    (variance > allowed * (1.0 + 1e-6)).then(|| {
        let [variance, allowed] = [variance, allowed].map(|variance| significant(variance, 4));
        format!(
            "{key}: the sampling variance is {variance} where {allowed} is allowed: some devices are at their caps, \
             and for the others a higher q would cost more than it gains"
        )
    })
}
