//! `band`: a real shared bandwidth on one machine, and whether rounds take on it what the model says.
//!
//! # Layout
//!
//! - here: the two sizes of the measurement, what must hold, and the table.
//! - [`network`]: namespaces, cables, a shaped link; gone afterwards, whatever happens.
//! - [`trial`]: a server and five devices on it, and what their rounds took.
//! - [`predict`]: the round time T̂, computed a second time.

pub(crate) mod network;
mod predict;
mod trial;

use std::path::Path;

use crate::bench::Bench;
use crate::error::LabError;
use crate::files;
use crate::stats::median;
use network::Network;
use predict::Division;
use trial::{Seen, Trial};

const DEVICES: usize = 5;
/// Rounds that do not count: the fleet is known only by its calibration then.
const WARM_UP: usize = 2;
/// How far a round may be from T̂.
const OFF_MAX: f64 = 0.10;
/// How far the arithmetic of grants may be from the bytes on the wire.
const FRAMING_OFF_MAX: f64 = 0.03;

/// How large the measurement is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    band_mbps: f64,
    /// Hidden units of the model: 71 parameters each.
    hidden: usize,
    compute_secs: [f64; DEVICES],
    rounds: usize,
    /// How often it may be tried: a busy machine can only make rounds slower.
    attempts: usize,
}

pub(crate) const SHORT: Size =
    Size { band_mbps: 20.0, hidden: 2048, compute_secs: [0.3, 0.5, 0.7, 0.9, 1.1], rounds: 5, attempts: 2 };

pub(crate) const FULL: Size =
    Size { band_mbps: 20.0, hidden: 4096, compute_secs: [0.4, 0.8, 1.2, 1.6, 2.0], rounds: 20, attempts: 1 };

/// Adaptive and equal shares in turn on the same link.
pub(crate) fn run(bench: &Bench, size: &Size) -> Result<(), LabError> {
    let network = Network::build(bench, DEVICES, size.band_mbps)?;
    bench.build(&[])?;
    let folder = bench.scratch("band");
    for attempt in 1..=size.attempts {
        match try_both(bench, &network, &folder, size) {
            Ok(()) => break,
            // The logs are worth something then.
            Err(error) if attempt == size.attempts => return Err(error),
            Err(error) => println!("   {error}; once more"),
        }
        files::remove_folder(&folder)?;
    }
    files::remove_folder(&folder)
}

fn try_both(bench: &Bench, network: &Network<'_>, folder: &Path, size: &Size) -> Result<(), LabError> {
    let trial = |division: Division| {
        trial::run(bench, network, &folder.join(division.name()), (size, division))
            .map(|trial| Figures::of(&trial, size, division))
    };
    let adaptive = trial(Division::Adaptive)?;
    let equal = trial(Division::Equal)?;
    println!("\n   {}", Figures::TITLES);
    println!("   {}\n   {}", adaptive.line("adaptive"), equal.line("equal"));
    println!(
        "   adaptive shares save {:.1} % of a round, where T̂ says {:.1} %; a byte is {:.4} on the wire\n",
        100.0 * (1.0 - adaptive.round_secs / equal.round_secs),
        100.0 * (1.0 - adaptive.expected_secs / equal.expected_secs),
        adaptive.wire_framing
    );
    judge(&adaptive, &equal)
}

/// Medians over the rounds that count.
#[derive(Debug, Clone, Copy)]
struct Figures {
    round_secs: f64,
    /// T̂, as the server computes it.
    expected_secs: f64,
    /// T̂, as [`predict`] computes it.
    predicted_secs: f64,
    /// How far a round is from the T̂ of its own division.
    off: f64,
    spread_secs: f64,
    /// Bytes on the wire for a byte of numbers: as grants count them, and by the counter of the link.
    framing: f64,
    wire_framing: f64,
}

impl Figures {
    const TITLES: &'static str =
        "shares        round      T̂   T̂ here    off   finish within   framing counted, on the wire";

    fn of(trial: &Trial, size: &Size, division: Division) -> Self {
        let rounds = &trial.rounds[WARM_UP..];
        let over = |what: &dyn Fn(&Seen) -> f64| median(rounds.iter().map(what));
        let wire_framing = trial.wire_mbit / (DEVICES as f64 * trial.payload_mbit);
        let job = |device: usize| {
            (over(&|seen| seen.round.compute_secs[device]), wire_framing * trial.payload_mbit)
        };
        let jobs: Vec<(f64, f64)> = (0..DEVICES).map(job).collect();
        Self {
            round_secs: over(&|seen| seen.round.round_secs),
            expected_secs: over(&|seen| seen.expected_secs),
            predicted_secs: predict::round_secs(&jobs, size.band_mbps, division),
            off: over(&|seen| seen.round.round_secs / seen.expected_secs - 1.0),
            spread_secs: over(&Seen::spread_secs),
            framing: over(&|seen| seen.framing(trial.payload_mbit)),
            wire_framing,
        }
    }

    fn line(&self, name: &str) -> String {
        let Self { round_secs, expected_secs, predicted_secs, off, spread_secs, framing, wire_framing } =
            self;
        format!(
            "{name:<10} {round_secs:>6.3} s {expected_secs:>6.3} s {predicted_secs:>6.3} s {:>+5.1} % \
             {:>13.0} ms {framing:>17.4} {wire_framing:>13.4}",
            100.0 * off,
            1000.0 * spread_secs
        )
    }
}

/// Checks the claims of the measurement.
fn judge(adaptive: &Figures, equal: &Figures) -> Result<(), LabError> {
    let broken = |text: String| Err(LabError::Broken(text));
    for (name, figures) in [("adaptive", adaptive), ("equal", equal)] {
        for (what, off) in [
            ("what it planned", figures.off),
            ("the model's equations", figures.round_secs / figures.predicted_secs - 1.0),
        ] {
            if off.abs() > OFF_MAX {
                return broken(format!(
                    "with {name} shares a round is {:+.1} % off {what}; {:.0} % are allowed",
                    100.0 * off,
                    100.0 * OFF_MAX
                ));
            }
        }
        let off = figures.framing / figures.wire_framing - 1.0;
        if off.abs() > FRAMING_OFF_MAX {
            return broken(format!(
                "with {name} shares a byte counted as {:.4} and was {:.4} on the wire: see agent/pace.rs",
                figures.framing, figures.wire_framing
            ));
        }
    }
    if adaptive.round_secs >= equal.round_secs {
        return broken(format!(
            "adaptive shares took {:.3} s, equal ones {:.3} s",
            adaptive.round_secs, equal.round_secs
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_found() {
        let good = Figures {
            round_secs: 3.0,
            expected_secs: 2.9,
            predicted_secs: 2.95,
            off: 0.03,
            spread_secs: 0.1,
            framing: 1.05,
            wire_framing: 1.052,
        };
        let equal = Figures { round_secs: 4.0, expected_secs: 4.0, predicted_secs: 3.9, ..good };
        assert!(judge(&good, &equal).is_ok());
        assert!(judge(&Figures { off: 0.11, ..good }, &equal).is_err());
        assert!(judge(&good, &Figures { predicted_secs: 5.0, ..equal }).is_err());
        assert!(judge(&Figures { wire_framing: 1.1, ..good }, &equal).is_err());
        assert!(judge(&Figures { round_secs: 2.9, ..equal }, &equal).is_err());
        let slower = Figures { round_secs: 4.1, predicted_secs: 4.1, ..good };
        assert!(judge(&slower, &equal).is_err());
    }
}
