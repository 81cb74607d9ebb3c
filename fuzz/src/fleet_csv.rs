//! Fleets as CSV.

use fedflip_fleet::{Fleet, FleetError, csv_file};

use crate::{memory, scratch};

/// A fleet that reads back the same, or a refusal that names a line of the file and what to do.
pub fn check(bytes: &[u8]) {
    // A read buffer, and for a device of some ten bytes its numbers, its name and a place in a hash table.
    match memory::within((1 << 18) + 64 * bytes.len(), || csv_file::read(bytes, "fuzz.csv")) {
        Ok(fleet) => {
            whole(&fleet);
            let mut written = Vec::new();
            csv_file::write(&fleet, &mut written).expect("memory takes everything");
            let again = csv_file::read(&written[..], "again.csv").expect("what is written reads back");
            assert_eq!(again, fleet);
        }
        Err(error) => {
            assert!(!error.hint().is_empty());
            let line = match error {
                FleetError::File { line, .. } => line,
                FleetError::Cell { line, .. } => Some(line),
                other => panic!("not a refusal of a file: {other}"),
            };
            assert!(line.is_none_or(|line| (1..=scratch::lines(bytes)).contains(&line)), "line {line:?}");
        }
    }
}

fn whole(fleet: &Fleet) {
    let sum: f64 = fleet.weights().iter().sum();
    assert!((sum - 1.0).abs() < 1e-9, "the shares of the data sum to {sum}");
    assert!(fleet.weights().iter().all(|share| (0.0..=1.0).contains(share)));
    assert!(fleet.availability().iter().all(|share| *share > 0.0 && *share <= 1.0));
    let times = fleet.compute_secs().iter().chain(fleet.comm_secs());
    assert!(times.into_iter().all(|secs| (0.0..=1e9).contains(secs)));
}
