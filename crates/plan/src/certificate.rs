//! A proven lower bound on what any plan can achieve under Theorem 2's first bound.
//!
//! The objective (o + B(q))/(β − C(q)) is not quasi-convex, because E[max τ] is concave along some lines. Its minimum ρ*
//! is at least ρ exactly if
//!
//! ```text
//! min over q of  o + Σ (u_n q_n + ρ a_n²/q_n) + E[max τ]  ≥  ρ β,      u_n: the transfers of device n alone.
//! ```
//!
//! The minimum on the left is a control problem with one number as its state. Go through the devices from the slowest to
//! the fastest, and let S be the probability that no device so far takes part. Device n adds
//! S τ_n q_n + u_n q_n + ρ a_n²/q_n, and leaves the state S (1 − q_n). The least cost V(S) of the remaining devices is the
//! minimum of functions that are linear in S (one for each choice of their q), so V is concave. Between two nodes a concave
//! function lies above its chord. The chords of lower bounds at the nodes are therefore a lower bound everywhere, and the
//! next device's minimum over each chord has a closed form. Nodes are dense around the states of the plan in question,
//! where the minimum is, so that the bound is close to the truth.
//!
//! Large fleets are taken in groups of devices with similar compute times, each with the least of its group: a bound as
//! well.

use std::ops::Range;

use crate::problem::RoundModel;
use crate::round_time::FirstBound;

/// Beyond this many devices, groups are formed.
const STAGES_MAX: usize = 1_000;
/// Nodes on either side of the plan's own state.
const SIDE_NODES: usize = 24;
/// The distance of the first node, in ln S.
const FIRST_DISTANCE: f64 = 0.015;
/// Each further distance is this many times the last: the last node is at S·e^±30.
const GROWTH: f64 = 1.33;
/// Nodes are no closer than this to the ends of the states: their differences would lose their digits.
const STATE_MIN: f64 = 1e-7;
/// More than the rounding errors of a sum over all devices.
const ROUNDING: f64 = 1e-11;
/// Values of λ at which the cost of a group is computed.
const SLOPES: usize = 24;

/// How far the plan's objective can at most be above the optimum, as a share of the optimum: 0.01 is one per cent.
///
/// The objective is (o + B(q))/(β − C(q)), with Theorem 2's first bound B. None if `q` does not reach the target.
pub fn optimality_gap(model: &RoundModel<'_, '_>, q: &[f64]) -> Option<f64> {
    let headroom = model.headroom(q)?;
    let value = FirstBound::new(model.problem()).value(q) / headroom;
    if value <= 0.0 {
        return Some(0.0);
    }
    let stages = Stages::new(model, q);
    // Newton's method from the plan's own value, and each result is checked: it is a bound if the inequality holds there.
    let mut bound = value;
    let mut slope = headroom;
    for _ in 0..40 {
        let excess = stages.excess(bound);
        if excess >= 0.0 {
            return Some((value / bound - 1.0).max(0.0));
        }
        bound = (bound + excess / slope * 1.02).max(bound * 0.5);
        slope *= 0.9;
    }
    Some(f64::INFINITY)
}

/// The control problem of a plan.
struct Stages {
    overhead_secs: f64,
    beta: f64,
    /// The devices, those with the longest compute time first.
    devices: Vec<Device>,
    stages: Vec<Stage>,
    /// The distances of nodes from the plan's own state, in ln S.
    distances: Vec<f64>,
}

#[derive(Clone, Copy)]
struct Device {
    /// τ, and the part of a broadcast that every cohort waits for.
    compute_secs: f64,
    transfer_secs: f64,
    weight: f64,
    cap: f64,
    q: f64,
}

/// One device, or a group of devices.
struct Stage {
    devices: Range<usize>,
    /// The least compute time of its devices.
    compute_secs: f64,
    /// The probability, under the plan, that no slower device takes part.
    state: f64,
    /// Σ q under the plan.
    participants: f64,
}

/// V between two nodes: `at_zero + slope·S`.
#[derive(Clone, Copy)]
struct Chord {
    at_zero: f64,
    slope: f64,
}

impl Stages {
    fn new(model: &RoundModel<'_, '_>, q: &[f64]) -> Self {
        let problem = model.problem();
        let fleet = problem.fleet();
        // E[max τ] + E[max d] ≥ E[max (τ + min d)].
        let least_broadcast_secs = problem.broadcast_secs().iter().copied().reduce(f64::min).unwrap_or(0.0);
        let mut devices: Vec<Device> = (0..fleet.len())
            .map(|n| Device {
                compute_secs: fleet.compute_secs()[n] + least_broadcast_secs,
                transfer_secs: problem.transfer_secs()[n],
                weight: fleet.weights()[n],
                cap: fleet.availability()[n],
                q: q[n],
            })
            .collect();
        devices.sort_by(|a, b| b.compute_secs.total_cmp(&a.compute_secs));
        let size = devices.len().div_ceil(STAGES_MAX);
        let mut state = 1.0;
        let stages = (0..devices.len()).step_by(size).map(|from| {
            let range = from..(from + size).min(devices.len());
            let group = &devices[range.clone()];
            let stage = Stage {
                compute_secs: group.iter().map(|device| device.compute_secs).fold(f64::INFINITY, f64::min),
                state: f64::max(state, STATE_MIN),
                participants: group.iter().map(|device| device.q).sum(),
                devices: range,
            };
            state *= group.iter().map(|device| 1.0 - device.q).product::<f64>();
            stage
        });
        let stages = stages.collect();
        let distance = |node: usize| FIRST_DISTANCE * (GROWTH.powi(node as i32) - 1.0) / (GROWTH - 1.0);
        let distances = (0..=SIDE_NODES).map(distance).collect();
        Self { overhead_secs: problem.overhead_secs(), beta: model.beta(), devices, stages, distances }
    }

    /// A lower bound on the left side of the inequality, less its right side.
    fn excess(&self, rho: f64) -> f64 {
        let mut chords = vec![Chord { at_zero: 0.0, slope: 0.0 }];
        let (mut nodes, mut values) = (Vec::new(), Vec::new());
        for stage in self.stages.iter().rev() {
            let costs = StageCosts::new(stage, &self.devices[stage.devices.clone()], rho);
            self.nodes(stage.state, &mut nodes);
            values.clear();
            values.extend(nodes.iter().map(|&state| {
                chords.iter().map(|&chord| costs.least(state, chord)).fold(f64::INFINITY, f64::min)
            }));
            chords.clear();
            chords.extend(nodes.windows(2).zip(values.windows(2)).map(|(state, value)| {
                let slope = (value[0] - value[1]) / (state[0] - state[1]);
                Chord { at_zero: value[1] - slope * state[1], slope }
            }));
        }
        // The first stage begins in the state 1, which is its first node.
        let least = values.first().copied().unwrap_or(0.0);
        // Rounding must not make a bound of what is none.
        self.overhead_secs + least * (1.0 - ROUNDING) - rho * self.beta
    }

    /// States from 1 down to 0, dense around the state of the plan.
    fn nodes(&self, state: f64, nodes: &mut Vec<f64>) {
        nodes.clear();
        nodes.push(1.0);
        let above = self.distances.iter().rev().map(|distance| state * distance.exp());
        nodes.extend(above.filter(|&node| node < 1.0 - STATE_MIN));
        let below = self.distances[1..].iter().map(|distance| state * (-distance).exp());
        nodes.extend(below.filter(|&node| node > STATE_MIN));
        nodes.push(0.0);
    }
}

/// The cost of a stage for a given ρ.
enum StageCosts {
    One { compute_secs: f64, device: Device, rho: f64 },
    Group { compute_secs: f64, participants_max: f64, costs: Vec<f64> },
}

impl StageCosts {
    fn new(stage: &Stage, devices: &[Device], rho: f64) -> Self {
        let compute_secs = stage.compute_secs;
        if let &[device] = devices {
            return Self::One { compute_secs, device, rho };
        }
        let costs = (0..=SLOPES).map(|at| {
            let slope = slope_at(at, compute_secs);
            devices.iter().map(|device| device.least_cost(slope, rho)).sum()
        });
        let participants_max = 3.0 * stage.participants;
        Self::Group { compute_secs, participants_max, costs: costs.collect() }
    }

    /// The least cost of the stage in a state, and of the others if they follow `chord`.
    fn least(&self, state: f64, chord: Chord) -> f64 {
        let rest = chord.at_zero + chord.slope * state;
        match self {
            // α + mS + min over q of (S (τ − m) + u) q + ρ a²/q.
            Self::One { compute_secs, device, rho } => {
                rest + device.least_cost(state * (compute_secs - chord.slope), *rho)
            }
            // α + Sτ − κP + Σ (u q + ρ a²/q), where P = Π (1 − q) is at most e^(−Σ q), and κ = S (τ − m). Up to
            // `participants_max`, −κ e^(−Σ q) is above its chord in Σ q; beyond it is above its value there.
            Self::Group { compute_secs, participants_max, costs } => {
                let kappa = state * (compute_secs - chord.slope);
                if kappa <= 0.0 {
                    return chord.at_zero + state * compute_secs + costs[0];
                }
                let survival = (-participants_max).exp();
                let slope = kappa * (1.0 - survival) / participants_max;
                let few = rest + group_cost(costs, slope, *compute_secs);
                let many = chord.at_zero + state * compute_secs - kappa * survival + costs[0];
                few.min(many)
            }
        }
    }
}

impl Device {
    /// min over q of (u + λ) q + ρ a²/q.
    fn least_cost(&self, slope: f64, rho: f64) -> f64 {
        let cost = self.transfer_secs + slope;
        let variance = rho * self.weight * self.weight;
        if cost > 0.0 && variance < cost * self.cap * self.cap {
            2.0 * (variance * cost).sqrt()
        } else {
            cost * self.cap + variance / self.cap
        }
    }
}

/// The slopes at which the cost of a group is known: denser near 0, where the cost bends most.
fn slope_at(at: usize, compute_secs: f64) -> f64 {
    compute_secs * (at as f64 / SLOPES as f64).powi(2)
}

/// The cost of a group between two known slopes: concave in the slope, so the chord is a lower bound.
fn group_cost(costs: &[f64], slope: f64, compute_secs: f64) -> f64 {
    let place = (slope / compute_secs).max(0.0).sqrt() * SLOPES as f64;
    let below = (place as usize).min(SLOPES - 1);
    let (low, high) = (slope_at(below, compute_secs), slope_at(below + 1, compute_secs));
    // Beyond the last slope the cost still grows.
    let part = ((slope - low) / (high - low)).clamp(0.0, 1.0);
    costs[below] + part * (costs[below + 1] - costs[below])
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::{Columns, Fleet, Mbps, RoundCosts, Secs};
    use proptest::prelude::*;

    use super::*;
    use crate::problem::{Goal, Problem};
    use crate::{Planning, Scheme, solve};

    fn fleet(devices: &[(f64, f64, f64)]) -> Fleet {
        let column = |of: fn(&(f64, f64, f64)) -> f64| devices.iter().map(of).collect::<Vec<f64>>();
        Fleet::from_columns(Columns {
            compute_secs: &column(|device| device.0),
            comm_secs: &column(|device| device.1),
            samples: &column(|device| device.2),
            ..Columns::default()
        })
        .unwrap()
    }

    fn value(model: &RoundModel<'_, '_>, q: &[f64]) -> f64 {
        let secs = FirstBound::new(model.problem()).value(q);
        model.headroom(q).map_or(f64::INFINITY, |headroom| secs / headroom)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        /// No q of a grid over all plans is better than the bound allows.
        #[test]
        fn no_plan_is_below_the_bound(
            devices in prop::collection::vec((0.01..10.0_f64, 0.01..10.0_f64, 1.0..100.0_f64), 2..=3),
            variance in 1.05..8.0_f64, overhead in 0.0..2.0_f64,
        ) {
            let fleet = fleet(&devices);
            let costs = RoundCosts::from(Mbps::new(2.0).unwrap()).with_overhead(Secs::new(overhead).unwrap());
            let problem = Problem::new(&fleet, costs);
            let goal = Goal::Variance(variance * problem.least_variance());
            let model = RoundModel::for_goal(&problem, goal).unwrap();
            let Goal::Variance(variance) = goal else { unreachable!() };
            let plan = solve(&problem, &Planning { variance, ..Planning::new(Scheme::Auto) }).unwrap();
            let ours = value(&model, plan.q());
            let gap = optimality_gap(&model, plan.q()).unwrap();
            let bound = ours / (1.0 + gap);
            let steps = 60_i32;
            let at = |place: i32| (f64::from(place + 1) / f64::from(steps)).powi(2);
            let mut q = vec![0.0; fleet.len()];
            for cell in 0..steps.pow(fleet.len() as u32) {
                let mut rest = cell;
                for q in &mut q {
                    *q = at(rest % steps);
                    rest /= steps;
                }
                prop_assert!(value(&model, &q) >= bound * (1.0 - 1e-9), "{q:?} is better than {bound}");
            }
            // The same bound holds from any other plan, if less tightly.
            let other = value(&model, fleet.availability()) / (1.0 + optimality_gap(&model, fleet.availability()).unwrap());
            prop_assert!(other <= ours * (1.0 + 1e-9), "{other} {ours}");
        }
    }

    /// A group of devices is bounded as its devices are, if less tightly.
    #[test]
    fn groups_are_bounds_too() {
        let mut devices = Vec::new();
        for n in 0..(3 * STAGES_MAX) {
            let spread = |step: usize| ((n * step) % 997) as f64 / 997.0;
            devices.push((0.1 + 10.0 * spread(31), 0.5 + spread(57), 1.0 + 20.0 * spread(83)));
        }
        let fleet = fleet(&devices);
        let problem = Problem::new(&fleet, Mbps::new(50.0).unwrap());
        let model = RoundModel::for_goal(&problem, Goal::Variance(0.3)).unwrap();
        let plan = solve(&problem, &Planning { variance: 0.3, ..Planning::new(Scheme::Auto) }).unwrap();
        let gap = optimality_gap(&model, plan.q()).unwrap();
        assert!((0.0..0.05).contains(&gap), "{gap}");
        // A plan that is known to be worse has a larger gap, by as much as it is worse at least.
        let linear =
            solve(&problem, &Planning { variance: 0.3, ..Planning::new(Scheme::AutoLinear) }).unwrap();
        let worse = value(&model, linear.q()) / value(&model, plan.q()) - 1.0;
        assert!(worse > 0.0 && optimality_gap(&model, linear.q()).unwrap() >= worse);
    }
}
