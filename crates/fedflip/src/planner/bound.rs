//! Theorem 1, applied to a plan.

use std::io::{self, Write};

use fedflip_plan::PlanError;
use fedflip_plan::theorem1::Assumptions;
use serde::Serialize;

use crate::render::{devices, significant};

/// What is asked of the theorem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BoundQuestion {
    /// R: the rounds to evaluate the bound at.
    pub rounds: Option<f64>,
    /// ξ: the value that the bound should reach.
    pub threshold: Option<f64>,
    /// p of the two conditions; by default the smallest that is allowed.
    pub p: Option<f64>,
}

/// What `bound --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bound {
    /// How q was chosen.
    pub scheme: String,
    /// The number of devices N.
    pub devices: usize,
    /// The sampling variance Σ a²/q.
    pub sampling_variance: f64,
    /// p of the two conditions.
    pub p: f64,
    /// N Σ a²/q, which must not exceed p.
    pub scaled_variance: f64,
    /// Whether N Σ a²/q ≤ p.
    pub variance_condition: bool,
    /// The learning rate η.
    pub learning_rate: f64,
    /// 1/(4Lp), which the learning rate must not exceed.
    pub learning_rate_max: f64,
    /// Whether the learning rate satisfies η ≤ 1/(4Lp).
    pub learning_rate_condition: bool,
    /// The bound after infinitely many rounds.
    pub floor: f64,
    /// R, if the bound was asked for.
    pub rounds: Option<f64>,
    /// The bound after R rounds.
    pub bound: Option<f64>,
    /// ξ, if the rounds were asked for.
    pub threshold: Option<f64>,
    /// Whole rounds; null if the threshold lies at or below the floor.
    pub rounds_needed: Option<f64>,
    /// Of the round model; null without a threshold, or where sampling adds no variance.
    pub alpha: Option<f64>,
    /// β of the round model, with α.
    pub beta: Option<f64>,
    /// ξ > ε² + σ² and η ≤ min(1/(4Lp), 1/(4LN²)): the paper's conditions for P2.
    pub p2_threshold_condition: Option<bool>,
    /// The second of these conditions.
    pub p2_learning_rate_condition: Option<bool>,
}

impl Bound {
    /// Applies the theorem to a sampling variance, under whose scheme q was chosen.
    pub fn new(
        scheme: &str,
        assumptions: &Assumptions,
        sampling_variance: f64,
        question: BoundQuestion,
    ) -> Result<Self, PlanError> {
        let BoundQuestion { rounds, threshold, p } = question;
        let theorem = assumptions.theorem(sampling_variance, p)?;
        let p2 = threshold.map(|threshold| theorem.paper_p2_conditions(threshold));
        let model = threshold.and_then(|threshold| assumptions.round_model(threshold));
        Ok(Self {
            scheme: scheme.to_owned(),
            devices: assumptions.devices,
            sampling_variance,
            p: theorem.p(),
            scaled_variance: theorem.scaled_variance(),
            variance_condition: theorem.variance_condition_holds(),
            learning_rate: assumptions.learning_rate,
            learning_rate_max: theorem.learning_rate_max(),
            learning_rate_condition: theorem.learning_rate_condition_holds(),
            floor: theorem.floor(),
            rounds,
            bound: rounds.map(|rounds| theorem.bound(rounds)),
            threshold,
            rounds_needed: threshold.and_then(|threshold| theorem.rounds_to(threshold)).map(whole_rounds),
            alpha: model.map(|(alpha, _)| alpha),
            beta: model.map(|(_, beta)| beta),
            p2_threshold_condition: p2.map(|conditions| conditions.0),
            p2_learning_rate_condition: p2.map(|conditions| conditions.1),
        })
    }

    /// Writes the bound for a terminal.
    pub fn write(&self, output: &mut dyn Write) -> io::Result<()> {
        let number = |value: f64| significant(value, 4);
        let holds = |holds: bool| if holds { "holds" } else { "DOES NOT HOLD" };
        let comparison = |left: f64, right: f64| format!("{} ≤ {}", number(left), number(right));
        let mut line = |what: &str, text: String| writeln!(output, "  {what:<28}{text}");
        line(
            &format!("Theorem 1 under {}", self.scheme),
            format!("{}, Σ a²/q = {}", devices(self.devices), number(self.sampling_variance)),
        )?;
        let (variance, rate) = (self.variance_condition, self.learning_rate_condition);
        line("N Σ a²/q ≤ p", format!("{}: {}", comparison(self.scaled_variance, self.p), holds(variance)))?;
        line(
            "η ≤ 1/(4Lp)",
            format!("{}: {}", comparison(self.learning_rate, self.learning_rate_max), holds(rate)),
        )?;
        if !(variance && rate) {
            line("", "so the theorem promises nothing; what follows is its formula only".to_owned())?;
        }
        if let (Some(threshold), Some(rate)) = (self.p2_threshold_condition, self.p2_learning_rate_condition)
        {
            line("ξ > ε² + σ² (for P2)", holds(threshold).to_owned())?;
            line("η ≤ 1/(4LN²) (for P2)", holds(rate).to_owned())?;
        }
        if let (Some(rounds), Some(bound)) = (self.rounds, self.bound) {
            line(&format!("after {} rounds", number(rounds)), format!("mean E‖∇F‖² ≤ {}", number(bound)))?;
        }
        line("in the long run", format!("mean E‖∇F‖² ≤ {}", number(self.floor)))?;
        if let Some(threshold) = self.threshold {
            let rounds = match self.rounds_needed {
                Some(rounds) => format!("{} rounds", number(rounds)),
                None => format!("never: it lies below the floor by {}", number(self.floor - threshold)),
            };
            line(&format!("to reach ξ = {}", number(threshold)), rounds)?;
        }
        if let (Some(alpha), Some(beta)) = (self.alpha, self.beta) {
            line("round model", format!("α = {}, β = {}", number(alpha), number(beta)))?;
        }
        Ok(())
    }
}

/// Up to the next whole round, unless it is only rounding that lies above one.
fn whole_rounds(rounds: f64) -> f64 {
    (rounds * (1.0 - 1e-12)).ceil()
}
