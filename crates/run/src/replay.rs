//! The rounds of a finished run on another clock, without training.
//!
//! Without a deadline, coins, updates and models do not depend on the clock. The rounds are therefore run again by the
//! same engine in the same simulated world, but nothing is trained: every device delivers an empty update, and losses and
//! metrics are those of the records. Equal code gives equal bytes: a run from scratch would have recorded the same.

use std::sync::Arc;

use fedflip_engine::{Aggregation, BoxedError, Control, Engine, Optimiser, Sink, State, Stop};
use fedflip_fleet::{Fleet, Metrics, ModelVector};
use fedflip_learn::{Crew, Encoding, LearnError, Metric, TrainKey, Trained};
use fedflip_plan::Plan;
use fedflip_record::reader::Records;
use fedflip_record::{End, EndReason, Header, Initial, Round};
use fedflip_scenario::Scenario;
use fedflip_sim::SimWorld;

use crate::error::RunError;
use crate::setup::Planned;

/// The keys that change the clock and nothing else.
pub const CLOCK_KEYS: &[&str] = &[
    "fleet.file",
    "fleet.payload_mbit",
    "fleet.bandwidth_mbps",
    "fleet.radio",
    "fleet.spectrum_mhz",
    "fleet.work_gflop",
    "fleet.sample_work_gflop",
    "round.allocation",
    "round.overhead_secs",
    "round.downlink",
    "downlink.bandwidth_mbps",
    "downlink.payload_mbit",
    "world.compute_jitter",
    "world.fading_db",
];

/// A clock: the scenario with its costs, the fleet with its times, and the plan for both.
#[derive(Clone, Copy)]
pub(crate) struct Clock<'a> {
    pub(crate) scenario: &'a Scenario,
    pub(crate) fleet: &'a Fleet,
    pub(crate) planned: &'a Planned,
}

/// A run on another clock.
pub(crate) enum Replayed {
    /// What a run from scratch would have recorded.
    Same(Box<Records>),
    /// Why a run from scratch would have had other rounds or models.
    Other(String),
}

/// The records of a run on another clock. Callers know that the scenarios differ in the clock alone.
pub(crate) fn replay(records: &Records, before: &Clock<'_>, now: &Clock<'_>) -> Result<Replayed, RunError> {
    let end = match comparable(records, before, now) {
        Ok(end) => end,
        Err(reason) => return Ok(Replayed::Other(reason)),
    };
    let mut sink = Retiming { records, initial: None, rounds: Vec::new(), changed: None };
    let state = rounds(now, end.rounds, &mut sink)?;
    if let Some(round) = sink.changed {
        return Ok(Replayed::Other(format!("round {round} has another cohort than its records")));
    }
    // A run that diverged would have begun one more round.
    let secs_max = now.scenario.engine_stop().secs_max.filter(|_| end.reason == EndReason::Diverged);
    if state.round < end.rounds || secs_max.is_some_and(|most| state.secs >= most) {
        let round = state.round;
        let reason =
            format!("the cap on virtual time (stop.virtual_hours_max) would end it in round {round}");
        return Ok(Replayed::Other(reason));
    }
    let Retiming { initial, rounds, .. } = sink;
    let end = Some(End { secs: state.secs, ..end });
    Ok(Replayed::Same(Box::new(Records { header: header(records, now), initial, rounds, end })))
}

/// How the run ended, if its rounds and models do not depend on its clock; otherwise the reason.
fn comparable(records: &Records, before: &Clock<'_>, now: &Clock<'_>) -> Result<End, String> {
    let end = records.end.clone().ok_or("the run has not ended")?;
    if records.header.deployed.is_some() {
        return Err("the run was on real devices, whose clock is real".to_owned());
    }
    if records.initial.as_ref().is_some_and(|initial| initial.secs > 0.0) {
        return Err("the run continues from pilots, which are on its clock".to_owned());
    }
    if let Some(reason) = [before, now].iter().find_map(|clock| decided_by_clock(clock.scenario)) {
        return Err(reason.to_owned());
    }
    if end.reason == EndReason::VirtualTimeMax {
        return Err("a cap on virtual time ended the run (stop.virtual_hours_max)".to_owned());
    }
    if before.scenario.download_encoding() != now.scenario.download_encoding() {
        return Err("devices would train from a model in another encoding (downlink.encoding)".to_owned());
    }
    if !same_samples(before, now) {
        return Err("the devices of the new fleet would hold other samples".to_owned());
    }
    if !same_draws(before, now) {
        let scheme = &now.scenario.plan.scheme;
        return Err(format!("{scheme} plans other participation probabilities for the new clock"));
    }
    Ok(end)
}

/// Why the rounds of a scenario depend on its clock, if they do.
pub(crate) fn decided_by_clock(scenario: &Scenario) -> Option<&'static str> {
    let method = scenario.plan.scheme.method();
    if method.buffer().is_some() {
        return Some(
            "devices work without rounds, so that the clock decides which updates arrive when (plan.scheme)",
        );
    }
    if method.depends_on_reports() {
        return Some("its cohorts depend on what devices report, which only training shows (plan.scheme)");
    }
    let deadline = scenario.round.deadline.is_some();
    deadline.then_some("a deadline decides which devices are lost (round.deadline_secs)")
}

/// Whether both plans draw the same cohorts with the same weights. How a plan was found does not matter.
pub(crate) fn same_draws(before: &Clock<'_>, now: &Clock<'_>) -> bool {
    let same = |before: &Plan, now: &Plan| {
        before.q() == now.q() && before.draw_probabilities() == now.draw_probabilities()
    };
    let [before, now] = [before, now].map(|clock| &clock.planned.schedule);
    let same_quiet = match (before.quiet(), now.quiet()) {
        (Some(before), Some(now)) => same(before, now),
        (before, now) => before.is_none() && now.is_none(),
    };
    same(before.usual(), now.usual()) && same_quiet
}

/// Whether the data are shared in the same way: a fleet may say who holds which samples.
fn same_samples(before: &Clock<'_>, now: &Clock<'_>) -> bool {
    use fedflip_learn::task::Sharing;
    let names = |fleet: &Fleet| (0..fleet.len()).map(|n| fleet.name(n).to_owned()).collect::<Vec<_>>();
    before.scenario.data.sharing == now.scenario.data.sharing
        && before.fleet.weights() == now.fleet.weights()
        && (now.scenario.data.sharing != Sharing::ByDevice || names(before.fleet) == names(now.fleet))
}

/// Runs the rounds with empty models, so that only their times are computed.
fn rounds(clock: &Clock<'_>, rounds_max: u64, sink: &mut Retiming<'_>) -> Result<State, RunError> {
    let Clock { scenario, fleet, planned } = *clock;
    let secs_max = scenario.engine_stop().secs_max;
    let engine = Engine {
        fleet,
        schedule: &planned.schedule,
        costs: scenario.round_costs(),
        division: scenario.round.allocation,
        deadline_secs: None,
        deadline_margin: 0.0,
        aggregation: Aggregation::Unbiased,
        optimiser: Optimiser::default(),
        stop: Stop { secs_max, ..Stop::after_rounds(rounds_max) },
    };
    let mut state = State::new(ModelVector::new(Vec::new()));
    let mut nobody = Nobody { devices: fleet.len(), keys: Vec::new() };
    let sampler = scenario.plan.scheme.method().sampler(&planned.schedule, fleet);
    let start = (scenario.seed, 0.0);
    let mut world =
        SimWorld::new(&mut nobody, fleet, &planned.schedule, scenario.world, start).with_sampler(sampler);
    engine.run(&mut world, &mut state, sink)?;
    Ok(state)
}

/// The header of a run on another clock.
fn header(records: &Records, now: &Clock<'_>) -> Header {
    let Clock { scenario, planned, .. } = now;
    Header {
        bandwidth_mbps: scenario.bandwidth.get(),
        costs: scenario.round_costs().into(),
        expected_participants: planned.expected.participants,
        expected_rounds: planned.expected.rounds,
        expected_round_secs: planned.expected.round_secs,
        ..records.header.clone()
    }
}

/// Takes the times of the replayed rounds, and everything else from the records.
struct Retiming<'r> {
    records: &'r Records,
    initial: Option<Initial>,
    rounds: Vec<Round>,
    /// The first round that is not the recorded one.
    changed: Option<u64>,
}

impl Sink for Retiming<'_> {
    fn initial(&mut self, initial: Initial, _: &State) -> Result<Control, BoxedError> {
        let recorded = self.records.initial.as_ref();
        self.initial = recorded.map(|recorded| Initial { secs: initial.secs, ..recorded.clone() });
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
        self.rounds.push(Round { update_norm, train_loss, metrics, estimated, ..timed });
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
