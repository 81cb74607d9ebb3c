//! A plan and its predicted outcome. Keys that `fedflip plan --json` has too have the same names and values.

use fedflip_fleet::{Fleet, Mbps, RoundCosts, Secs, csv_file};
use fedflip_plan::{
    Constants, DEFAULT_VARIANCE, Evaluation, PlanError, Planning, Problem, Schedule, Scheme, VARIANCE_RANGE,
    VARIANCE_WANTED, warnings,
};
use serde::Serialize;

use crate::question::PlanQuestion;
use crate::refusal::{FLEET, Refusal};

/// What the page calls the sampling variance.
const VARIANCE: &str = "sampling variance";

/// A plan with all that is said about it.
#[derive(Serialize)]
pub(crate) struct Planned {
    scheme: String,
    status: &'static str,
    /// The rule by which q was chosen, as a sentence.
    rule: &'static str,
    /// Whether devices flip independent coins, so that Theorem 2 and the round model hold.
    flips_coins: bool,
    devices: usize,
    alpha: Option<f64>,
    beta: Option<f64>,
    /// The sampling variance when every device takes part whenever it is available: β must exceed it.
    least_variance: f64,
    #[serde(flatten)]
    evaluation: Evaluation,
    kkt_residual: Option<f64>,
    seed: u64,
    warnings: Vec<String>,
    #[serde(flatten)]
    columns: Option<DeviceColumns>,
}

/// One entry per device, in the order of the fleet.
#[derive(Serialize)]
struct DeviceColumns {
    names: Vec<String>,
    q: Vec<f64>,
    weights: Vec<f64>,
    /// a: the share of the data.
    shares: Vec<f64>,
    /// c: what one certain participation costs.
    cost_secs: Vec<f64>,
    /// The caps on q.
    availability: Vec<f64>,
    /// The plan as `fedflip plan --out` writes it.
    csv: String,
}

impl Planned {
    pub(crate) fn new(question: &PlanQuestion) -> Result<Self, Refusal> {
        let fleet =
            csv_file::read(question.fleet.as_bytes(), FLEET).map_err(|error| Refusal::of_fleet(&error))?;
        let problem = Problem::new(&fleet, costs(question)?);
        let planning = planning(question)?;
        let method = planning.scheme.method();
        if method.buffer().is_some() {
            let remedy = "simulate it with `fedflip run` or `fedflip compare`: there is no q to choose";
            let (scheme, what) = (planning.scheme.clone(), "plan");
            return Err(Refusal::of_plan(&PlanError::NoRounds { scheme, what, remedy }));
        }
        let plan = fedflip_plan::solve(&problem, &planning).map_err(|error| Refusal::of_plan(&error))?;
        let columns = question.with_devices.then(|| DeviceColumns::new(&problem, &plan));
        Ok(Self {
            scheme: planning.scheme.to_string(),
            status: plan.status().name(),
            rule: planning.scheme.describe().rule,
            flips_coins: method.flips_coins(),
            devices: fleet.len(),
            alpha: planning.constants.map(Constants::alpha),
            beta: planning.constants.map(Constants::beta),
            least_variance: problem.least_variance(),
            evaluation: Evaluation::new(&problem, &plan, &planning, question.draws),
            kkt_residual: plan.kkt_residual(),
            seed: planning.seed,
            warnings: warnings::of_plan(&problem, &planning, &plan, VARIANCE),
            columns,
        })
    }
}

impl DeviceColumns {
    fn new(problem: &Problem<'_>, plan: &fedflip_plan::Plan) -> Self {
        let fleet: &Fleet = problem.fleet();
        Self {
            names: (0..fleet.len()).map(|position| fleet.name(position).to_owned()).collect(),
            q: plan.q().to_vec(),
            weights: plan.aggregation_weights().to_vec(),
            shares: fleet.weights().to_vec(),
            cost_secs: problem.cost_secs().to_vec(),
            availability: fleet.availability().to_vec(),
            csv: String::from_utf8_lossy(&Schedule::new(plan.clone(), 1).csv(fleet)).into_owned(),
        }
    }
}

fn costs(question: &PlanQuestion) -> Result<RoundCosts, Refusal> {
    let missing = || Refusal::new("bandwidth_mbps", "the bandwidth is missing", "write a number of Mbit/s");
    let mbps = question.bandwidth_mbps.ok_or_else(missing)?;
    let bandwidth = Mbps::new(mbps).map_err(|error| Refusal::of_range("bandwidth_mbps", &error))?;
    let overhead = Secs::new(question.overhead_secs.unwrap_or(0.0));
    Ok(RoundCosts::from(bandwidth)
        .with_overhead(overhead.map_err(|error| Refusal::of_range("overhead_secs", &error))?))
}

fn planning(question: &PlanQuestion) -> Result<Planning, Refusal> {
    let scheme = question.scheme.trim().parse::<Scheme>().map_err(|error| Refusal::of_plan(&error))?;
    let variance = question.variance.unwrap_or(DEFAULT_VARIANCE);
    if !VARIANCE_RANGE.contains(&variance) {
        let error = PlanError::BadNumber { name: "variance", value: variance, wanted: VARIANCE_WANTED };
        return Err(Refusal::of_plan(&error));
    }
    Ok(Planning { constants: constants(question)?, variance, seed: question.seed, ..Planning::new(scheme) })
}

fn constants(question: &PlanQuestion) -> Result<Option<Constants>, Refusal> {
    let lonely = |place, problem| {
        Err(Refusal::new(place, problem, "fill in both, or leave both empty: pilots measure them together"))
    };
    match (question.alpha, question.beta) {
        (None, None) => Ok(None),
        (Some(_), None) => lonely("beta", "β is missing beside α"),
        (None, Some(_)) => lonely("alpha", "α is missing beside β"),
        (Some(alpha), Some(beta)) => {
            Constants::new(alpha, beta).map(Some).map_err(|error| Refusal::of_plan(&error))
        }
    }
}
