//! All that can keep a report from being made.

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// None of the folders has a run to show.
    #[error("{folders}: no readable run in the folder or below")]
    NoRuns {
        /// Those that were named.
        folders: String,
        /// What was found instead, a line each.
        problems: Vec<String>,
    },
    /// Ratios to a scheme that no run has.
    #[error("none of these runs has the scheme {scheme}")]
    NoSuchScheme {
        /// As it was asked for.
        scheme: String,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// Those that there are.
        known: Vec<String>,
    },
    /// Times to a metric that no run has.
    #[error("none of these runs has the metric {metric}")]
    NoSuchMetric {
        /// As it was asked for.
        metric: String,
        /// The one that was probably meant.
        nearest: Option<String>,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A target outside the values of its metric.
    #[error("the target is {at}, and {metric} is a share")]
    NoShare {
        /// The metric as the runs declare it.
        metric: String,
        /// The value that was asked for.
        at: f64,
    },
    /// A figure that cannot be turned into pixels.
    #[error("the figure {name} cannot be drawn: {problem}")]
    Draw {
        /// The name of the figure.
        name: String,
        /// As the library says.
        problem: String,
    },
}
