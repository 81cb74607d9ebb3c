//! The inputs of the sampling schemes besides the fleet.

/// What a scheme needs to choose q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing besides the fleet: q follows a fixed rule, as in the paper's baselines, or a file.
    Nothing,
    /// What rounds cost, and nothing else that has to be given.
    Costs,
    /// The sampling variance to plan for.
    Variance,
    /// The constants α and β of the round model.
    Constants,
    /// A goal: α and β where they are known, and otherwise a sampling variance.
    Goal,
}
