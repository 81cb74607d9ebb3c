//! Args turned into checked values: after this, a command has nothing left to refuse about its flags.

use std::fs::File;

use fedflip_fleet::{Fleet, Mbps, csv_file};
use fedflip_plan::solve::{Search, auto};
use fedflip_plan::theorem1::Assumptions;
use fedflip_plan::{Constants, Interval, Pilot, PilotFit, Problem, Scheme, Settings, constants};

use crate::args::{AllocateArgs, BoundArgs, ConstantsArgs, PlanArgs};
use crate::error::CliError;

/// What a fleet file is called in sentences.
pub(crate) fn source_name(path: &str) -> &str {
    if path == "-" { "standard input" } else { path }
}

/// Reads the fleet at `path`, or from standard input for `-`.
pub(crate) fn read_fleet(path: &str) -> Result<Fleet, CliError> {
    if path == "-" {
        return Ok(csv_file::read(std::io::stdin().lock(), source_name(path))?);
    }
    let file = File::open(path).map_err(|source| CliError::Open { path: path.to_owned(), source })?;
    Ok(csv_file::read(file, path)?)
}

fn band(mbps: f64) -> Result<Mbps, CliError> {
    Mbps::new(mbps).map_err(CliError::flag("--bandwidth"))
}

fn positive(flag: &'static str, value: Option<f64>) -> Result<Option<f64>, CliError> {
    match value {
        Some(value) if !(1e-100..=1e100).contains(&value) => {
            Err(CliError::Flag { flag, value, wanted: "a number above 0, at most 1e100".to_owned() })
        }
        _ => Ok(value),
    }
}

/// What `auto` allows.
fn noise(given: Option<f64>, scheme: Scheme) -> Result<f64, CliError> {
    match given {
        Some(_) if scheme != Scheme::Auto => Err(CliError::NoiseWithoutAuto { scheme }),
        Some(value) if !auto::NOISES.contains(&value) => {
            Err(CliError::Flag { flag: "--noise", value, wanted: auto::NOISES_WANTED.to_owned() })
        }
        noise => Ok(noise.unwrap_or(auto::NOISE)),
    }
}

/// Of `plan`, with and without `--compare`.
pub(crate) struct PlanSettings {
    pub file: String,
    pub fleet: Fleet,
    pub band: Mbps,
    pub constants: ConstantsSource,
    pub scheme: Scheme,
    pub solver: Settings,
    pub draws: Option<u64>,
    pub list_devices: bool,
    pub json: bool,
}

impl PlanSettings {
    pub(crate) fn resolve(args: &PlanArgs) -> Result<Self, CliError> {
        let scheme = match &args.scheme {
            Some(scheme) => scheme.parse()?,
            // Who knows α and β wants the optimum for them, unless a noise is named; who does not has one plan to make.
            None if args.constants.are_given() && args.noise.is_none() => Scheme::Exact,
            None => Scheme::Auto,
        };
        let line_search = match positive("--step", args.step)? {
            Some(_) if scheme != Scheme::PaperLinesearch && !args.compare => {
                return Err(CliError::StepWithoutLineSearch { scheme });
            }
            Some(step_secs) => Search::AsPrinted { step_secs },
            None => Search::default(),
        };
        // `auto` is one of those that are compared.
        let noise = noise(args.noise, if args.compare { Scheme::Auto } else { scheme })?;
        let band = band(args.bandwidth)?;
        let fleet = read_fleet(&args.fleet)?;
        let constants = match args.constants.are_given() || args.compare || scheme.needs_constants() {
            true => ConstantsSource::resolve(&args.constants, &fleet)?,
            false => ConstantsSource::Unknown { stand_in: auto::stand_in(&fleet, noise)? },
        };
        Ok(Self {
            constants,
            file: source_name(&args.fleet).to_owned(),
            fleet,
            band,
            scheme,
            solver: Settings { seed: args.seed, line_search, noise },
            draws: args.draws,
            list_devices: args.devices,
            json: args.json,
        })
    }

    pub(crate) fn problem(&self) -> Result<Problem<'_>, CliError> {
        Ok(Problem::new(&self.fleet, self.band, self.constants.constants())?)
    }
}

/// α and β, and where they come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConstantsSource {
    Given(Constants),
    /// Nobody has measured them; what stands in for them says nothing of rounds.
    Unknown {
        stand_in: Constants,
    },
    Pilots {
        fit: PilotFit,
        count: usize,
    },
}

impl ConstantsSource {
    fn resolve(args: &ConstantsArgs, fleet: &Fleet) -> Result<Self, CliError> {
        if let (Some(alpha), Some(beta)) = (args.alpha, args.beta) {
            return Ok(Self::Given(Constants::new(alpha, beta)?));
        }
        if args.pilot.is_empty() {
            return Err(CliError::Usage {
                problem: "α and β of the round model are missing",
                hint: "give --alpha and --beta, or pilots to estimate them: --pilot 155:uniform --pilot 13:full; auto and the baselines need neither",
            });
        }
        let pilots = args.pilot.iter().map(|text| pilot(text)).collect::<Result<Vec<Pilot>, _>>()?;
        let fit = constants::from_pilots(fleet, &pilots)?;
        Ok(Self::Pilots { fit, count: pilots.len() })
    }

    pub(crate) fn constants(&self) -> Constants {
        match self {
            Self::Given(constants) | Self::Unknown { stand_in: constants } => *constants,
            Self::Pilots { fit, .. } => fit.constants,
        }
    }

    /// α and β where they tell of training.
    pub(crate) fn known(&self) -> Option<Constants> {
        match self {
            Self::Given(_) | Self::Pilots { .. } => Some(self.constants()),
            Self::Unknown { .. } => None,
        }
    }

    /// What a person should know before trusting them.
    pub(crate) fn warning(&self) -> Option<&'static str> {
        let Self::Pilots { fit, .. } = self else { return None };
        let open = |interval: Option<Interval>| {
            interval.is_some_and(|interval| !(interval.low.is_finite() && interval.high.is_finite()))
        };
        (open(fit.alpha_interval) || open(fit.beta_interval)).then_some(
            "the pilots leave α and β open (the 95 % interval is unbounded): run more seeds, or longer pilots",
        )
    }
}

/// `18:uniform`, or `500+:uniform` for a pilot that gave up after 500 rounds.
fn pilot(text: &str) -> Result<Pilot, CliError> {
    let refuse = |problem| CliError::Pilot { value: text.to_owned(), problem };
    let (rounds, scheme) = text.split_once(':').ok_or_else(|| refuse("has no colon"))?;
    let (rounds, reached) = match rounds.strip_suffix('+') {
        Some(cap) => (cap, false),
        None => (rounds, true),
    };
    let rounds = rounds.trim().parse().map_err(|_| refuse("does not begin with a number of rounds"))?;
    Ok(Pilot { rounds, reached, scheme: scheme.trim().parse::<Scheme>()? })
}

/// Of `allocate`.
pub(crate) struct AllocateSettings {
    pub fleet: Fleet,
    pub band: Mbps,
    pub cohort: Vec<usize>,
    pub equal: bool,
    pub json: bool,
}

impl AllocateSettings {
    pub(crate) fn resolve(args: &AllocateArgs) -> Result<Self, CliError> {
        let band = band(args.bandwidth)?;
        let fleet = read_fleet(&args.fleet)?;
        let cohort = cohort(&args.cohort, fleet.len())?;
        Ok(Self { fleet, band, cohort, equal: args.equal, json: args.json })
    }
}

/// `3,7,9` as positions in a fleet of `devices`, each at most once.
fn cohort(text: &str, devices: usize) -> Result<Vec<usize>, CliError> {
    let mut seen = vec![false; devices];
    let mut cohort = Vec::new();
    for part in text.split(',').map(str::trim) {
        let refuse = |problem: String| CliError::Cohort {
            value: part.to_owned(),
            problem,
            hint: format!("name positions from 0 to {}, each once, separated by commas", devices - 1),
        };
        let position: usize = part.parse().map_err(|_| refuse("is not a position".to_owned()))?;
        match seen.get_mut(position) {
            None => return Err(refuse(format!("is outside the fleet of {devices} devices"))),
            Some(true) => return Err(refuse("stands there twice".to_owned())),
            Some(seen) => *seen = true,
        }
        cohort.push(position);
    }
    Ok(cohort)
}

/// Of `bound`.
pub(crate) struct BoundSettings {
    pub fleet: Fleet,
    pub scheme: Scheme,
    pub assumptions: Assumptions,
    pub rounds: Option<f64>,
    pub threshold: Option<f64>,
    pub p: Option<f64>,
    pub band: Option<Mbps>,
    pub noise: f64,
    pub json: bool,
}

impl BoundSettings {
    pub(crate) fn resolve(args: &BoundArgs) -> Result<Self, CliError> {
        let scheme: Scheme = args.scheme.parse()?;
        let band = args.bandwidth.map(band).transpose()?;
        let (rounds, threshold) =
            (positive("--rounds", args.rounds)?, positive("--threshold", args.threshold)?);
        let p = positive("--p", args.p)?;
        let noise = noise(args.noise, scheme)?;
        if !scheme.is_baseline() && band.is_none() {
            return Err(CliError::Usage {
                problem: "a planned scheme needs a band to plan for",
                hint: "add --bandwidth, or use a baseline such as --scheme fixed=0.2",
            });
        }
        if scheme.needs_constants() && threshold.is_none() {
            return Err(CliError::Usage {
                problem: "a planned scheme needs a threshold to plan for",
                hint: "add --threshold, or use --scheme auto or a baseline such as --scheme fixed=0.2",
            });
        }
        let fleet = read_fleet(&args.fleet)?;
        let assumptions = Assumptions {
            devices: fleet.len(),
            learning_rate: args.learning_rate,
            smoothness: args.smoothness,
            divergence_sq: args.divergence,
            variance: args.variance,
            initial_gap: args.initial_gap,
        };
        Ok(Self {
            assumptions: assumptions.checked()?,
            fleet,
            scheme,
            rounds,
            threshold,
            p,
            band,
            noise,
            json: args.json,
        })
    }
}
