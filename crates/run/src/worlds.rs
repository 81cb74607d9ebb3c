//! The engine and the simulated world of one run: with rounds, or without.

use std::path::Path;

use fedflip_engine::{Aggregation, Engine, Optimiser, Outcome, State, World};
use fedflip_learn::Crew;
use fedflip_plan::Buffered;
use fedflip_record::{FolderProblem, RecordError};
use fedflip_sim::{BufferedWorld, SimWorld, Timeline};

use crate::error::RunError;
use crate::keep::Keeper;
use crate::setup::buffered;
use crate::single::Single;

impl Single<'_> {
    /// Runs the engine in the world of the scheme: one with rounds, or one without.
    pub(crate) fn in_its_world(
        &self,
        crew: &mut dyn Crew,
        optimiser: Optimiser,
        state: &mut State,
        keeper: &mut Keeper<'_, '_>,
    ) -> Result<Outcome, RunError> {
        let engine = self.engine(optimiser);
        match buffered(&self.setup.fleet, self.scenario)? {
            Some(buffered) => {
                Ok(engine.run(&mut self.buffered_world(crew, buffered, state)?, state, keeper)?)
            }
            None if !state.stale.is_empty() => Err(self.damaged().into()),
            None => {
                let mut world = self.world(crew, state.secs);
                if world.observes() {
                    keeper.keep.each_round(|round| world.observe(&round))?;
                }
                Ok(engine.run(&mut world, state, keeper)?)
            }
        }
    }

    fn buffered_world<'w>(
        &'w self,
        crew: &'w mut dyn Crew,
        buffered: Buffered,
        state: &State,
    ) -> Result<BufferedWorld<'w>, RunError> {
        let Self { setup, scenario, .. } = *self;
        let clock = (scenario.seed, self.warm_start.as_ref().map_or(0.0, |start| start.secs));
        let timeline = Timeline::new(&setup.fleet, buffered, scenario.round_costs(), scenario.world, clock);
        let world = BufferedWorld::new(crew, timeline, buffered, scenario.seed)
            .with_encoding(scenario.update.encoding)
            .with_download_encoding(scenario.download_encoding());
        Ok(world.resumed(state).ok_or_else(|| self.damaged())?)
    }

    /// A checkpoint that does not belong to the scenario beside it: somebody changed the folder.
    pub(crate) fn damaged(&self) -> RecordError {
        RecordError::folder(self.out.unwrap_or(Path::new("")), FolderProblem::Damaged)
    }

    fn engine(&self, optimiser: Optimiser) -> Engine<'_> {
        let Self { setup, scenario, planned, .. } = *self;
        // Compute times that do not vary need no margin.
        let varies = scenario.world.compute_jitter > 0.0;
        Engine {
            fleet: &setup.fleet,
            schedule: &planned.schedule,
            costs: scenario.round_costs(),
            division: scenario.round.allocation,
            deadline_secs: scenario.round.deadline.map(fedflip_fleet::Secs::get),
            deadline_margin: if varies { scenario.round.deadline_margin } else { 0.0 },
            aggregation: scenario.round.aggregation,
            optimiser,
            stop: scenario.engine_stop(),
        }
    }

    fn world<'w>(&'w self, crew: &'w mut dyn Crew, secs: f64) -> SimWorld<'w> {
        let Self { setup, scenario, planned, .. } = *self;
        let clock = (scenario.seed, secs);
        let sampler = scenario.plan.scheme.method().sampler(&planned.schedule, &setup.fleet);
        let world = SimWorld::new(crew, &setup.fleet, &planned.schedule, scenario.world, clock)
            .with_sampler(sampler)
            .with_costs(scenario.round_costs())
            .with_encoding(scenario.update.encoding)
            .with_download_encoding(scenario.download_encoding());
        match scenario.round.aggregation {
            Aggregation::CohortMean => world.with_weighed_rates(),
            _ => world,
        }
    }
}
