//! Reads a scenario, runs it, watches its rounds, and reads its records back.
//!
//! `cargo run -p fedflip-run --example run_a_scenario [FOLDER]` leaves the run in FOLDER, where `fedflip report` and
//! `fedflip export` read it too.

use std::error::Error;
use std::path::PathBuf;

use fedflip_record::{Round, folder, reader};
use fedflip_run::{Session, simulate};
use fedflip_scenario::Scenario;

const SCENARIO: &str = r#"
preset = "tuned"
[task]
name = "synthetic"
[stop]
target_accuracy = 0.6
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let scenario = Scenario::from_toml(SCENARIO)?;
    let temporary = tempfile::tempdir()?;
    let out = std::env::args().nth(1).map_or(temporary.path().join("run"), PathBuf::from);

    // The synthetic task reads no files, so the folder of data sets does not matter.
    let mut session = Session::new("data").observed_by(|round: &Round| {
        if let Some(accuracy) = round.metrics.get("accuracy").filter(|_| round.round.is_multiple_of(50)) {
            println!("round {}: accuracy {accuracy:.3} after {:.1} s", round.round, round.end_secs());
        }
    });
    let finished = simulate(&scenario, Some(&out), &mut session)?;
    println!("{} rounds, {} of them empty", finished.fold.summary.rounds, finished.fold.summary.empty_rounds);

    let records = reader::read(&out.join(folder::RECORDS))?;
    let uploads: usize = records.rounds.iter().map(|round| round.cohort.len()).sum();
    println!("{uploads} uploads to reach {:?}", records.header.stop);
    Ok(())
}
