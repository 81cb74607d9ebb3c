//! The sampling schemes: one row per scheme, from which names, help and predicates come.

use std::fmt;
use std::str::FromStr;

use fedflip_fleet::{Probability, nearest};

use crate::error::PlanError;

/// What a scheme needs to choose q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing besides the fleet: q follows a fixed rule, as in the paper's baselines.
    Nothing,
    /// The sampling variance to plan for.
    Variance,
    /// The constants α and β of the round model.
    Constants,
}

/// What is known about a scheme besides how it computes q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name in scenarios, records and on the command line.
    pub name: &'static str,
    /// One sentence for help texts.
    pub summary: &'static str,
    /// Why the participation probabilities are what they are, as a sentence.
    pub rule: &'static str,
    /// The inputs besides the fleet and the bandwidth.
    pub needs: Needs,
}

/// Declares [`Scheme`], [`Scheme::ALL`] and [`Scheme::describe`] from one row per scheme.
macro_rules! schemes {
    ($($(#[doc = $doc:literal])* $variant:ident $(($parameter:ty = $example:expr))?: $needs:ident, $name:literal,
        $summary:literal, $rule:literal;)*) => {
        /// How the participation probabilities q are chosen.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Scheme {
            $($(#[doc = $doc])* $variant $(($parameter))?,)*
        }

        impl Scheme {
            /// Every scheme, those with a parameter with the paper's value for it.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant $(($example))?),*];

            /// The scheme's row of the table.
            pub const fn describe(self) -> &'static Description {
                match self {
                    $(Self::$variant { .. } => &Description {
                        name: $name,
                        summary: $summary,
                        rule: $rule,
                        needs: Needs::$needs,
                    },)*
                }
            }
        }
    };
}

schemes! {
    /// P2's optimum for a given sampling variance.
    Auto: Variance, "auto",
        "Spend the fewest device seconds for a given sampling variance; needs no pilots.",
        "q follows the same rule as exact, for the given sampling variance instead of half the β of pilots.";
    /// The global optimum of P2.
    Exact: Constants, "exact",
        "Solve the paper's P2 exactly, without the floor on q that only P3 needs.",
        "q = a·√(ρ/c) up to the cap: twice the data, twice as often; four times the cost c = t/f + τ, half as often.";
    /// The global optimum of P3, the paper's surrogate, in closed form.
    Paper: Constants, "paper",
        "Solve P3, the paper's convex surrogate of P2, in closed form.",
        "q = lo + s·√(lo/c) up to the cap, lo = a²N/β: the paper's surrogate keeps every device above its floor lo.";
    /// P3 by Algorithm 2 as printed.
    PaperLinesearch: Constants, "paper-linesearch",
        "Solve P3 by Algorithm 2 as printed: a line search over convex programs.",
        "q = lo + s·√(lo/c) up to the cap, lo = a²N/β: the paper's surrogate keeps every device above its floor lo.";
    /// P2 with Theorem 2's first bound instead of Σ q c.
    Tight: Constants, "tight",
        "Solve P2 with Theorem 2's first bound on the round time.",
        "q follows exact, but a compute time counts only where it makes the slowest device of the round slower.";
    /// P2 with E[T̂] itself, by common random numbers.
    Sampled: Constants, "sampled",
        "Solve P2 with the mean round time itself, estimated by common random numbers.",
        "q follows exact, but a device costs what its presence adds to the mean round time.";
    /// q = 1.
    Full: Nothing, "full",
        "Baseline: every device takes part in every round.",
        "Every device takes part whenever it is available: the fewest rounds, the longest ones.";
    /// The same q for every device.
    Fixed(Probability = Probability::ONE_FIFTH): Nothing, "fixed",
        "Baseline fixed=Q: every device takes part with probability Q.",
        "Every device has the same q, whatever it costs or holds.";
    /// q = 1/N.
    Uniform: Nothing, "uniform",
        "Baseline: every device takes part with probability 1/N.",
        "Every device has the same q, whatever it costs or holds.";
    /// q_n = a_n.
    Weighted: Nothing, "weighted",
        "Baseline: every device takes part with its share of the data as probability.",
        "q is the share of the data, whatever a device costs.";
}

impl Scheme {
    /// Whether q follows a fixed rule instead of being optimised.
    pub fn is_baseline(self) -> bool {
        self.describe().needs == Needs::Nothing
    }

    /// Whether q depends on α and β, which pilots measure.
    pub fn needs_constants(self) -> bool {
        self.describe().needs == Needs::Constants
    }

    /// Whether q is planned for a given sampling variance.
    pub fn needs_variance(self) -> bool {
        self.describe().needs == Needs::Variance
    }

    /// Whether q is found by a line search, whose step can be chosen and which takes minutes for many devices.
    pub fn has_line_search(self) -> bool {
        matches!(self, Self::PaperLinesearch)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(q) => write!(f, "{}={}", self.describe().name, q.get()),
            _ => f.pad(self.describe().name),
        }
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
    fn every_row_has_a_name_of_its_own_and_full_sentences() {
        let mut names = Scheme::ALL.map(|scheme| scheme.describe().name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for scheme in Scheme::ALL {
            let Description { summary, rule, .. } = scheme.describe();
            assert!(summary.ends_with('.') && rule.ends_with('.'), "{scheme}");
        }
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
