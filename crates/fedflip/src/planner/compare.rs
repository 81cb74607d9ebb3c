//! Every scheme side by side.

use std::io::{self, Write};

use fedflip_plan::{Constants, PlanError, Problem, Scheme};
use fedflip_record::RecordedCosts;
use serde::Serialize;

use super::dialect::Dialect;
use super::json::PlanJson;
use super::settings::PlanSettings;
use super::solved::SolvedPlan;
use crate::costs::describe;
use crate::render::{Table, devices, duration, percent, significant};

#[derive(Serialize)]
struct ComparisonJson<'a> {
    bandwidth_mbps: Option<f64>,
    costs: RecordedCosts,
    alpha: Option<f64>,
    beta: Option<f64>,
    schemes: Vec<EntryJson<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum EntryJson<'a> {
    Planned(Box<PlanJson<'a>>),
    Refused { scheme: String, status: &'static str, error: &'a str, hint: &'a str },
}

/// The plans of all schemes for one fleet.
pub struct Comparison<'s> {
    settings: &'s PlanSettings,
    /// In the order of the table of schemes.
    pub entries: Vec<Entry>,
}

/// A scheme and its plan, or why it has none.
pub type Entry = (Scheme, Result<SolvedPlan<'static>, Refusal>);

/// Why a scheme has no plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// One word for programs.
    pub status: &'static str,
    /// The problem in one sentence.
    pub problem: String,
    /// The advice that goes with the problem.
    pub hint: String,
}

impl Refusal {
    fn new(error: &PlanError, dialect: Dialect) -> Self {
        let status = match error {
            PlanError::SurrogateInfeasible { .. } => "infeasible",
            PlanError::FleetTooLarge { .. } | PlanError::NoRounds { .. } => "skipped",
            PlanError::ConstantsMissing { .. } => NEEDS_CONSTANTS,
            _ => "failed",
        };
        Self { status, problem: error.to_string(), hint: dialect.plan_hint(error) }
    }
}

const NEEDS_CONSTANTS: &str = "needs-constants";

/// Algorithm 2 as printed takes minutes for larger fleets, and a comparison should not.
const LINE_SEARCH_DEVICES_MAX: usize = 300;

impl<'s> Comparison<'s> {
    /// Plans by every scheme; what `tell` returns for a scheme lives while the scheme is planned.
    pub fn new<T>(settings: &'s PlanSettings, tell: impl Fn(&Scheme) -> T) -> Self {
        let problem = settings.problem();
        let entry = |scheme: Scheme| {
            let _told = tell(&scheme);
            (scheme.clone(), plan(&problem, scheme, settings))
        };
        Self { settings, entries: Scheme::ALL.into_iter().map(entry).collect() }
    }

    /// What `plan --compare --json` prints.
    pub fn json(&self) -> impl Serialize + '_ {
        let Self { settings, entries } = self;
        let schemes = entries.iter().map(|(scheme, entry)| match entry {
            Ok(solved) => EntryJson::Planned(Box::new(PlanJson::new(settings, solved))),
            Err(Refusal { status, problem, hint }) => {
                EntryJson::Refused { scheme: scheme.to_string(), status, error: problem, hint }
            }
        });
        let constants = settings.planning.constants;
        ComparisonJson {
            bandwidth_mbps: settings.bandwidth_mbps(),
            costs: settings.costs.into(),
            alpha: constants.map(Constants::alpha),
            beta: constants.map(Constants::beta),
            schemes: schemes.collect(),
        }
    }

    /// Writes the comparison for a terminal.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        writeln!(output, "{}\n", self.title())?;
        self.table().write(output)?;
        writeln!(output)?;
        self.remarks().iter().try_for_each(|remark| writeln!(output, "  {remark}"))
    }

    /// The fleet, the costs of a round and the constants.
    pub fn title(&self) -> String {
        let settings = self.settings;
        let constants = match settings.planning.constants {
            Some(constants) => {
                format!("α = {}, β = {}", significant(constants.alpha(), 5), significant(constants.beta(), 5))
            }
            None => "α and β are unknown".to_owned(),
        };
        let (devices, costs) = (devices(settings.fleet.len()), describe(&settings.costs));
        format!("{}: {devices} {costs}; {constants}", settings.source)
    }

    /// One row for each scheme; those that need unknown constants are left out.
    pub fn table(&self) -> Table {
        let totals =
            self.entries.iter().filter_map(|(_, entry)| entry.as_ref().ok()?.outlook.evaluation.total_secs);
        let best_secs = totals.fold(f64::INFINITY, f64::min);
        let known = self.is_known();
        let titles = match known {
            true => "scheme|status|in a round|rounds|a round|total|±|× best|P2 objective|solved in",
            false => "scheme|status|in a round|Σ a²/q|a round|solved in",
        };
        let mut table = Table::new(&titles.split('|').collect::<Vec<_>>());
        for (scheme, entry) in self.shown() {
            table.row(match entry {
                Ok(solved) if known => row(scheme, solved, best_secs),
                Ok(solved) => row_without_rounds(scheme, solved),
                Err(refusal) => vec![scheme.to_string(), refusal.status.to_owned()],
            });
        }
        table
    }

    /// How to read the table, what to be warned of, and which schemes are left out.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.is_known() {
            remarks.push("total = rounds × mean round, ± one standard error of it".to_owned());
            remarks.push("P2 objective = rounds × Σ q c, the paper's upper bound of the total".to_owned());
        }
        for (scheme, entry) in self.shown() {
            let own = match entry {
                Ok(solved) => &solved.warnings[..],
                Err(refusal) => std::slice::from_ref(&refusal.problem),
            };
            remarks.extend(own.iter().map(|remark| format!("{scheme}: {remark}")));
        }
        let unknown = self.entries.iter().filter(|entry| needs_constants(entry));
        let unknown: Vec<String> = unknown.map(|(scheme, _)| scheme.to_string()).collect();
        if !unknown.is_empty() {
            let (schemes, how) = (unknown.join(", "), self.settings.dialect.give_constants());
            remarks.push(format!("Not shown: {schemes} need α and β, as does the number of rounds; {how}."));
        }
        remarks
    }

    fn is_known(&self) -> bool {
        self.settings.planning.constants.is_some()
    }

    fn shown(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| !needs_constants(entry))
    }
}

fn plan(
    problem: &Problem<'_>,
    scheme: Scheme,
    settings: &PlanSettings,
) -> Result<SolvedPlan<'static>, Refusal> {
    let devices = problem.fleet().len();
    let known = settings.planning.constants.is_some();
    if known && scheme.has_line_search() && devices > LINE_SEARCH_DEVICES_MAX {
        return Err(Refusal {
            status: "skipped",
            problem: format!(
                "a comparison leaves out {scheme} for more than {LINE_SEARCH_DEVICES_MAX} devices, and the fleet has \
                 {devices}"
            ),
            hint: format!("plan with {} alone", settings.dialect.scheme(&scheme)),
        });
    }
    SolvedPlan::new(problem, scheme, settings).map_err(|error| Refusal::new(&error, settings.dialect))
}

fn row_without_rounds(scheme: &Scheme, solved: &SolvedPlan<'_>) -> Vec<String> {
    vec![
        scheme.to_string(),
        solved.plan.status().name().to_owned(),
        significant(solved.outlook.evaluation.expected_participants, 3),
        significant(solved.outlook.evaluation.sampling_variance, 4),
        solved.outlook.evaluation.round_secs.map_or("–".to_owned(), |round| duration(round.mean.mean)),
        duration(solved.solve_secs),
    ]
}

fn needs_constants((_, entry): &Entry) -> bool {
    entry.as_ref().is_err_and(|refusal| refusal.status == NEEDS_CONSTANTS)
}

/// None of two zeros: where devices take no time, all schemes are alike.
fn ratio(over: f64, under: f64) -> Option<f64> {
    Some(over / under).filter(|ratio| !ratio.is_nan())
}

fn row(scheme: &Scheme, solved: &SolvedPlan<'_>, best_secs: f64) -> Vec<String> {
    let evaluation = &solved.outlook.evaluation;
    let round = evaluation.round_secs.map(|round| round.mean);
    let or_never = |value: Option<f64>, show: &dyn Fn(f64) -> String| value.map_or("–".to_owned(), show);
    vec![
        scheme.to_string(),
        solved.plan.status().name().to_owned(),
        significant(evaluation.expected_participants, 3),
        or_never(evaluation.rounds, &|rounds| significant(rounds, 4)),
        or_never(round.map(|round| round.mean), &duration),
        or_never(evaluation.total_secs, &duration),
        or_never(
            evaluation.total_secs.and(round).and_then(|round| ratio(round.std_error, round.mean)),
            &percent,
        ),
        or_never(evaluation.total_secs.and_then(|secs| ratio(secs, best_secs)), &|ratio| {
            format!("{ratio:.2}")
        }),
        or_never(evaluation.objective_p2, &duration),
        duration(solved.solve_secs),
    ]
}
