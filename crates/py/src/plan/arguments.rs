//! How to plan, from arguments.

use std::path::Path;

use fedflip::planner::ConstantsSource;
use fedflip_fleet::Fleet;
use fedflip_plan::{
    Constants, DEFAULT_VARIANCE, GivenQ, Pilot, Planning, Scheme, Search, VARIANCE_RANGE, VARIANCE_WANTED,
    constants,
};
use fedflip_scenario::read_scheme;
use pyo3::prelude::*;

use super::costs::in_range;
use super::refusal::refused;
use crate::error::Failure;

/// The arguments about the goal and the scheme of a plan.
#[derive(Clone, Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct PlanArguments {
    scheme: Option<String>,
    /// Name, file and CSV text of a scheme `file=NAME`, which then is not read again.
    given_rows: Option<(String, String, String)>,
    alpha: Option<f64>,
    beta: Option<f64>,
    /// Rounds, whether the loss was reached, and the scheme of each pilot.
    pilots: Vec<(f64, bool, String)>,
    variance: Option<f64>,
    step_secs: Option<f64>,
    seed: u64,
    pub(super) draws: Option<u64>,
}

impl PlanArguments {
    /// How to plan, and where α and β come from.
    pub(super) fn planning(
        &self,
        py: Python<'_>,
        fleet: &Fleet,
    ) -> Result<(Planning, Option<ConstantsSource>), Failure> {
        let scheme = self.scheme(py)?;
        let (line_search, variance) = (self.line_search(py, &scheme)?, self.variance(py, &scheme)?);
        let constants = self.constants(py, fleet)?;
        let planning = Planning {
            constants: constants.map(|source| source.constants()),
            variance,
            seed: self.seed,
            line_search,
            ..Planning::new(scheme)
        };
        Ok((planning, constants))
    }

    fn scheme(&self, py: Python<'_>) -> Result<Scheme, Failure> {
        if let Some((name, file, rows)) = &self.given_rows {
            let rows = GivenQ::read(rows.as_bytes(), name, file)?;
            return Ok(Scheme::File(rows));
        }
        match &self.scheme {
            Some(text) => scheme(py, text),
            // Known constants ask for their optimum, unless a variance is given.
            None if self.are_constants_given() && self.variance.is_none() => Ok(Scheme::Exact),
            None => Ok(Scheme::Auto),
        }
    }

    fn are_constants_given(&self) -> bool {
        self.alpha.is_some() || self.beta.is_some() || !self.pilots.is_empty()
    }

    fn line_search(&self, py: Python<'_>, scheme: &Scheme) -> Result<Search, Failure> {
        let Some(step_secs) = self.step_secs else { return Ok(Search::default()) };
        if !scheme.has_line_search() {
            let problem =
                format!("step_secs: the step of a line search is given, but the scheme is {scheme}");
            let remedy = "leave out step_secs, or plan with scheme=\"paper-linesearch\"";
            return Err(Failure::input(problem, remedy).at("step_secs").of(py, step_secs));
        }
        let wanted = "a number above 0, at most 1e100";
        Ok(Search::AsPrinted { step_secs: in_range(py, "step_secs", step_secs, 1e-100..=1e100, wanted)? })
    }

    fn variance(&self, py: Python<'_>, scheme: &Scheme) -> Result<f64, Failure> {
        variance(py, self.variance, scheme)
    }

    pub(super) fn constants(
        &self,
        py: Python<'_>,
        fleet: &Fleet,
    ) -> Result<Option<ConstantsSource>, Failure> {
        let both = match (self.alpha, self.beta) {
            (None, None) => None,
            (Some(alpha), Some(beta)) => Some((alpha, beta)),
            (alpha, _) => {
                let missing = if alpha.is_some() { "beta" } else { "alpha" };
                let problem = format!("{missing}: the round model has two constants, and only one is given");
                return Err(
                    Failure::input(problem, format!("give {missing} too, or leave out both")).at(missing)
                );
            }
        };
        match (both, &self.pilots[..]) {
            (None, []) => Ok(None),
            (Some((alpha, beta)), []) => {
                let constants = Constants::new(alpha, beta).map_err(|error| refused(py, &error))?;
                Ok(Some(ConstantsSource::Given(constants)))
            }
            (None, pilots) => {
                let pilot = |(rounds, reached, text): &(f64, bool, String)| {
                    let scheme = scheme(py, text).map_err(|failure| failure.at("pilots"))?;
                    Ok(Pilot { rounds: *rounds, reached: *reached, scheme })
                };
                let pilots = pilots.iter().map(pilot).collect::<Result<Vec<Pilot>, Failure>>()?;
                let fit = constants::from_pilots(fleet, &pilots)
                    .map_err(|error| refused(py, &error).at("pilots"))?;
                Ok(Some(ConstantsSource::Pilots { fit, count: pilots.len() }))
            }
            (Some(_), _) => {
                let problem = "pilots: alpha and beta are given too, which pilots would estimate";
                Err(Failure::input(problem, "leave out pilots, or alpha and beta").at("pilots"))
            }
        }
    }

    /// The same arguments for q that the caller chose: a placeholder stands for the scheme.
    pub(super) fn planning_of_given(
        &self,
        py: Python<'_>,
        fleet: &Fleet,
    ) -> Result<(Planning, Option<ConstantsSource>), Failure> {
        let constants = self.constants(py, fleet)?;
        // A baseline of independent coins, which every given q is too.
        let planning = Planning {
            constants: constants.map(|source| source.constants()),
            seed: self.seed,
            ..Planning::new(Scheme::Full)
        };
        Ok((planning, constants))
    }
}

/// The scheme of a name. The file of `file=NAME` starts in the working directory.
pub(super) fn scheme(py: Python<'_>, text: &str) -> Result<Scheme, Failure> {
    read_scheme(text.trim(), Path::new("")).map_err(|error| refused(py, &error))
}

/// The sampling variance that `auto` plans for.
pub(super) fn variance(py: Python<'_>, given: Option<f64>, scheme: &Scheme) -> Result<f64, Failure> {
    let Some(value) = given else { return Ok(DEFAULT_VARIANCE) };
    if !scheme.needs_variance() {
        let problem = format!("variance: the sampling variance of auto is given, but the scheme is {scheme}");
        let remedy = "leave out variance, or plan with scheme=\"auto\"";
        return Err(Failure::input(problem, remedy).at("variance").of(py, value));
    }
    in_range(py, "variance", value, VARIANCE_RANGE, VARIANCE_WANTED)
}
