//! What a page can offer in its controls, from the planner's own tables.

use fedflip_fleet::profiles::PROFILES;
use fedflip_plan::{DEFAULT_VARIANCE, Needs, Scheme, VARIANCE_RANGE};
use serde::Serialize;

/// Everything that a page needs to build its controls.
#[derive(Serialize)]
pub(crate) struct Catalogue {
    version: &'static str,
    schemes: Vec<SchemeRow>,
    profiles: Vec<ProfileRow>,
    variance: f64,
    variance_range: [f64; 2],
}

#[derive(Serialize)]
struct SchemeRow {
    /// The name, with an example of a parameter where there is one.
    example: String,
    summary: &'static str,
    /// Whether it plans for a sampling variance, and whether it does where α and β are unknown.
    needs_variance: bool,
    needs_goal: bool,
}

#[derive(Serialize)]
struct ProfileRow {
    name: &'static str,
    about: &'static str,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            schemes: Scheme::ALL.iter().filter(|scheme| is_offered(scheme)).map(SchemeRow::new).collect(),
            profiles: PROFILES.iter().map(|row| ProfileRow { name: row.name, about: row.about }).collect(),
            variance: DEFAULT_VARIANCE,
            variance_range: [*VARIANCE_RANGE.start(), *VARIANCE_RANGE.end()],
        }
    }
}

impl SchemeRow {
    fn new(scheme: &Scheme) -> Self {
        let row = scheme.describe();
        Self {
            example: scheme.to_string(),
            summary: row.summary,
            needs_variance: row.needs == Needs::Variance,
            needs_goal: row.needs == Needs::Goal,
        }
    }
}

/// Whether a page can plan by the scheme: it has rounds, and does without the large solver of the line search.
fn is_offered(scheme: &Scheme) -> bool {
    scheme.method().buffer().is_none() && !scheme.has_line_search()
}
