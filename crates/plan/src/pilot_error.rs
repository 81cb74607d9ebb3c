//! What can be wrong with pilots.

use crate::error::short;
use crate::scheme::Scheme;

/// Why pilots do not determine α and β.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PilotError {
    /// Two unknowns need two pilots.
    #[error("α and β need two pilots or more, and there is {given}")]
    TooFew {
        /// The number of pilots.
        given: usize,
    },
    /// A pilot under a scheme that has no q yet.
    #[error("a pilot under {scheme} has no q before α and β are known")]
    NotABaseline {
        /// The scheme that was asked for.
        scheme: Scheme,
    },
    /// A pilot that did not reach the loss F_s.
    #[error("the pilot under {scheme} gave up after {rounds} rounds")]
    GaveUp {
        /// The scheme that was asked for.
        scheme: Scheme,
        /// The rounds that it ran.
        rounds: f64,
    },
    /// A fleet of one, which is the same under every scheme.
    #[error("with one device every scheme is full participation")]
    OneDevice,
    /// Pilots that are one point of the line instead of two.
    #[error("all pilots have the same sampling variance Σ a²/q = {}", short(*.variance))]
    SameVariance {
        /// Σ a²/q of all of them.
        variance: f64,
    },
    /// Pilots that took fewer rounds although their variance was larger.
    #[error("rounds do not grow with the sampling variance ({means})")]
    NotSlower {
        /// The mean rounds at each variance, in words.
        means: String,
    },
    /// A fit under which one of the pilots could not have ended.
    #[error(
        "the fitted β = {} means that Σ a²/q = {} never reaches F_s, yet a pilot did in {rounds} rounds",
        short(*.beta), short(*.variance)
    )]
    Contradiction {
        /// The β that was fitted.
        beta: f64,
        /// Σ a²/q of the pilot.
        variance: f64,
        /// The rounds that it took.
        rounds: f64,
    },
}

impl PilotError {
    /// What the caller can change to avoid this error.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::TooFew { .. } => "run two pilots or more, for example one under uniform and one under full",
            Self::NotABaseline { .. } => "run pilots under full, uniform, weighted or fixed=Q",
            Self::GaveUp { .. } => "choose a loss F_s that is easier to reach, or let the pilot run longer",
            Self::OneDevice => "a single device needs no plan: its q is 1, or its availability",
            Self::SameVariance { .. } => {
                "run pilots under schemes that differ in how many devices take part, such as uniform and full"
            }
            Self::NotSlower { .. } => {
                "the pilots were too short or varied too much: choose a lower loss F_s, or average over more seeds"
            }
            Self::Contradiction { .. } => {
                "the pilots contradict each other: average each over more seeds, or leave out the one that differs"
            }
        }
    }
}
