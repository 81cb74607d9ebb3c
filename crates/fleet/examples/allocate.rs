//! Share one bandwidth among the devices of a round, so that all of them finish together.
//!
//! `cargo run -p fedflip-fleet --example allocate`

use fedflip_fleet::bandwidth::{Division, allocate};
use fedflip_fleet::{Columns, Fleet, Mbps};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fleet = Fleet::from_columns(Columns {
        names: Some(&["phone", "laptop", "sensor"]),
        compute_secs: &[2.0, 0.4, 9.0],
        comm_secs: &[7.0, 7.0, 0.5],
        samples: &[300.0, 500.0, 20.0],
        ..Columns::default()
    })?;
    let cohort = [0, 1];
    for division in [Division::Adaptive, Division::Equal] {
        let round = allocate(&fleet, &cohort, Mbps::new(10.0)?, division)?;
        println!("{division:?}: the round takes {:.2} s", round.round_secs);
        for share in &round.shares {
            println!("  {:<8} {:.2} Mbit/s", fleet.name(share.device), share.mbps);
        }
    }
    Ok(())
}
