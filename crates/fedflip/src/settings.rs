//! Args turned into checked values: after this, a command has nothing left to refuse about its flags.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::{
    Constants, DEFAULT_VARIANCE, Pilot, PlanError, Planning, Scheme, Search, VARIANCE_RANGE, VARIANCE_WANTED,
    constants,
};

use fedflip_scenario::read_scheme;

use crate::args::{ConstantsArgs, PlanArgs};
use crate::costs::round_costs;
use crate::error::CliError;
use crate::planner::{ConstantsSource, Dialect, PlanSettings};

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

pub(crate) fn positive(flag: &str, value: Option<f64>) -> Result<Option<f64>, CliError> {
    let in_range = |value| CliError::in_range(flag, value, 1e-100..=1e100, "a number above 0, at most 1e100");
    value.map(in_range).transpose()
}

/// The scheme of a flag. The file of `file=NAME` starts in the working directory.
pub(crate) fn scheme(text: &str) -> Result<Scheme, PlanError> {
    read_scheme(text.trim(), Path::new(""))
}

/// The sampling variance that `auto` plans for.
pub(crate) fn variance(given: Option<f64>, scheme: &Scheme) -> Result<f64, CliError> {
    let Some(value) = given else { return Ok(DEFAULT_VARIANCE) };
    if !scheme.needs_variance() {
        return Err(CliError::usage(
            format!("the sampling variance of auto is given, but the scheme is {scheme}"),
            "leave out --variance, or plan with --scheme auto",
        ));
    }
    CliError::in_range("--variance", value, VARIANCE_RANGE, VARIANCE_WANTED)
}

/// The flags of `plan`, with and without `--compare`, as settings.
impl PlanSettings {
    pub(crate) fn resolve(args: &PlanArgs) -> Result<Self, CliError> {
        let scheme = match &args.scheme {
            Some(text) => scheme(text)?,
            // Known constants ask for their optimum, unless a variance is given.
            None if args.constants.are_given() && args.variance.is_none() => Scheme::Exact,
            None => Scheme::Auto,
        };
        if args.out.is_some() && !scheme.method().flips_coins() {
            return Err(CliError::usage(
                format!(
                    "--out: a file of a plan has the probabilities of coins, and {scheme} flips no coins"
                ),
                "leave out --out, or write the plan of another scheme",
            ));
        }
        let line_search = match positive("--step", args.step)? {
            Some(_) if !scheme.has_line_search() && !args.compare => {
                return Err(CliError::usage(
                    format!("the step of a line search is given, but the scheme is {scheme}"),
                    "leave out --step, or plan with --scheme paper-linesearch",
                ));
            }
            Some(step_secs) => Search::AsPrinted { step_secs },
            None => Search::default(),
        };
        // `auto` is one of the schemes that are compared.
        let variance = variance(args.variance, if args.compare { &Scheme::Auto } else { &scheme })?;
        let fleet = read_fleet(&args.fleet)?;
        let costs = round_costs(&args.costs, &fleet)?;
        let constants = constants_source(&args.constants, &fleet)?;
        let planning = Planning {
            constants: constants.map(|source| source.constants()),
            variance,
            seed: args.seed,
            line_search,
            ..Planning::new(scheme)
        };
        Ok(Self {
            source: source_name(&args.fleet).to_owned(),
            fleet: Arc::new(fleet),
            costs,
            constants,
            planning,
            draws: args.draws,
            dialect: Dialect::CommandLine,
        })
    }
}

/// α and β as the flags have them.
fn constants_source(args: &ConstantsArgs, fleet: &Fleet) -> Result<Option<ConstantsSource>, CliError> {
    if let (Some(alpha), Some(beta)) = (args.alpha, args.beta) {
        return Ok(Some(ConstantsSource::Given(Constants::new(alpha, beta)?)));
    }
    if args.pilot.is_empty() {
        return Ok(None);
    }
    let pilots = args.pilot.iter().map(|text| pilot(text)).collect::<Result<Vec<Pilot>, _>>()?;
    let fit = constants::from_pilots(fleet, &pilots)?;
    Ok(Some(ConstantsSource::Pilots { fit, count: pilots.len() }))
}

/// `18:uniform`, or `500+:uniform` for a pilot that gave up after 500 rounds.
fn pilot(text: &str) -> Result<Pilot, CliError> {
    let refuse = |problem| {
        CliError::usage(
            format!("--pilot: {text:?} {problem}"),
            "write ROUNDS:SCHEME, such as 18:uniform or 11:full; 500+:uniform if it gave up",
        )
    };
    let (rounds, scheme) = text.split_once(':').ok_or_else(|| refuse("has no colon"))?;
    let (rounds, reached) = match rounds.strip_suffix('+') {
        Some(cap) => (cap, false),
        None => (rounds, true),
    };
    let rounds = rounds.trim().parse().map_err(|_| refuse("does not begin with a number of rounds"))?;
    Ok(Pilot { rounds, reached, scheme: self::scheme(scheme)? })
}
