//! Evaluations by a program that knows the model better than the server does.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::{Direction, Display, MetricInfo, Metrics, ModelVector};
use fedflip_learn::LearnError;
use fedflip_learn::metrics::{Formula, LOSS, Metric, metric};
use fedflip_net::state::StateView;
use fedflip_record::schema::METRICS_MAX;
use fedflip_record::{Target, TargetMode};
use fedflip_scenario::Scenario;

use super::error::DeployError;
use crate::error::RunError;

/// Evaluates a model: a function of the program that serves a scenario. It returns metrics by name, the headline first.
/// A loss that is NaN or infinite tells that the model has diverged.
pub type ForeignEvaluate = Box<dyn FnMut(&Arc<ModelVector>) -> Result<Vec<(String, f64)>, LearnError> + Send>;

/// An evaluation by the program that serves a scenario.
pub struct ForeignEvaluation {
    /// The function that evaluates a model.
    pub evaluate: ForeignEvaluate,
    /// Whether smaller values of a metric are better, where neither the table of metrics nor the target says so.
    pub falls: Box<dyn Fn(&str) -> bool + Send>,
}

impl From<ForeignEvaluate> for ForeignEvaluation {
    /// Of metrics that nobody knows, larger values are better.
    fn from(evaluate: ForeignEvaluate) -> Self {
        Self { evaluate, falls: Box::new(|_| false) }
    }
}

/// An evaluation by the program that serves a scenario, and the names of its metrics.
pub(super) struct ForeignEvaluator {
    evaluate: RefCell<ForeignEvaluate>,
    metrics: Vec<Metric>,
    /// The first evaluation, which told the names: the run asks for it again.
    first: RefCell<Option<(ModelVector, Metrics)>>,
}

impl ForeignEvaluator {
    /// Learns the names of the metrics: from the records of a run that resumes with the same target, or else by a first
    /// evaluation.
    pub(super) fn new(
        ForeignEvaluation { mut evaluate, falls }: ForeignEvaluation,
        (scenario, out): (&Scenario, &Path),
        initial: ModelVector,
    ) -> Result<Self, RunError> {
        let (target, mut infos, mut first) = (scenario.target(), recorded(out), None);
        let is_known = |wanted: &Target| infos.iter().any(|info| info.name == wanted.metric);
        if infos.is_empty() || !target.is_none_or(is_known) {
            let initial = Arc::new(initial);
            let found = evaluate(&initial)?;
            let new = found.iter().filter(|(name, _)| infos.iter().all(|info| info.name != *name));
            let new: Vec<MetricInfo> = new.map(|(name, _)| info(name, target, &falls)).collect();
            infos.extend(new);
            first = Some((Arc::unwrap_or_clone(initial), checked(found)?));
        }
        let metrics: Vec<Metric> = infos.into_iter().map(described).collect();
        Ok(Self { evaluate: RefCell::new(evaluate), metrics, first: RefCell::new(first) })
    }

    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Refuses a target, or pilots, that the evaluation says nothing about.
    pub(super) fn check(&self, target: Option<&Target>, pilots: bool) -> Result<(), DeployError> {
        let names = || self.metrics.iter().map(|metric| metric.info.name.to_string());
        if let Some(Target { metric, .. }) = target
            && !names().any(|name| name == *metric)
        {
            return Err(DeployError::OtherMetric { metric: metric.clone(), known: names().collect() });
        }
        if pilots && !names().any(|name| name == LOSS) {
            return Err(DeployError::NoLoss { evaluates: true });
        }
        Ok(())
    }

    pub(super) fn evaluate(&self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        let first = self.first.take();
        if let Some((_, found)) = first.filter(|(known, _)| known.as_slice() == model.as_slice()) {
            return Ok(found);
        }
        // Nothing else borrows it: evaluations come one after the other.
        checked((self.evaluate.borrow_mut())(model)?)
    }
}

/// The values of an evaluation that records can hold; others than the loss are left out where they are not finite.
fn checked(found: Vec<(String, f64)>) -> Result<Metrics, LearnError> {
    if found.len() > METRICS_MAX {
        let message =
            format!("the evaluation reports {} metrics, and records hold at most {METRICS_MAX}", found.len());
        return Err(LearnError::Foreign { message, trace: String::new() });
    }
    match found.iter().find(|(name, value)| name == LOSS && !value.is_finite()) {
        Some((_, value)) => Err(LearnError::NotFinite { what: "model's loss".into(), value: *value }),
        None => Ok(found.into_iter().collect()),
    }
}

/// The metrics in the first line of a run that resumes; none of a new run.
fn recorded(out: &Path) -> Vec<MetricInfo> {
    let header = StateView::open(out).and_then(|view| view.header());
    header.ok().flatten().map(|header| header.metrics).unwrap_or_default()
}

/// How a metric is compared and shown: as the table of metrics says, or else as the target or the program does.
fn info(name: &str, target: Option<&Target>, falls: &dyn Fn(&str) -> bool) -> MetricInfo {
    if let Some(known) = metric(name) {
        return known.info.clone();
    }
    let mode = target.filter(|target| target.metric == name).map(|target| target.mode);
    let falls = mode.map_or_else(|| falls(name), |mode| mode == TargetMode::Min);
    let better = if falls { Direction::Smaller } else { Direction::Larger };
    MetricInfo { name: Cow::Owned(name.to_owned()), better, display: Display::Number }
}

fn described(info: MetricInfo) -> Metric {
    let formula = Formula::Mean(info.name.clone());
    Metric { info, doc: Cow::Borrowed("A metric that the program which serves the run evaluates."), formula }
}
