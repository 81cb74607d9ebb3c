//! What the server does with the sum of the updates.

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::{Adaptive, Rule};

/// How a model comes of the model before and the sum of the updates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Server {
    pub kind: Kind,
    /// Of what matters to the kind; all else is its default.
    pub step: f64,
    pub momentum: f64,
    pub second_moment: f64,
    pub epsilon: f64,
    /// 0 is no average.
    pub averaging: f64,
    /// On real devices, the largest norm of an update; none is what a trial says. Of no matter to the kind.
    pub update_norm_max: Option<f64>,
}

/// The rules there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    None,
    Momentum,
    Adam,
    Yogi,
}

impl Kind {
    /// Whether it divides by the root of squares.
    pub fn is_adaptive(self) -> bool {
        matches!(self, Self::Adam | Self::Yogi)
    }

    /// With the defaults of this kind.
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
    /// The paper's: the sum is added to the model.
    pub fn paper() -> Self {
        Kind::None.server()
    }

    /// As the engine has it.
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
