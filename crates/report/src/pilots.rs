//! α and β: what runs were planned with, and what the pilots at hand say of them.

use fedflip_plan::constants::{self, Pilot, PilotFit};
use fedflip_plan::{Constants, Interval, Scheme};
use fedflip_record::ConstantsSource;

use crate::collection::Group;
use crate::devices::Devices;
use crate::numbers::significant;
use crate::run_view::RunView;

/// α and β of a group.
#[derive(Clone, Debug)]
pub struct Measured {
    /// By the runs' own records or scenarios; none without a run that needs them.
    pub planned_with: Option<Constants>,
    /// Whether that was measured by pilots on the devices before the run.
    pub measured_first: bool,
    /// By the pilots at hand, with intervals, or why these do not give them.
    pub fit: Option<Result<PilotFit, String>>,
    /// The rule that limits what a single update can do, and makes the sum biased, if all runs have it.
    pub biased_aggregation: Option<String>,
    pilots: usize,
    /// What rounds were predicted with by those who were not planned with it: none twice.
    predicted_with: Vec<Constants>,
}

impl Measured {
    /// The pilots and constants of a group.
    pub fn of(group: &Group) -> Self {
        let mut planned = group.runs().filter(|run| needs_pilots(&run.header.scheme));
        let (planned_with, source) = planned
            .find_map(|run| Some((run.constants()?, run.used_constants().map(|used| used.source))))
            .unzip();
        let fit =
            devices(group).map(|devices| devices.and_then(|devices| fitted(&devices, &for_planning(group))));
        let measured_first = source.flatten() == Some(ConstantsSource::Pilots);
        let predicted = group.runs().filter(|run| run.header.expected_rounds.is_some());
        let mut predicted_with: Vec<Constants> = Vec::new();
        for constants in predicted.filter_map(RunView::constants) {
            if !predicted_with.iter().any(|known| near(*known, constants)) {
                predicted_with.push(constants);
            }
        }
        let rule = group.setting.get("round.aggregation").map(str::to_owned);
        let biased_aggregation = rule.filter(|rule| ["clipped", "trimmed"].contains(&rule.as_str()));
        let pilots = for_planning(group).len();
        Self { planned_with, measured_first, fit, biased_aggregation, pilots, predicted_with }
    }

    /// What there is: what runs were planned with, or else what pilots say.
    pub fn constants(&self) -> Option<Constants> {
        self.planned_with.or(self.fitted().map(|fit| fit.constants))
    }

    /// What the pilots at hand give, if they do.
    pub(crate) fn fitted(&self) -> Option<&PilotFit> {
        self.fit.as_ref()?.as_ref().ok()
    }

    /// The pilots and constants of a group in sentences.
    pub fn sentences(&self) -> String {
        let pilots = self.pilots;
        let first = if self.measured_first { ", as pilots on the devices measured them" } else { "" };
        let mut text = match (self.planned_with, self.fitted()) {
            (Some(planned), Some(fit)) if near(planned, fit.constants) => {
                let which = if self.measured_first { " that ran on the devices first" } else { "" };
                format!("{}, fitted to {pilots} pilots{which}.", with_intervals(fit))
            }
            (Some(planned), Some(fit)) => format!(
                "Planned with {}{first}. The {pilots} pilots at hand give {}.",
                plain(planned),
                with_intervals(fit)
            ),
            (Some(planned), None) if self.measured_first => format!("{}{first}.", plain(planned)),
            (Some(planned), None) => format!("{}, as the scenario gives them.", plain(planned)),
            (None, Some(fit)) => format!("{}, fitted to {pilots} pilots.", with_intervals(fit)),
            (None, None) if self.predicted_with.is_empty() => "α and β are not known here.".to_owned(),
            (None, None) => "No run here is planned with α and β.".to_owned(),
        };
        // What those expect who are not planned with constants is predicted with some all the same.
        let shown = self.constants();
        match self.predicted_with[..] {
            [] => {}
            [one] if shown.is_some_and(|shown| near(shown, one)) => {}
            [one] => text += &format!(" Rounds are predicted with {}.", plain(one)),
            _ => text += " Rounds are predicted with the constants of each run's scenario.",
        }
        if let Some(Err(problem)) = &self.fit {
            text += &format!(" The {pilots} pilots at hand do not give them: {problem}.");
        }
        if let Some(rule) = &self.biased_aggregation {
            text += &format!(
                " Aggregation: {rule} (biased); predicted rounds and Theorem 1 assume the unbiased sum."
            );
        }
        text
    }
}

/// The fleet that pilots ran on; none without pilots.
pub(crate) fn devices(group: &Group) -> Option<Result<Devices, String>> {
    let first = group.pilots.first()?;
    // The pilots of a comparison ran on the fleet of its runs.
    let of_runs = group.schemes.iter().find_map(|scheme| scheme.devices.clone());
    // On real devices availabilities move: α and β are of the fleet as the last pilot had it.
    let full = group.pilots.iter().find(|pilot| pilot.is_deployed() && pilot.header.scheme == "full");
    let of_pilot = full.and_then(|pilot| Devices::read(&pilot.folder, &pilot.config).ok());
    Some(of_pilot.or(of_runs).map_or_else(|| Devices::read(&first.folder, &first.config), Ok))
}

fn near(a: Constants, b: Constants) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs();
    close(a.alpha(), b.alpha()) && close(a.beta(), b.beta())
}

fn plain(constants: Constants) -> String {
    format!("α = {}, β = {}", significant(constants.alpha(), 4), significant(constants.beta(), 4))
}

fn with_intervals(fit: &PilotFit) -> String {
    let interval = |ends: Option<Interval>| {
        ends.map_or(String::new(), |ends| {
            let end = |value: f64| match value {
                value if value.is_finite() => significant(value, 3),
                value if value < 0.0 => "−∞".to_owned(),
                _ => "∞".to_owned(),
            };
            format!(" (95 %: {} to {})", end(ends.low), end(ends.high))
        })
    };
    format!(
        "α = {}{}, β = {}{}",
        significant(fit.constants.alpha(), 4),
        interval(fit.alpha_interval),
        significant(fit.constants.beta(), 4),
        interval(fit.beta_interval),
    )
}

/// The pilots that α and β come from: where runs continue from theirs there may be more, one pair a run.
pub(crate) fn for_planning(group: &Group) -> Vec<&RunView> {
    let mut seeds = seeds(group.pilots.iter());
    if let Some(count) = group.setting.number("pilot.seeds").filter(|_| group.setting.keeps_pilots()) {
        seeds.truncate(count as usize);
    }
    group.pilots.iter().filter(|pilot| seeds.contains(&pilot.header.seed)).collect()
}

/// Of runs, each once and in order.
pub(crate) fn seeds<'a>(runs: impl Iterator<Item = &'a RunView>) -> Vec<u64> {
    let mut seeds: Vec<u64> = runs.map(|run| run.header.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds
}

fn fitted(devices: &Devices, pilots: &[&RunView]) -> Result<PilotFit, String> {
    let mut points = Vec::new();
    for pilot in pilots {
        let scheme: Scheme =
            pilot.header.scheme.parse().map_err(|_| format!("unknown {}", pilot.header.scheme))?;
        let rounds = pilot.summary().rounds as f64;
        points.push(Pilot { rounds, reached: pilot.summary().reached(), scheme });
    }
    constants::from_pilots(&devices.fleet, &points).map_err(|error| error.to_string())
}

/// Hours of a pair of pilots, averaged over their seeds: what Algorithm 2 takes before it starts.
pub fn pilot_hours(group: &Group) -> Option<f64> {
    let pilots = for_planning(group);
    let seeds = seeds(pilots.iter().copied());
    let hours: f64 = pilots.iter().map(|pilot| pilot.summary().hours).sum();
    (!seeds.is_empty()).then(|| hours / seeds.len() as f64)
}

/// Hours of pilots that go before a scheme's runs and are not among theirs.
pub fn hours_before(group: &Group, scheme: &str) -> f64 {
    pilot_hours(group).filter(|_| needs_pilots(scheme) && !group.setting.keeps_pilots()).unwrap_or(0.0)
}

/// Whether a scheme's q needs α and β, and so the pilots.
pub fn needs_pilots(scheme: &str) -> bool {
    scheme.parse::<Scheme>().is_ok_and(|scheme| scheme.needs_constants())
}
