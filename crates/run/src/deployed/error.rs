//! What keeps a scenario from being served to devices.

use fedflip_net::wire::limits::SUMS_MAX;
use fedflip_plan::Scheme;

/// Why a scenario cannot be served as it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// A scheme without rounds.
    #[error("plan.scheme: {scheme} has no rounds, and a server with real devices works in rounds")]
    NoRounds {
        /// The scheme of the scenario.
        scheme: Scheme,
    },
    /// A scheme whose server draws cohorts.
    #[error("plan.scheme: {scheme} draws cohorts on the server, and real devices flip their own coins")]
    DrawsCohorts {
        /// The scheme of the scenario.
        scheme: Scheme,
    },
    /// Pilots of a task whose loss nobody evaluates.
    #[error("{}: pilots end at a loss, and {}", Self::PILOTS, match evaluates {
        true => "the evaluation reports none",
        false => "the server cannot evaluate an external task",
    })]
    NoLoss {
        /// Whether there is an evaluation at all.
        evaluates: bool,
    },
    /// The user's own samples are here, where no device trains on them.
    #[error("data.where = \"here\": devices hold the samples of the task {task}")]
    DataHere {
        /// The name of the task.
        task: &'static str,
    },
    /// Devices would have to report more sums than a message holds.
    #[error(
        "evaluate.where = \"devices\": the metrics of this number of classes need more than {SUMS_MAX} sums, the most \
         that a device may report"
    )]
    TooManySums,
    /// An aggregation that needs the whole cohort's weights before it trains.
    #[error("round.aggregation = \"cohort-mean\" works in simulated comparisons only")]
    CohortMean,
    /// A target of an external task that nobody evaluates.
    #[error("stop.metric: the run ends at a {metric}, and the model of an external task is not evaluated")]
    NoEvaluator {
        /// The metric of the target.
        metric: String,
    },
    /// A target of which the evaluation says nothing.
    #[error("stop.metric: the run ends at a {metric:?}, and the evaluation reports {}", list(known))]
    OtherMetric {
        /// The metric of the target.
        metric: String,
        /// The metrics of the evaluation.
        known: Vec<String>,
    },
    /// An evaluation on the server that nobody would ask for.
    #[error(
        "evaluate.where = \"devices\": devices evaluate the model, and an evaluation on the server is given too"
    )]
    TwoEvaluators,
    /// An external task without a bound on its updates.
    #[error(
        "server.update_norm_max: is missing, and the server cannot make a trial update of an external task"
    )]
    NoUpdateNorm,
    /// A folder with files that are not those of a run.
    #[error("{folder} is not a run folder (found {found:?})")]
    NotARun {
        /// The folder that was named for the run.
        folder: String,
        /// One of the files in it.
        found: String,
    },
    /// A folder with a part of an authority.
    #[error("{folder} lacks {}", missing.join(", "))]
    AuthorityLacks {
        /// The folder that was named for certificates.
        folder: String,
        /// The files that are not there.
        missing: Vec<&'static str>,
    },
    /// A setting of the server out of range.
    #[error("{setting}: {value} is out of range")]
    Range {
        /// The name of the setting, such as `devices_min`.
        setting: &'static str,
        /// The number that was refused.
        value: f64,
        /// What would be right.
        wanted: String,
    },
    /// A text that is not an address to listen on.
    #[error("{setting}: {text:?} is not an address")]
    BadAddress {
        /// The name of the setting, such as `listen`.
        setting: &'static str,
        /// The text that was refused.
        text: String,
    },
}

impl DeployError {
    /// The name of the setting that asks for pilots.
    pub const PILOTS: &str = "pilots";

    /// The setting or the key of the scenario that is wrong; the folder's setting is the caller's to name.
    pub fn place(&self) -> &'static str {
        match self {
            Self::NoRounds { .. } | Self::DrawsCohorts { .. } => "plan.scheme",
            Self::NoLoss { .. } => Self::PILOTS,
            Self::DataHere { .. } => "data.where",
            Self::TooManySums | Self::TwoEvaluators => "evaluate.where",
            Self::CohortMean => "round.aggregation",
            Self::NoEvaluator { .. } | Self::OtherMetric { .. } => "stop.metric",
            Self::NoUpdateNorm => "server.update_norm_max",
            Self::NotARun { .. } => "out",
            Self::AuthorityLacks { .. } => "certs",
            Self::Range { setting, .. } | Self::BadAddress { setting, .. } => setting,
        }
    }

    /// What to change, without the flags of any program.
    pub fn hint(&self) -> String {
        let hint = match self {
            Self::NoRounds { .. } | Self::DrawsCohorts { .. } => {
                "serve a scheme with coins, such as auto or fixed=0.2; the others can be simulated"
            }
            Self::NoLoss { .. } => {
                "run no pilots: the scheme auto needs none; others take plan.alpha and plan.beta"
            }
            Self::DataHere { .. } => "set data.where = \"devices\": each device joins with files of its own",
            Self::TooManySums => {
                "set evaluate.where = \"server\" and data.test, or use at most 1,000 classes"
            }
            Self::CohortMean => "leave it out: on devices updates are added up without bias",
            Self::NoEvaluator { .. } => {
                "leave the target out, so that stop.rounds_max ends the run, or serve it from a program that evaluates \
                 the model, such as fedflip.serve of the Python package with evaluate="
            }
            Self::OtherMetric { metric, known } => {
                let near = fedflip_fleet::nearest(metric, known.iter().map(String::as_str));
                return match near {
                    Some(near) => format!("did you mean {near}? Otherwise report {metric} as well"),
                    None => format!("report {metric} as well, or set stop.metric to one that is reported"),
                };
            }
            Self::TwoEvaluators => "leave one of the two out",
            Self::NoUpdateNorm => {
                "write update_norm_max = NUMBER below [server]: the largest norm of an honest update"
            }
            Self::NotARun { .. } => "name a new folder, or the folder of a run to resume",
            Self::AuthorityLacks { .. } => {
                "copy ca.pem, revoked.pem, revoked.json and server/ from the folder of the authority"
            }
            Self::Range { wanted, .. } => return format!("it must be {wanted}"),
            Self::BadAddress { .. } => "write ADDRESS:PORT, such as 127.0.0.1:7700",
        };
        hint.to_owned()
    }
}

/// Names of metrics in a sentence.
fn list(names: &[String]) -> String {
    if names.is_empty() { "no metric".to_owned() } else { names.join(", ") }
}
