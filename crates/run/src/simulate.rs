//! A scenario from its data to the end of its run.

use std::path::Path;

use fedflip_record::folder::PILOTS;
use fedflip_scenario::Scenario;

use crate::error::RunError;
use crate::pilots::Pilots;
use crate::session::Session;
use crate::setup::{Planned, Setup};
use crate::single::{Finished, Single};

/// Reads a scenario's data, plans, and runs it to its end, after its pilots if it continues from them.
pub fn simulate(
    scenario: &Scenario,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Finished, RunError> {
    let setup = Setup::new(scenario, session)?;
    let planned = setup.plan(scenario, Some(scenario.plan.constants))?;
    simulate_planned(&setup, scenario, &planned, out, session)
}

/// The same with a setup and a plan that are there already.
pub fn simulate_planned(
    setup: &Setup,
    scenario: &Scenario,
    planned: &Planned,
    out: Option<&Path>,
    session: &mut Session<'_>,
) -> Result<Finished, RunError> {
    let title = format!("{} {}", scenario.task.name(), scenario.plan.scheme);
    setup.with_crew(session.threads, |crew| {
        let warm_start = None;
        let mut single = Single { setup, scenario, planned, warm_start, pilot: false, out, title: &title };
        if scenario.pilot.keep && scenario.plan.scheme.needs_constants() {
            // Before the hours of the pilots.
            single.check_folder()?;
            let out = out.map(|out| out.join(PILOTS));
            let pilots = Pilots { setup, scenario, out: out.as_deref(), prefix: "", kept: 1, part: None };
            let pair = pilots.pair(0, crew, session)?.ok_or(RunError::Interrupted)?;
            pair.short_of(scenario.pilot.loss).iter().for_each(|text| session.observers.warn(text));
            single.warm_start = Some(pair.better);
        }
        single.run(crew, session)
    })
}
