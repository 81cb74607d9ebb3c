//! Explanations and comparisons of plans.

use std::borrow::Cow;

use fedflip::planner::{self, Comparison, Dialect, Explanation, Paragraph, PlanJson, SolvedPlan};
use fedflip_plan::Problem;
use fedflip_report::table::{Cell, Table};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::{PyPlan, costs};
use crate::error::Failure;

/// Title, settings, columns, rows, what the table leaves out, outcome and reasons.
pub(super) type Parts =
    (String, Vec<Lines>, Vec<(String, bool)>, Vec<Vec<String>>, Option<String>, Vec<Lines>, Vec<String>);

/// Lines beside a label.
type Lines = (&'static str, Vec<String>);

/// An explanation for a terminal.
pub(super) fn text(explanation: Explanation) -> String {
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = explanation.write(&mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// An explanation in parts.
pub(super) fn parts(explanation: Explanation) -> Parts {
    let lines = |paragraphs: Vec<Paragraph>| {
        paragraphs.into_iter().map(|Paragraph { label, lines }| (label, lines)).collect()
    };
    let Explanation { title, settings, participation, more, outcome, reasons } = explanation;
    let (columns, rows) = cells(&participation);
    (title, lines(settings), columns, rows, more, lines(outcome), reasons.lines)
}

/// The titles of a table, whether each column has numbers, and the texts of the rows.
fn cells(table: &Table) -> (Vec<(String, bool)>, Vec<Vec<String>>) {
    let columns = table.columns.iter().map(|column| (column.title.to_string(), column.numeric)).collect();
    let row = |row: &Vec<Cell>| row.iter().map(Cell::shown).collect();
    (columns, table.rows.iter().map(row).collect())
}

impl PyPlan {
    pub(super) fn all_warnings(&self) -> Vec<String> {
        let of_constants = self.constants.and_then(|source| source.warning()).map(str::to_owned);
        let problem = Problem::new(&self.fleet, self.costs);
        let of_plan = planner::warnings(&problem, &self.planning, self.plan(), Dialect::Python);
        of_constants.into_iter().chain(of_plan).collect()
    }

    fn solved(&self) -> Result<SolvedPlan<'_>, Failure> {
        let problem = Problem::new(&self.fleet, self.costs);
        Ok(SolvedPlan {
            scheme: self.planning.scheme.clone(),
            given: self.given,
            plan: Cow::Borrowed(self.plan()),
            solve_secs: self.solve_secs,
            outlook: Cow::Borrowed(self.known_outlook()?),
            warnings: planner::warnings(&problem, &self.planning, self.plan(), Dialect::Python),
        })
    }

    pub(super) fn explained<T>(
        &self,
        source: &str,
        devices: bool,
        write: fn(Explanation) -> T,
    ) -> Result<T, Failure> {
        let (settings, solved) = (self.settings(source), self.solved()?);
        Ok(write(Explanation::new(&settings, &settings.problem(), &solved, devices)))
    }

    pub(super) fn as_json(&self) -> Result<String, Failure> {
        let (settings, solved) = (self.settings(""), self.solved()?);
        serde_json::to_string(&PlanJson::new(&settings, &solved)).map_err(|error| Failure::other(error, ""))
    }
}

/// Title, columns, rows, remarks and text of the table, and one dictionary for each scheme.
pub(super) fn compare(py: Python<'_>, plan: &PyPlan, source: &str) -> PyResult<Py<PyAny>> {
    costs::needed(plan.are_costs_known.then_some(()))?;
    let settings = plan.settings(source);
    let comparison = py.detach(|| Comparison::new(&settings, |_| ()));
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = comparison.write(&mut text);
    let (columns, rows) = cells(&comparison.table());
    let entries = comparison.entries.iter().map(|(scheme, entry)| {
        let dict = PyDict::new(py);
        dict.set_item("scheme", scheme.to_string())?;
        match entry {
            Ok(solved) => describe(&dict, solved)?,
            Err(refusal) => {
                dict.set_item("status", refusal.status)?;
                dict.set_item("error", &refusal.problem)?;
                dict.set_item("remedy", &refusal.hint)?;
            }
        }
        Ok(dict)
    });
    let entries = entries.collect::<PyResult<Vec<_>>>()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let answer = (comparison.title(), columns, rows, comparison.remarks(), text, entries);
    Ok(answer.into_pyobject(py)?.into_any().unbind())
}

/// The numbers of a scheme that has a plan.
fn describe(dict: &Bound<'_, PyDict>, solved: &SolvedPlan<'_>) -> PyResult<()> {
    let evaluation = &solved.outlook.evaluation;
    let round = evaluation.round_secs.map(|round| round.mean);
    dict.set_item("status", solved.plan.status().name())?;
    dict.set_item("expected_participants", evaluation.expected_participants)?;
    dict.set_item("sampling_variance", evaluation.sampling_variance)?;
    dict.set_item("rounds", evaluation.rounds)?;
    dict.set_item("round_secs", round.map(|round| round.mean))?;
    dict.set_item("round_secs_error", round.map(|round| round.std_error))?;
    dict.set_item("total_secs", evaluation.total_secs)?;
    dict.set_item("objective_p2_secs", evaluation.objective_p2)?;
    dict.set_item("optimality_gap", solved.outlook.optimality_gap)?;
    dict.set_item("solve_secs", solved.solve_secs)?;
    dict.set_item("warnings", &solved.warnings)
}
