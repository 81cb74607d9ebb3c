//! Args turned into checked values: after this, a command has nothing left to refuse about its input.

use std::fs::File;

use fedflip_fleet::{Fleet, Mbps, csv_file};
use fedflip_plan::{Constants, Pilot, PilotFit, Scheme, constants};

use crate::args::ConstantsArgs;
use crate::error::CliError;

/// Reads the fleet at `path`, or from standard input for `-`.
pub(crate) fn read_fleet(path: &str) -> Result<Fleet, CliError> {
    if path == "-" {
        return Ok(csv_file::read(std::io::stdin().lock(), "standard input")?);
    }
    let file = File::open(path).map_err(|source| CliError::Open { path: path.to_owned(), source })?;
    Ok(csv_file::read(file, path)?)
}

/// The band of `--bandwidth`.
pub(crate) fn band(mbps: f64) -> Result<Mbps, CliError> {
    Mbps::new(mbps).map_err(CliError::flag("--bandwidth"))
}

/// α and β, and where they come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConstantsSource {
    Given(Constants),
    Pilots { fit: PilotFit, count: usize },
}

impl ConstantsSource {
    pub(crate) fn resolve(args: &ConstantsArgs, fleet: &Fleet) -> Result<Self, CliError> {
        if let (Some(alpha), Some(beta)) = (args.alpha, args.beta) {
            return Ok(Self::Given(Constants::new(alpha, beta)?));
        }
        if args.pilot.is_empty() {
            return Err(CliError::Usage {
                problem: "α and β of the round model are missing",
                hint: "give --alpha and --beta, or pilots to estimate them: --pilot 18:uniform --pilot 11:full",
            });
        }
        let pilots = args.pilot.iter().map(|text| pilot(text)).collect::<Result<Vec<Pilot>, _>>()?;
        let fit = constants::from_pilots(fleet, &pilots)?;
        Ok(Self::Pilots { fit, count: pilots.len() })
    }

    pub(crate) fn constants(&self) -> Constants {
        match self {
            Self::Given(constants) => *constants,
            Self::Pilots { fit, .. } => fit.constants,
        }
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

/// `3,7,9` as positions in a fleet of `devices`, each at most once.
pub(crate) fn cohort(text: &str, devices: usize) -> Result<Vec<usize>, CliError> {
    let mut seen = vec![false; devices];
    let mut cohort = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() && text.trim().is_empty() {
            break;
        }
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
