//! How Algorithm 2 goes through the values of M.

/// How `paper-linesearch` chooses the values of M = Σ q c.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Search {
    /// As printed: one value every ε seconds, and the best of these.
    AsPrinted {
        /// The step ε of the line search, in seconds.
        step_secs: f64,
    },
    /// Equally spaced values, then ever finer steps around the best.
    Refined {
        /// The number of values in the first pass.
        values: usize,
    },
}

impl Default for Search {
    fn default() -> Self {
        Self::Refined { values: 200 }
    }
}
