//! Algorithm 2 as printed: a line search over M = Σ q c, and for each M a convex program.
//!
//! Kept as the reference for `paper`, which has the same optimum in closed form. The paper's range of M,
//! N·min(lo·c) to N·max(c), is not the range of M: that is Σ lo·c to Σ cap·c, and is used here. With a
//! given step ε the search is the printed one, and as good as its step. By default it continues with a finer
//! step around the best M until its answer no longer depends on ε: in log M the logarithm of the objective
//! is convex, hence the minimum is unique.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use super::Search;
use super::paper::{surrogate_floors, surrogate_residual};
use crate::error::PlanError;
use crate::plan::{Plan, PlanStatus};
use crate::problem::RoundModel;
use crate::scheme::Scheme;

/// Some 300 convex programs with three variables a device: beyond this they would take many minutes.
const DEVICES_MAX: usize = 2_000;
/// A smaller ε than this allows would run for hours.
const VALUES_MAX: f64 = 100_000.0;
/// Values of M in each finer pass.
const FINER_PASS_VALUES: usize = 12;
/// The search ends when its step is this share of the way to the nearer end of the range: the objective,
/// flat at its minimum, is then off by about the square of it.
const SETTLED_STEP: f64 = 1e-4;
/// Each finer pass divides the step by six, so twenty reach any M that is a number at all.
const FINER_PASSES_MAX: usize = 20;

/// A q that meets P3's conditions to this relative precision is called its optimum: devices that hardly
/// matter to the objective are the last to get there.
const OPTIMAL_RESIDUAL: f64 = 5e-3;

/// P3 by Algorithm 2.
pub(crate) fn plan(model: &RoundModel<'_, '_>, how: Search) -> Result<Plan, PlanError> {
    let problem = model.problem();
    let devices = problem.fleet().len();
    if devices > DEVICES_MAX {
        return Err(PlanError::FleetTooLarge {
            scheme: Scheme::PaperLinesearch,
            devices,
            devices_max: DEVICES_MAX,
        });
    }
    let search = LineSearch::new(model)?;
    let width_secs = search.budget_max_secs - search.budget_min_secs;
    let (values, finer_passes) = match how {
        Search::Refined { values } => (values.max(2), FINER_PASSES_MAX),
        Search::AsPrinted { step_secs } => (as_printed_values(width_secs, step_secs)?, 0),
    };
    let done = |q: Vec<f64>, convex_programs| {
        let residual = surrogate_residual(model, &search.floors, &q);
        let status = if residual <= OPTIMAL_RESIDUAL { PlanStatus::Optimal } else { PlanStatus::Approximate };
        Plan::new(problem.fleet(), status, q)
            .with_kkt_residual(residual)
            .with_convex_programs(convex_programs)
    };
    if search.priced.is_empty() {
        // Nobody costs anything: there is no M to search.
        return Ok(done(problem.fleet().availability().to_vec(), 0));
    }

    let mut solved = values;
    let mut best = search.pass(search.budget_min_secs, search.budget_max_secs, values)?;
    for _ in 0..finer_passes {
        let to_an_end_secs =
            (best.budget_secs - search.budget_min_secs).min(search.budget_max_secs - best.budget_secs);
        if best.step_secs <= SETTLED_STEP * to_an_end_secs {
            break;
        }
        let from_secs = (best.budget_secs - best.step_secs).max(search.budget_min_secs);
        let to_secs = (best.budget_secs + best.step_secs).min(search.budget_max_secs);
        solved += FINER_PASS_VALUES;
        // Where the solver gives up on every M nearby, the coarser pass stands, and its residual says how good it is.
        let Ok(finer) = search.pass(from_secs, to_secs, FINER_PASS_VALUES) else { break };
        // The coarse grid's best stays in the race: it need not be on the finer grid.
        best = if finer.objective <= best.objective {
            finer
        } else {
            Best { step_secs: finer.step_secs, ..best }
        };
    }
    Ok(done(best.q, solved))
}

fn as_printed_values(width_secs: f64, step_secs: f64) -> Result<usize, PlanError> {
    let values = width_secs / step_secs;
    if (1.0..=VALUES_MAX).contains(&values) {
        return Ok(values.ceil() as usize);
    }
    Err(PlanError::BadNumber {
        name: "step",
        value: step_secs,
        wanted: "at most the range of M (Σ lo·c to Σ cap·c), and at least its hundred-thousandth part",
    })
}

/// The best point of a pass.
struct Best {
    q: Vec<f64>,
    objective: f64,
    /// The time budget M of this step.
    budget_secs: f64,
    /// How far the next values of M are.
    step_secs: f64,
}

/// The convex program, scaled once: with y_n = q_n − lo_n = z_n s √(lo_n/c_n) and p_n ∝ √(lo_n c_n),
///
/// ```text
/// minimise Σ p_n x_n   subject to   x_n z_n ≥ 1,   Σ p_n z_n = (M − Σ lo c)/(s Σ √(lo c)),   z_n ≤ z_max
/// ```
///
/// has all its numbers near one, whatever the sizes of fleet and times.
struct LineSearch<'a> {
    model: &'a RoundModel<'a, 'a>,
    /// Devices whose participation costs something, and so counts in M; the others are at their cap.
    priced: Vec<usize>,
    floors: Vec<f64>,
    /// Of each priced device: q − lo at z = 1.
    unit: Vec<f64>,
    /// Of each priced device: p_n.
    price: Vec<f64>,
    /// s Σ √(lo c).
    budget_unit_secs: f64,
    budget_min_secs: f64,
    budget_max_secs: f64,
}

impl<'a> LineSearch<'a> {
    fn new(model: &'a RoundModel<'a, 'a>) -> Result<Self, PlanError> {
        let problem = model.problem();
        let floors = surrogate_floors(model)?;
        let (caps, costs) = (problem.fleet().availability(), problem.cost_secs());
        let priced: Vec<usize> = (0..floors.len()).filter(|&n| costs[n] > 0.0).collect();
        let budget_min_secs: f64 = priced.iter().map(|&n| floors[n] * costs[n]).sum();
        let budget_max_secs = priced.iter().map(|&n| caps[n] * costs[n]).sum();
        let s = (budget_min_secs / floors.len() as f64).sqrt();
        let root_sum: f64 = priced.iter().map(|&n| (floors[n] * costs[n]).sqrt()).sum();
        Ok(Self {
            model,
            unit: priced.iter().map(|&n| s * (floors[n] / costs[n]).sqrt()).collect(),
            price: priced.iter().map(|&n| (floors[n] * costs[n]).sqrt() / root_sum).collect(),
            budget_unit_secs: s * root_sum,
            priced,
            floors,
            budget_min_secs,
            budget_max_secs,
        })
    }

    /// The best of `values` equally spaced M above `from_secs`, up to `to_secs`.
    ///
    /// At `from_secs` itself some q may equal its floor, where the objective is infinite.
    fn pass(&self, from_secs: f64, to_secs: f64, values: usize) -> Result<Best, PlanError> {
        let step_secs = (to_secs - from_secs) / values as f64;
        let (mut best, mut failure): (Option<Best>, _) = (None, None);
        for value in 1..=values {
            let budget_secs = if value == values { to_secs } else { from_secs + step_secs * value as f64 };
            // Close to the ends of the range the interior-point method may run out of interior: such an M
            // is far from the best, and passed over.
            let q = match self.convex_program(budget_secs) {
                Ok(q) => q,
                Err(error) => {
                    failure = Some(error);
                    continue;
                }
            };
            let objective = self.model.objective_p3(&q).unwrap_or(f64::INFINITY);
            if best.as_ref().is_none_or(|best| objective < best.objective) {
                best = Some(Best { q, objective, budget_secs, step_secs });
            }
        }
        best.ok_or_else(|| {
            let status = "no value of M to try".to_owned();
            failure.unwrap_or(PlanError::ConvexSolver { budget_secs: from_secs, status })
        })
    }

    /// P3 for one M.
    fn convex_program(&self, budget_secs: f64) -> Result<Vec<f64>, PlanError> {
        let caps = self.model.problem().fleet().availability();
        if budget_secs >= self.budget_max_secs {
            // The one feasible point; an interior-point method needs an interior.
            return Ok(caps.to_vec());
        }
        // Were nothing capped, every z would be equal to this: as their unit it keeps them near one.
        let z_unit = (budget_secs - self.budget_min_secs) / self.budget_unit_secs;
        let devices = self.priced.len();
        let (constraints, limits) = self.constraints(z_unit);
        let capped = limits.len() - 1 - 3 * devices;
        let mut objective = vec![0.0; devices];
        objective.extend(&self.price);
        let mut cones = vec![SupportedConeT::ZeroConeT(1), SupportedConeT::NonnegativeConeT(capped)];
        cones.resize(2 + devices, SupportedConeT::SecondOrderConeT(3));
        let quadratic = CscMatrix::zeros((2 * devices, 2 * devices));

        let refuse = |status: String| PlanError::ConvexSolver { budget_secs, status };
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .tol_gap_abs(1e-9)
            .tol_gap_rel(1e-9)
            .tol_feas(1e-9)
            .reduced_tol_gap_abs(1e-7)
            .reduced_tol_gap_rel(1e-7)
            .reduced_tol_feas(1e-7)
            .build()
            .map_err(|error| refuse(error.to_string()))?;
        let mut solver = DefaultSolver::new(&quadratic, &objective, &constraints, &limits, &cones, settings)
            .map_err(|error| refuse(error.to_string()))?;
        solver.solve();
        if !matches!(solver.solution.status, SolverStatus::Solved | SolverStatus::AlmostSolved) {
            return Err(refuse(solver.solution.status.to_string()));
        }
        let mut q = caps.to_vec();
        for (k, &n) in self.priced.iter().enumerate() {
            q[n] = (self.floors[n] + self.unit[k] * z_unit * solver.solution.x[k]).min(caps[n]);
        }
        Ok(q)
    }

    /// The rows of the program and their right-hand sides. Variables: z, then x. Rows: the budget; z/z_max ≤ 1 where it
    /// may bind; then x + z, x − z and 2 in a second-order cone for each device, which means 4xz ≥ 4.
    fn constraints(&self, z_unit: f64) -> (CscMatrix<f64>, Vec<f64>) {
        let caps = self.model.problem().fleet().availability();
        let devices = self.priced.len();
        let (mut rows, mut columns, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        let mut enter = |row: usize, column: usize, entry: f64| {
            rows.push(row);
            columns.push(column);
            entries.push(entry);
        };
        let mut limits = vec![1.0];
        for (k, &n) in self.priced.iter().enumerate() {
            enter(0, k, self.price[k]);
            // A cap that the budget already implies would only put huge numbers into the program.
            let z_max = (caps[n] - self.floors[n]) / (self.unit[k] * z_unit);
            if z_max * self.price[k] < 1.0 {
                enter(limits.len(), k, 1.0 / z_max);
                limits.push(1.0);
            }
        }
        for k in 0..devices {
            let row = limits.len();
            enter(row, k, -1.0);
            enter(row, devices + k, -1.0);
            enter(row + 1, k, 1.0);
            enter(row + 1, devices + k, -1.0);
            limits.extend([0.0, 0.0, 2.0]);
        }
        let constraints = CscMatrix::new_from_triplets(limits.len(), 2 * devices, rows, columns, entries);
        (constraints, limits)
    }
}
