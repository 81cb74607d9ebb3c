//! Plan the participation probabilities of a fleet, without measured constants.
//!
//! `cargo run -p fedflip-plan --example plan_a_fleet`

use fedflip_fleet::{Columns, Fleet, Mbps};
use fedflip_plan::{DEFAULT_VARIANCE, Evaluation, Plan, Planning, Problem, Scheme};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let fleet = Fleet::from_columns(Columns {
        names: Some(&["phone", "laptop", "sensor"]),
        compute_secs: &[2.0, 0.4, 9.0],
        comm_secs: &[7.0, 7.0, 0.5],
        samples: &[300.0, 500.0, 20.0],
        availability: Some(&[0.6, 1.0, 0.05]),
        ..Columns::default()
    })?;
    let bandwidth = Mbps::new(10.0)?;
    let plan = Plan::for_variance(&fleet, bandwidth, DEFAULT_VARIANCE)?;
    for (device, (q, weight)) in plan.q().iter().zip(plan.aggregation_weights()).enumerate() {
        println!("{:<8} q = {q:.3}, weight a/q = {weight:.3}", fleet.name(device));
    }
    let problem = Problem::new(&fleet, bandwidth);
    let outcome = Evaluation::new(&problem, &plan, &Planning::new(Scheme::Auto), None);
    println!("A round has {:.2} devices on average", outcome.expected_participants);
    let round_secs = outcome.round_secs.map_or(f64::NAN, |round_secs| round_secs.mean.mean);
    println!("and takes {round_secs:.2} s.");
    Ok(())
}
