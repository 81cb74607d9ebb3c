//! Which sum of the updates a round makes.

/// How the updates of a round become one step of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Aggregation {
    /// Every update is weighted by a/q, which makes the sum unbiased for any q.
    #[default]
    Unbiased,
    /// Every update counts one over the size of the cohort, as in the code of the paper's authors. There, a/q is a
    /// factor of the device's learning rate instead, which the world applies.
    CohortMean,
    /// Every update is shortened to a norm limit before it is weighted by a/q. The sum is biased.
    Clipped(Clip),
    /// In every coordinate the largest and the smallest of the weighted updates are left out. The sum is biased.
    Trimmed {
        /// The share of the cohort that is left out at either end.
        share: f64,
        /// The limit for rounds with too few updates to leave any out.
        clip: Clip,
    },
}

/// How long an update may be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Clip {
    /// As long as updates usually are: the median over past rounds, see [`crate::norms`].
    #[default]
    Auto,
    /// At most this norm.
    Norm(f64),
}

impl Aggregation {
    /// The share that [`Self::Trimmed`] leaves out at either end unless the run says otherwise.
    pub const TRIM: f64 = 0.1;

    /// What the rule is called, if it limits what a single update can do. Such a sum is biased.
    pub fn robust_name(&self) -> Option<&'static str> {
        match self {
            Self::Unbiased | Self::CohortMean => None,
            Self::Clipped(_) => Some("clipped"),
            Self::Trimmed { .. } => Some("trimmed"),
        }
    }

    /// Whether the rule needs to know how long the updates of past rounds were.
    pub fn remembers_norms(&self) -> bool {
        matches!(self, Self::Clipped(Clip::Auto) | Self::Trimmed { clip: Clip::Auto, .. })
    }
}
