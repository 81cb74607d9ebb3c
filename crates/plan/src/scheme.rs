//! The sampling schemes: one row per scheme, from which names, help and predicates come. `names`: how a scheme is written.

mod names;

use fedflip_fleet::Probability;

use crate::custom::CustomScheme;
use crate::given::GivenQ;
use crate::method::Method;
use crate::methods::{
    baseline, best, custom, fedavg, fedbuff, luo, multinomial, ocs, oort, planned, power_of_choice,
};
use crate::needs::Needs;
use crate::parameter::{CohortSize, Factor, Parameter};

/// What is known about a scheme besides how it computes q.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The name in scenarios, records and on the command line; of a scheme with a file, the part before the file's name.
    pub name: &'static str,
    /// One sentence for help texts.
    pub summary: &'static str,
    /// Why the participation probabilities are what they are, as a sentence.
    pub rule: &'static str,
    /// The inputs besides the fleet and the bandwidth.
    pub needs: Needs,
}

/// Declares [`Scheme`], [`Scheme::ALL`], [`Scheme::describe`] and [`Scheme::method`] from one row per scheme.
macro_rules! schemes {
    (by rule { $($(#[doc = $doc:literal])*
        $variant:ident $(($parameter:ident: $kind:ty = $example:expr))? by $method:path: $needs:ident,
        $name:literal, $summary:literal, $rule:literal;)* }
    by file { $($(#[doc = $file_doc:literal])*
        $file:ident($rows:ident: $rows_kind:ty = $file_example:literal) by $file_method:path: $file_needs:ident,
        $file_name:literal, $file_summary:literal, $file_rule:literal;)* }) => {
        /// How the participation probabilities q are chosen, and how cohorts are drawn.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Scheme {
            $($(#[doc = $doc])* $variant $(($kind))?,)*
            $($(#[doc = $file_doc])* $file($rows_kind),)*
        }

        impl Scheme {
            /// Every scheme that needs no file, those with a parameter with an example of it.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant $(($example))?),*];

            /// The rows of the schemes that need a file, each with an example.
            const BY_FILE: [(&str, &Description); [$($file_name),*].len()] = [$(($file_example, &Description {
                name: $file_name,
                summary: $file_summary,
                rule: $file_rule,
                needs: Needs::$file_needs,
            })),*];

            /// The scheme's row of the table.
            pub const fn describe(&self) -> &'static Description {
                match self {
                    $(Self::$variant { .. } => &Description {
                        name: $name,
                        summary: $summary,
                        rule: $rule,
                        needs: Needs::$needs,
                    },)*
                    $(Self::$file(_) => &Description {
                        name: $file_name,
                        summary: $file_summary,
                        rule: $file_rule,
                        needs: Needs::$file_needs,
                    },)*
                }
            }

            /// How the scheme chooses q and draws cohorts.
            pub fn method(&self) -> Box<dyn Method + '_> {
                match self {
                    $(Self::$variant $(($parameter))? => Box::new($method $((*$parameter))?),)*
                    $(Self::$file($rows) => Box::new($file_method($rows.clone())),)*
                }
            }

            /// The parameter as it is written behind the name.
            fn parameter(&self) -> Option<String> {
                match self {
                    $($(Self::$variant($parameter) => Some($parameter.to_string()),)?)*
                    _ => None,
                }
            }

            /// The scheme of a row with a parameter: none if the text begins with no such row's name, and otherwise what the
            /// parameter should be if it is not right.
            fn with_parameter(text: &str) -> Option<Result<Self, (&'static str, &'static str)>> {
                let (name, value) = text.split_once('=')?;
                $($(if name == $name.trim_end_matches('=') {
                    let wanted = <$kind as Parameter>::WANTED;
                    let $parameter = <$kind as Parameter>::read(value);
                    return Some($parameter.map(Self::$variant).ok_or(($name, wanted)));
                })?)*
                None
            }
        }
    };
}

schemes! {
by rule {
    /// Shortest rounds by Theorem 2's first bound, for a given sampling variance.
    Auto by planned::Auto: Variance, "auto",
        "Plan the shortest rounds for a given sampling variance; needs no pilots.",
        "q follows auto-linear, but a compute time counts only where it makes the slowest device of the round slower.";
    /// P2's optimum for a given sampling variance.
    AutoLinear by planned::AutoLinear: Variance, "auto-linear",
        "Plan the fewest device seconds for a given sampling variance; needs no pilots.",
        "q follows the same rule as exact, for the given sampling variance instead of half the β of pilots.";
    /// The global optimum of P2.
    Exact by planned::Exact: Constants, "exact",
        "Solve the paper's P2 exactly, without the floor on q that only P3 needs.",
        "q = a·√(ρ/c) up to the cap: twice the data, twice as often; four times the cost c = t/f + τ, half as often.";
    /// The global optimum of P3, the paper's surrogate, in closed form.
    Paper by planned::Paper: Constants, "paper",
        "Solve P3, the paper's convex surrogate of P2, in closed form.",
        "q = lo + s·√(lo/c) up to the cap, lo = a²N/β: the paper's surrogate keeps every device above its floor lo.";
    /// Solves P3 by Algorithm 2 as printed.
    PaperLinesearch by planned::PaperLinesearch: Constants, "paper-linesearch",
        "Solve P3 by Algorithm 2 as printed: a line search over convex programs.",
        "q = lo + s·√(lo/c) up to the cap, lo = a²N/β: the paper's surrogate keeps every device above its floor lo.";
    /// Solves P2 with Theorem 2's first bound instead of Σ q c.
    Tight by planned::Tight: Constants, "tight",
        "Solve P2 with Theorem 2's first bound on the round time.",
        "q follows exact, but a compute time counts only where it makes the slowest device of the round slower.";
    /// Solves P2 with E[T̂] itself, estimated by common random numbers.
    Sampled by planned::Sampled: Constants, "sampled",
        "Solve P2 with the mean round time itself, estimated by common random numbers.",
        "q follows exact, but a device costs what its presence adds to the mean round time.";
    /// Every device has q = 1.
    Full by baseline::Full: Nothing, "full",
        "Baseline: every device takes part in every round.",
        "Every device takes part whenever it is available; rounds are fewest and longest.";
    /// The same q for every device.
    Fixed(q: Probability = Probability::ONE_FIFTH) by baseline::Fixed: Nothing, "fixed",
        "Baseline fixed=Q: every device takes part with probability Q.",
        "Every device has the same q, whatever it costs or holds.";
    /// Every device has q = 1/N.
    Uniform by baseline::Uniform: Nothing, "uniform",
        "Baseline: every device takes part with probability 1/N.",
        "Every device has the same q, whatever it costs or holds.";
    /// Every device has its share of the data as probability: q_n = a_n.
    Weighted by baseline::Weighted: Nothing, "weighted",
        "Baseline: every device takes part with its share of the data as probability.",
        "q is the share of the data, whatever a device costs.";
    /// The best constant q for the goal.
    BestFixed by best::BestFixed: Goal, "fixed=best",
        "Every device takes part with the same probability, the best one for the goal.",
        "Every device has the same q: the one with the least time to the goal under Theorem 2's first bound.";
    /// Every device has q_n = min(1, M a_n).
    WeightedBy(factor: Factor = Factor::TWO) by baseline::WeightedBy: Nothing, "weighted=",
        "weighted=M: every device takes part with M times its share of the data as probability.",
        "q is a multiple of the share of the data, up to 1, whatever a device costs.";
    /// The best multiple of the data shares for the goal.
    BestWeighted by best::BestWeighted: Goal, "weighted=best",
        "Every device takes part with a multiple of its share of the data, the best one for the goal.",
        "q is a multiple of the share of the data: the one with the least time to the goal under Theorem 2's first bound.";
    /// Draws K of N without replacement, and takes the weighted mean of their updates.
    FedAvg(size: CohortSize = CohortSize::TEN) by fedavg::FedAvg: Nothing, "fedavg",
        "fedavg=K: draw K devices without replacement; take the weighted mean of their updates (biased).",
        "Every cohort of K devices is equally likely; q is K/N, and the weighted mean of a cohort is biased.";
    /// Draws K of N without replacement, and takes the unbiased sum of their updates.
    FedAvgUnbiased(size: CohortSize = CohortSize::TEN) by fedavg::FedAvgUnbiased: Nothing, "fedavg-unbiased",
        "fedavg-unbiased=K: draw K devices without replacement; each update has the weight a·N/K.",
        "Every cohort of K devices is equally likely; q is K/N.";
    /// Draws K times with replacement by share of the data.
    Multinomial(size: CohortSize = CohortSize::TEN) by multinomial::Multinomial: Nothing, "multinomial",
        "multinomial=K: draw K times with replacement by share of the data; take the mean of the draws.",
        "q is the probability to be among K draws by share of the data.";
    /// Draws K times with replacement by optimised probabilities.
    Luo(size: CohortSize = CohortSize::TEN) by luo::LuoDraws: Costs, "luo",
        "luo=K: draw K times with replacement, with the probabilities that Luo et al. optimise.",
        "q is the probability to be among K draws, each in proportion to a·G/√(λc − B): more data, larger gradients, lower cost.";
    /// Flips coins whose probabilities follow from the norms of updates.
    Ocs(size: CohortSize = CohortSize::TEN) by ocs::Ocs: Nothing, "ocs",
        "ocs=M: all devices train; M on average upload, chosen by the norm of their updates.",
        "q is that of equally long updates: the share of the data, up to 1; the norms of a round decide.";
    /// Flips coins as `Ocs` does, while the server learns only sums of the norms.
    OcsApprox(size: CohortSize = CohortSize::TEN) by ocs::OcsApprox: Nothing, "ocs-approx",
        "ocs-approx=M: sample as ocs=M, but the server learns only sums of the norms.",
        "q is that of equally long updates: the share of the data, up to 1; the norms of a round decide.";
    /// Takes the largest losses among candidates that are drawn by share of the data.
    PowerOfChoice(size: CohortSize = CohortSize::TEN) by power_of_choice::PowerOfChoice: Nothing, "power-of-choice",
        "power-of-choice=K: take the K largest losses of 2K candidates and the mean of their updates (biased).",
        "q is that of equal losses, roughly the share of the data, up to 1; the losses of a round decide.";
    /// Chooses devices by utility and speed, as earlier rounds showed them.
    Oort(size: CohortSize = CohortSize::TEN) by oort::Oort: Nothing, "oort",
        "oort=K: choose K fast devices with large losses; take the mean of their updates (biased).",
        "q is that of equally useful devices, K/N; losses and times of earlier rounds decide.";
    /// Trains without rounds: the server steps after every K updates.
    FedBuff(updates: CohortSize = CohortSize::TEN) by fedbuff::FedBuff: Nothing, "fedbuff",
        "fedbuff=K: train without rounds; the server steps after every K updates, stale ones count less (biased).",
        "Devices are drawn uniformly and fast ones deliver more often; K/N is the mean over all devices.";
}
by file {
    /// Reads q from a file, by the names of the devices.
    File(rows: GivenQ = "file=q.csv") by baseline::File: Nothing, "file=",
        "Read your own plan from a CSV file with the columns device,q.",
        "q is that of the file, up to the cap.";
    /// A sampling scheme of the calling program.
    Custom(own: CustomScheme = "custom=name") by custom::Custom: Nothing, "custom=",
        "Use a scheme of your own program: a Python callable or a Rust type.",
        "The program draws cohorts and weights; q is what it declares.";
}
}

/// What comes before the name of a file.
const FILE_PREFIX: &str = "file=";
/// What comes before the name of a program's scheme.
const CUSTOM_PREFIX: &str = "custom=";

impl Scheme {
    /// Every row of the table, with an example of the name as a person writes it.
    pub fn table() -> impl Iterator<Item = (String, &'static Description)> {
        let by_rule = Self::ALL.into_iter().map(|scheme| (scheme.to_string(), scheme.describe()));
        by_rule.chain(Self::BY_FILE.map(|(example, row)| (example.to_owned(), row)))
    }

    /// The examples of all schemes, for hints: `auto, exact, …`.
    pub fn examples() -> String {
        Self::table().map(|(example, _)| example).collect::<Vec<_>>().join(", ")
    }

    /// NAME of `file=NAME`. The caller reads this file into [`GivenQ`], because planning does no I/O.
    pub fn file_name(text: &str) -> Option<&str> {
        text.strip_prefix(FILE_PREFIX).filter(|name| !name.is_empty())
    }

    /// The probabilities of a file, if the scheme has one.
    pub fn given(&self) -> Option<&GivenQ> {
        if let Self::File(given) = self { Some(given) } else { None }
    }

    /// Whether the program that draws the cohorts promises that the sum is unbiased; none of fedflip's own schemes, and none
    /// without the program.
    pub fn promises_unbiased(&self) -> Option<bool> {
        let Self::Custom(scheme) = self else { return None };
        scheme.sampling().ok().map(|sampling| sampling.is_unbiased())
    }

    /// The same scheme for a fleet that lacks some of the devices that a file names: they have not enrolled yet, or take
    /// no part.
    #[must_use]
    pub fn allowing_absent(&self) -> Self {
        if let Self::File(given) = self { Self::File(given.allowing_absent()) } else { self.clone() }
    }

    /// Whether q follows a fixed rule or a file instead of being optimised.
    pub fn is_baseline(&self) -> bool {
        self.describe().needs == Needs::Nothing
    }

    /// Whether q depends on α and β, which pilots measure.
    pub fn needs_constants(&self) -> bool {
        matches!(self.describe().needs, Needs::Constants | Needs::Goal)
    }

    /// Whether q is planned for a given sampling variance.
    pub fn needs_variance(&self) -> bool {
        self.describe().needs == Needs::Variance
    }

    /// Whether q minimises the time to the goal under Theorem 2's first bound, so that [`crate::optimality_gap`] says how
    /// good it is.
    pub fn minimises_first_bound(&self) -> bool {
        matches!(self, Self::Auto | Self::Tight)
    }

    /// Whether q is found by a line search, whose step can be chosen and which takes minutes for many devices.
    pub fn has_line_search(&self) -> bool {
        matches!(self, Self::PaperLinesearch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::PlanError;

    #[test]
    fn names_read_back() {
        for scheme in Scheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
        }
        assert_eq!("fixed=1".parse(), Ok(Scheme::Fixed(Probability::ONE)));
        assert_eq!("fedavg=7".parse(), Ok(Scheme::FedAvg(CohortSize::new(7).unwrap())));
        assert_eq!("weighted=0.5".parse::<Scheme>().unwrap().to_string(), "weighted=0.5");
        assert_eq!("fixed=best".parse(), Ok(Scheme::BestFixed));
    }

    #[test]
    fn a_scheme_with_a_file_is_called_by_it_and_needs_its_rows() {
        assert_eq!(Scheme::file_name("file=a/q.csv"), Some("a/q.csv"));
        assert_eq!(["file=", "file", "full"].map(Scheme::file_name), [None; 3]);
        let given = GivenQ::read("device,q\na,0.5\n".as_bytes(), "a/q.csv", "q.csv").unwrap();
        let scheme = Scheme::File(given.clone());
        assert_eq!(scheme.to_string(), "file=a/q.csv");
        assert_eq!((scheme.given(), Scheme::Full.given()), (Some(&given), None));
        assert!(scheme.is_baseline() && scheme.describe().name == FILE_PREFIX);
        let unread = PlanError::FileNotRead { text: "file=a/q.csv".to_owned() };
        assert_eq!("file=a/q.csv".parse::<Scheme>(), Err(unread));
    }

    #[test]
    fn every_row_has_a_name_of_its_own_and_full_sentences() {
        let mut names: Vec<&str> = Scheme::table().map(|(_, row)| row.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        for (example, Description { name, summary, rule, .. }) in Scheme::table() {
            assert!(summary.ends_with('.') && rule.ends_with('.'), "{example}");
            assert!(example.starts_with(name), "{example} {name}");
        }
    }

    #[test]
    fn wrong_names_get_the_nearest_right_one() {
        let hint = |text: &str| text.parse::<Scheme>().map_err(|error| error.hint()).unwrap_err();
        assert_eq!(hint("exat"), "did you mean exact?");
        assert_eq!(hint("paper_linesearch"), "did you mean paper-linesearch?");
        assert_eq!(hint("fixed"), "did you mean fixed=0.2?");
        assert_eq!(hint("file"), "did you mean file=q.csv?");
        assert!(hint("file=").starts_with("after file= comes the name of a CSV file"));
        assert!(hint("zzz").starts_with("the schemes are auto, auto-linear, exact"));
        assert_eq!(hint("oort"), "did you mean oort=10?");
        for wrong in ["fixed=0", "fixed=1.2", "fixed=", "fixed=NaN", "fixed=x"] {
            assert!(hint(wrong).contains("such as 0.2"), "{wrong}");
        }
        for wrong in
            ["fedavg=0", "fedavg=-1", "fedavg=1.5", "multinomial=", "oort=0", "ocs=-2", "power-of-choice=x"]
        {
            assert!(hint(wrong).contains("a number of devices, such as 10"), "{wrong}");
        }
        for wrong in ["weighted=0", "weighted=NaN", "weighted=bset"] {
            assert!(hint(wrong).contains("a number above 0"), "{wrong}");
        }
    }
}
