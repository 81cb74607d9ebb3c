//! One training, many clocks: the cohorts and models of a finished run under another fleet, bandwidth or cost model.
//!
//! Without a deadline, coins, updates and models do not depend on the clock. The rounds are therefore run again by the
//! same engine in the same simulated world, but nothing is trained: every device delivers an empty update, and losses and
//! metrics are those of the records. Equal code gives equal bytes: a run from scratch would have recorded the same.

use std::path::Path;
use std::sync::Arc;

use fedflip_engine::{Aggregation, BoxedError, Control, Engine, Optimiser, Sink, State, Stop};
use fedflip_fleet::{Fleet, Metrics, ModelVector, csv_file};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_record::folder::{BEST, Contents, FLEET, MODEL, RECORDS, RUN, WEIGHTS};
use fedflip_record::reader::{self, Records};
use fedflip_record::{End, EndReason, FolderProblem, Header, Initial, RecordError, Round, RunFolder};
use fedflip_scenario::{FREE_KEYS, FleetSource, InitialModel, Scenario};
use fedflip_sim::SimWorld;

use crate::error::RunError;
use crate::setup::{Planned, plan_for};

/// The keys that change the clock and nothing else.
pub const CLOCK_KEYS: &[&str] = &[
    "fleet.file",
    "fleet.bandwidth_mbps",
    "fleet.radio",
    "fleet.spectrum_mhz",
    "fleet.work_gflop",
    "round.allocation",
    "round.overhead_secs",
    "round.downlink",
    "downlink.bandwidth_mbps",
    "downlink.payload_mbit",
    "world.compute_jitter",
    "world.fading_db",
];

/// What a run took, and what it takes on its new clock.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Retimed {
    /// The rounds of the run.
    pub rounds: u64,
    /// The virtual time of the run before.
    pub secs_before: f64,
    /// The virtual time on the new clock.
    pub secs: f64,
}

/// Writes the run in `from` to `out` as it would have been with other clock keys, each `SECTION.KEY=VALUE`. A run whose
/// rounds or models would have been others is refused with the reason.
pub fn retime(from: &Path, overrides: &[String], out: &Path) -> Result<Retimed, RunError> {
    let refuse = |reason: String| RunError::CannotRetime { folder: from.display().to_string(), reason };
    for text in overrides {
        let key = text.split('=').next().unwrap_or_default().trim();
        if !CLOCK_KEYS.contains(&key) {
            return Err(refuse(format!("{key} changes more than the clock")));
        }
    }
    if !from.join(RECORDS).exists() {
        return Err(RecordError::folder(from, FolderProblem::NoRun).into());
    }
    let records = reader::read(&from.join(RECORDS))?;
    let (before, scenario) = scenarios(&from.join(RUN), overrides)?;
    let end = decided_by_rounds(&before, &records).map_err(|reason| refuse(reason.to_owned()))?;
    let stored = stored_fleet(from)?;
    let fleet = timed_fleet(&scenario, &stored)?;
    let constants = Some(scenario.plan.constants);
    let (old, planned) = (plan_for(&stored, &before, constants)?, plan_for(&fleet, &scenario, constants)?);
    let q_of = |planned: &Planned| (planned.schedule.usual().q().to_vec(), planned.schedule.mean_q());
    if q_of(&old) != q_of(&planned) {
        let scheme = &scenario.plan.scheme;
        return Err(refuse(format!("{scheme} plans other participation probabilities for the new clock")));
    }
    let (folder, _) = RunFolder::open(out, &contents(&scenario, &records, &fleet, &planned), false)?;
    copy_models(from, &folder)?;
    let mut sink = Rewritten { records: &records, folder, changed: None };
    let state = replay(&scenario, &fleet, &planned, end.rounds, &mut sink)?;
    if let Some(round) = sink.changed {
        // Half a run is of no use. If it cannot be removed, it is a run that was interrupted.
        let _ = std::fs::remove_dir_all(out);
        return Err(refuse(format!("round {round} has another cohort than its records")));
    }
    let model = std::fs::read(from.join(MODEL)).map_err(unreadable(&from.join(MODEL)))?;
    let secs_before = end.secs;
    sink.folder.end(End { secs: state.secs, ..end }, &model)?;
    Ok(Retimed { rounds: state.round, secs_before, secs: state.secs })
}

/// The stored scenario, and the same with other keys.
fn scenarios(run: &Path, overrides: &[String]) -> Result<(Scenario, Scenario), RunError> {
    let (before, mut scenario) = (Scenario::read(run, &[])?, Scenario::read(run, overrides)?);
    // A stored scenario holds every key, those too that follow others.
    let is_given = overrides.iter().any(|text| text.trim_start().starts_with("downlink.bandwidth_mbps"));
    if before.costs.download_bandwidth == before.bandwidth && !is_given {
        scenario.costs.download_bandwidth = scenario.bandwidth;
    }
    Ok((before, scenario))
}

/// What the new folder starts with.
fn contents(scenario: &Scenario, records: &Records, fleet: &Fleet, planned: &Planned) -> Contents {
    let header = Header {
        bandwidth_mbps: scenario.bandwidth.get(),
        costs: scenario.round_costs().into(),
        expected_participants: planned.expected.participants,
        expected_rounds: planned.expected.rounds,
        expected_round_secs: planned.expected.round_secs,
        ..records.header.clone()
    };
    let mut csv = Vec::new();
    // Memory takes whatever is written to it.
    let _ = csv_file::write(fleet, &mut csv);
    let (run, plan) = (scenario.stored(), planned.schedule.csv(fleet));
    Contents { run, free_keys: FREE_KEYS, fleet: csv, plan, header }
}

/// Runs the rounds with empty models, so that only their times are computed.
fn replay(
    scenario: &Scenario,
    fleet: &Fleet,
    planned: &Planned,
    rounds: u64,
    sink: &mut Rewritten<'_>,
) -> Result<State, RunError> {
    let engine = Engine {
        fleet,
        schedule: &planned.schedule,
        costs: scenario.round_costs(),
        division: scenario.round.allocation,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop::after_rounds(rounds),
    };
    let mut state = State::new(ModelVector::new(Vec::new()));
    let mut nobody = Nobody { devices: fleet.len(), keys: Vec::new() };
    let sampler = scenario.plan.scheme.method().sampler(&planned.schedule, fleet);
    let clock = (scenario.seed, 0.0);
    let mut world =
        SimWorld::new(&mut nobody, fleet, &planned.schedule, scenario.world, clock).with_sampler(sampler);
    engine.run(&mut world, &mut state, sink)?;
    Ok(state)
}

/// The end of a run whose rounds no clock decides; otherwise the reason why one does.
fn decided_by_rounds(scenario: &Scenario, records: &Records) -> Result<End, &'static str> {
    let end = records.end.clone().ok_or("the run has not ended")?;
    if records.header.deployed.is_some() {
        return Err("the run was on real devices, whose clock is real");
    }
    if records.header.pilot || records.initial.as_ref().is_some_and(|initial| initial.secs > 0.0) {
        return Err("the run is a pilot, or continues from pilots, which are on its clock");
    }
    if scenario.plan.scheme.method().buffer().is_some() {
        return Err("devices work without rounds, so that the clock decides who delivers when (plan.scheme)");
    }
    if scenario.round.deadline.is_some() {
        return Err("a deadline decides who is lost (round.deadline_secs)");
    }
    if scenario.stop.virtual_hours_max.is_some() || end.reason == EndReason::VirtualTimeMax {
        return Err("a cap on virtual time may end the run (stop.virtual_hours_max)");
    }
    Ok(end)
}

fn stored_fleet(from: &Path) -> Result<Fleet, RunError> {
    let path = from.join(FLEET);
    let file = std::fs::File::open(&path).map_err(unreadable(&path))?;
    Ok(csv_file::read(file, &path.display().to_string())?)
}

/// The times of the scenario's fleet, with the data of the stored one.
fn timed_fleet(scenario: &Scenario, stored: &Fleet) -> Result<Fleet, RunError> {
    if let FleetSource::File { fleet, .. } = &scenario.fleet {
        return Ok(fleet.with_samples_of(stored)?);
    }
    let names: Vec<&str> = (0..stored.len()).map(|device| stored.name(device)).collect();
    Ok(scenario.fleet(&vec![1; stored.len()])?.with_samples_of(stored)?.renamed(&names)?)
}

/// The models and files that do not depend on the clock.
fn copy_models(from: &Path, folder: &RunFolder) -> Result<(), RunError> {
    for name in [BEST, WEIGHTS, InitialModel::COPY] {
        let path = from.join(name);
        if path.exists() {
            folder.write(name, &std::fs::read(&path).map_err(unreadable(&path))?)?;
        }
    }
    Ok(())
}

fn unreadable(path: &Path) -> impl Fn(std::io::Error) -> RunError {
    let path = path.display().to_string();
    move |source| RunError::Open { path: path.clone(), source }
}

/// Writes rounds with their new times, and with the losses and metrics of the records.
struct Rewritten<'r> {
    records: &'r Records,
    folder: RunFolder,
    /// The first round whose cohort is not that of its record.
    changed: Option<u64>,
}

impl Sink for Rewritten<'_> {
    fn initial(&mut self, initial: Initial, _: &State) -> Result<Control, BoxedError> {
        if let Some(recorded) = &self.records.initial {
            self.folder.append_initial(Initial { secs: initial.secs, ..recorded.clone() })?;
        }
        Ok(Control::GoOn)
    }

    fn round(&mut self, timed: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        let recorded = self.records.rounds.get(state.round as usize - 1);
        let same = |recorded: &&Round| recorded.cohort == timed.cohort && recorded.lost == timed.lost;
        let Some(recorded) = recorded.filter(same) else {
            self.changed = Some(timed.round);
            return Ok(Control::Stop);
        };
        let Round { update_norm, train_loss, metrics, estimated, .. } = recorded.clone();
        self.folder.append(Round { update_norm, train_loss, metrics, estimated, ..timed })?;
        Ok(Control::GoOn)
    }
}

/// A crew that delivers empty updates at once.
struct Nobody {
    devices: usize,
    keys: Vec<TrainKey>,
}

impl Crew for Nobody {
    fn devices(&self) -> usize {
        self.devices
    }

    fn params_len(&self) -> usize {
        0
    }

    fn metrics(&self) -> &[Metric] {
        &[]
    }

    fn train(&mut self, _: &Arc<ModelVector>, _: Encoding, keys: &[TrainKey]) -> Result<(), LearnError> {
        self.keys.extend_from_slice(keys);
        Ok(())
    }

    fn next_trained(&mut self) -> Result<Option<Trained>, LearnError> {
        let trained = |key: TrainKey| Trained { device: key.device, delta: Vec::new(), train_loss: Ok(0.0) };
        Ok(self.keys.pop().map(trained))
    }

    fn evaluate(&mut self, _: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        Ok(Metrics::default())
    }
}
