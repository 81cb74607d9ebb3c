//! The ways to choose q, by name.

use std::fmt;
use std::str::FromStr;

use fedflip_fleet::{Probability, nearest};

use crate::error::PlanError;

/// How q is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// P2's optimum for a β that needs no pilots: as much noise as training is known to bear.
    Auto,
    /// The global optimum of P2.
    Exact,
    /// The global optimum of P3, the paper's surrogate, in closed form.
    Paper,
    /// Algorithm 2 as printed: a line search over M with a convex program inside.
    PaperLinesearch,
    /// Theorem 2's first bound instead of Σ q c.
    Tight,
    /// E[T̂] itself, by common random numbers.
    Sampled,
    /// q = 1.
    Full,
    /// The same q for all.
    Fixed(Probability),
    /// q = 1/N.
    Uniform,
    /// q_n = a_n.
    Weighted,
}

impl Scheme {
    /// All of them, `fixed` with the paper's 0.2: the rows of a comparison.
    pub const ALL: [Self; 10] = [
        Self::Auto,
        Self::Exact,
        Self::Paper,
        Self::PaperLinesearch,
        Self::Tight,
        Self::Sampled,
        Self::Full,
        Self::Fixed(Probability::ONE_FIFTH),
        Self::Uniform,
        Self::Weighted,
    ];

    /// Whether q is given rather than optimised.
    pub fn is_baseline(self) -> bool {
        matches!(self, Self::Full | Self::Fixed(_) | Self::Uniform | Self::Weighted)
    }

    /// Whether q depends on α or β, and so on pilots.
    pub fn needs_constants(self) -> bool {
        !self.is_baseline() && self != Self::Auto
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Auto => "auto",
            Self::Exact => "exact",
            Self::Paper => "paper",
            Self::PaperLinesearch => "paper-linesearch",
            Self::Tight => "tight",
            Self::Sampled => "sampled",
            Self::Full => "full",
            Self::Fixed(q) => return write!(f, "fixed={}", q.get()),
            Self::Uniform => "uniform",
            Self::Weighted => "weighted",
        };
        f.pad(name)
    }
}

impl FromStr for Scheme {
    type Err = PlanError;

    fn from_str(text: &str) -> Result<Self, PlanError> {
        if let Some(value) = text.strip_prefix("fixed=") {
            let q = value.parse().ok().and_then(|q| Probability::new(q).ok());
            return q.map(Self::Fixed).ok_or_else(|| PlanError::UnknownScheme {
                text: text.to_owned(),
                hint: format!("after fixed= comes {}, such as fixed=0.2", Probability::WANTED),
            });
        }
        let named = Self::ALL.into_iter().find(|scheme| scheme.to_string() == text);
        named.ok_or_else(|| PlanError::UnknownScheme { text: text.to_owned(), hint: hint(text) })
    }
}

fn hint(text: &str) -> String {
    let names = Scheme::ALL.map(|scheme| scheme.to_string());
    match nearest(text, &names) {
        Some(name) => format!("did you mean {name}?"),
        None => format!("the schemes are {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        assert_eq!("fixed=1".parse(), Ok(Scheme::Fixed(Probability::ONE)));
    }

    #[test]
    fn wrong_names_get_the_nearest_right_one() {
        let hint = |text: &str| text.parse::<Scheme>().map_err(|error| error.hint()).unwrap_err();
        assert_eq!(hint("exat"), "did you mean exact?");
        assert_eq!(hint("paper_linesearch"), "did you mean paper-linesearch?");
        assert_eq!(hint("fixed"), "did you mean fixed=0.2?");
        assert!(hint("oort").starts_with("the schemes are auto, exact, paper"));
        for wrong in ["fixed=0", "fixed=1.2", "fixed=", "fixed=NaN", "fixed=x"] {
            assert!(hint(wrong).contains("fixed=0.2"), "{wrong}");
        }
    }
}
