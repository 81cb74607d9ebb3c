//! How the server turns the sum of the updates into the next model.

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::{Adaptive, Rule};

/// How the next model follows from the present one and the sum of the updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    pub kind: Kind,
    /// Settings that the kind does not use have its defaults.
    pub step: f64,
    pub momentum: f64,
    pub second_moment: f64,
    pub epsilon: f64,
    /// The factor γ of the moving average of models; 0 means no average.
    pub averaging: f64,
    /// The largest norm of an update on real devices; without one, a trial decides. No kind uses it.
    pub update_norm_max: Option<f64>,
}

/// The server's update rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    None,
    Momentum,
    Adam,
    Yogi,
}

impl Kind {
    /// Whether the rule divides by the root of a second moment.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::Adam | Self::Yogi)
    }

    /// The default settings of this kind.
    pub fn server(self) -> Server {
        let (step, momentum) = match self {
            Self::None => (1.0, 0.0),
            Self::Momentum => (1.0, 0.5),
            Self::Adam | Self::Yogi => (0.01, 0.9),
        };
        Server {
            kind: self,
            step,
            momentum,
            second_moment: 0.99,
            epsilon: 1e-3,
            averaging: 0.0,
            update_norm_max: None,
        }
    }
}

impl Server {
    /// The paper's rule: the sum is added to the model.
    pub fn paper() -> Self {
        Kind::None.server()
    }

    /// The optimiser of the engine with these settings.
    pub fn optimiser(&self) -> Optimiser {
        let Self { kind, step, momentum, second_moment, epsilon, averaging, .. } = *self;
        let adaptive = Adaptive { step, momentum, second_moment, epsilon };
        let rule = match kind {
            Kind::None => Rule::None,
            Kind::Momentum => Rule::Momentum { step, momentum },
            Kind::Adam => Rule::Adam(adaptive),
            Kind::Yogi => Rule::Yogi(adaptive),
        };
        Optimiser { rule, averaging }
    }
}
