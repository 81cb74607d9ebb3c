//! What a person should know about a scenario before it runs.

use fedflip_fleet::Fleet;
use fedflip_fleet::units::significant;
use fedflip_learn::Encoding;
use fedflip_plan::warnings::{capped, variance_above};
use fedflip_plan::{Plan, Problem, sampling_variance};
use fedflip_scenario::{FleetSource, Preset, Scenario};

use crate::setup::Planned;

/// What a person should know before the run: variances that are not met, devices that can never make the deadline,
/// constants that were measured elsewhere.
pub fn of_plan(planned: &Planned, scenario: &Scenario, fleet: &Fleet) -> Vec<String> {
    let variance_of = |plan: &Plan| sampling_variance(fleet.weights(), plan.q());
    let scheme = &scenario.plan.scheme;
    let usual = variance_of(planned.schedule.usual());
    let mut warnings: Vec<String> =
        [never_in_time(scenario, fleet), borrowed_constants(scenario), rounded_for_nothing(scenario)]
            .into_iter()
            .flatten()
            .collect();
    // The caps of other schemes are part of their rule.
    warnings.extend(scheme.given().and_then(|_| capped(scheme, planned.schedule.usual(), fleet)));
    if scheme.needs_variance() {
        warnings.extend(variance_above("plan.variance", usual, scenario.plan.variance));
    }
    if scenario.plan.quiet_variance.is_some() && !scheme.method().flips_coins() {
        warnings.push(format!(
            "quiet rounds need coins: under {scheme} plan.quiet_every only decides when models are evaluated"
        ));
    } else if let (Some(asked), Some(quiet)) = (scenario.plan.quiet_variance, planned.schedule.quiet()) {
        warnings.extend(variance_above("plan.quiet_variance", variance_of(quiet), asked));
        if usual <= asked {
            let [usual, asked] = [usual, asked].map(|variance| significant(variance, 4));
            warnings.push(format!(
                "under {scheme} quiet rounds are like all others: the sampling variance is {usual}, and \
                 plan.quiet_variance is {asked}"
            ));
        }
    }
    warnings
}

/// Texts in a folder of tables, which are taken for notes.
pub fn files_left_out(scenario: &Scenario) -> Vec<String> {
    let own = &scenario.data.own;
    let names = [&own.train[..], &own.test[..]].concat();
    // What cannot be looked at is refused when it is read.
    let left_out = fedflip_samples::files::left_out(&own.folder, &names).unwrap_or_default();
    left_out.iter().map(|file| format!("{} is left out: its folder has tables", file.display())).collect()
}

/// Devices that miss the deadline even with the whole bandwidth: their updates are lost in every round.
fn never_in_time(scenario: &Scenario, fleet: &Fleet) -> Option<String> {
    let deadline_secs = scenario.round.deadline?.get();
    // A device alone: its download, its computation, and its upload with the whole bandwidth.
    let problem = Problem::new(fleet, scenario.round_costs());
    let needs_secs = |n: usize| problem.cohort_secs(std::iter::once(problem.job(n)));
    let late: Vec<usize> = (0..fleet.len()).filter(|&n| needs_secs(n) > deadline_secs).collect();
    let first = *late.first()?;
    let share: f64 = late.iter().map(|&n| fleet.weights()[n]).sum();
    let (name, secs) = (fleet.name(first), significant(needs_secs(first), 3));
    let who = if late.len() == 1 {
        format!("{name}, which needs {secs} s alone on the bandwidth,")
    } else {
        format!(
            "{} of {} devices, such as {name}, which needs {secs} s alone on the bandwidth,",
            late.len(),
            fleet.len()
        )
    };
    let percent = significant(100.0 * share, 2);
    Some(format!(
        "{who} cannot meet round.deadline_secs = {deadline_secs}: {percent} % of the data are lost to every round, \
         which biases the model"
    ))
}

/// α and β that nobody measured for these settings: the task's defaults beside another fleet, partition or training.
fn borrowed_constants(scenario: &Scenario) -> Option<String> {
    let default = Scenario::new(scenario.task, Preset::Paper).ok()?;
    let same_devices = match (&scenario.fleet, &default.fleet) {
        (FleetSource::Generated(fleet), FleetSource::Generated(default)) => {
            fleet.devices == default.devices && fleet.types == default.types
        }
        _ => false,
    };
    let (stop, usual) = (&scenario.stop.target, &default.stop.target);
    let other: Vec<&str> = [
        ("other devices", !same_devices),
        ("another partition of the data", scenario.data.sharing != default.data.sharing),
        (
            "another model or other data",
            scenario.task != default.task || scenario.data.seed != default.data.seed,
        ),
        ("other local training", scenario.train != default.train),
        ("another target", stop != usual),
    ]
    .into_iter()
    .filter_map(|(what, differs)| differs.then_some(what))
    .collect();
    let uses_defaults =
        scenario.plan.scheme.needs_constants() && scenario.plan.constants == default.plan.constants;
    (uses_defaults && !other.is_empty()).then(|| {
        format!(
            "plan.alpha and plan.beta are the defaults of {}, which were measured with {}: measure them with \
             pilots, or use the scheme auto, which needs neither",
            scenario.task.name(),
            other.join(" and ")
        )
    })
}

/// An encoding that rounds updates although the times of uploads are given and do not get shorter.
fn rounded_for_nothing(scenario: &Scenario) -> Option<String> {
    let name = scenario.fleet.given_name()?;
    (scenario.update.encoding != Encoding::F32).then(|| {
        format!(
            "update.encoding rounds updates, but the upload times of {name} do not get shorter: \
             use \"f32\" unless the file was made for this encoding"
        )
    })
}

/// A fleet file's sample counts, where the data give devices other ones.
pub(crate) fn counts_replaced(scenario: &Scenario, fleet: &Fleet) -> Option<String> {
    let FleetSource::File { fleet: file, .. } = &scenario.fleet else { return None };
    let name = scenario.fleet.given_name()?;
    let differing = file.samples().iter().zip(fleet.samples()).filter(|(file, data)| file != data).count();
    (differing > 0).then(|| {
        // For a model of the user's own, the data are those of its learner.
        format!("{name}: the sample counts of {differing} devices are replaced by those of the data")
    })
}
