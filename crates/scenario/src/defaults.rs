//! The paper's settings of each task, and ours where it has none; under `auto` what we found to be best.

use fedflip_engine::Aggregation;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profile::PAPER;
use fedflip_fleet::{Gflop, Mbit, Mbps, Secs};
use fedflip_learn::Encoding;
use fedflip_learn::sgd::SgdSettings;
use fedflip_learn::task::{Task, TaskSettings};
use fedflip_plan::solve::auto;
use fedflip_plan::{Constants, Scheme};

use super::server::Kind;
use super::{
    Data, FleetSource, MadeUp, Pilots, Planning, Record, Round, Scenario, Server, Stop, Train, Update, World,
};
use crate::error::ScenarioError;

/// A number that the task's row has for a key; checks refuse what is not a number.
fn number(task: Task, key: &str) -> f64 {
    task.row().default_number(key).unwrap_or(f64::NAN)
}

/// What `auto` brings to a task besides its noise, as docs/RESULTS.md has measured it: Adam takes the
/// step that suits its task, and averaging takes out the noise that few devices a round leave. On the convex task
/// Adam loses; and running variances of batch norm bear neither an optimiser nor rounding.
fn of_auto(task: Task) -> (Server, Update) {
    let tuned = |key: &str| {
        let found = task.tuned().iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value.trim_matches('"'))
    };
    let number = |key: &str| tuned(key).and_then(|value| value.parse().ok());
    let kind = if tuned("server.optimiser") == Some("adam") { Kind::Adam } else { Kind::None };
    let mut server = kind.server();
    server.step = number("server.step").unwrap_or(server.step);
    server.momentum = number("server.momentum").unwrap_or(server.momentum);
    server.averaging = number("server.averaging").unwrap_or(server.averaging);
    let encoding = tuned("update.encoding").and_then(|name| {
        Encoding::ALL.iter().find(|(known, _)| *known == name).map(|(_, encoding)| *encoding)
    });
    (server, encoding.map_or(Update::paper(), |encoding| Update { encoding }))
}

/// Of quiet rounds, where they are what takes the noise out of a model before it is looked at.
const QUIET_NOISE: f64 = 0.1;

/// Rounds from one quiet one to the next, which takes twice as long as another there.
pub const QUIET_EVERY: u64 = 20;
/// What a deadline keeps free for compute times that vary.
pub(crate) const DEADLINE_MARGIN: f64 = 0.1;

const DEVICES: usize = 100;
const BAND_MBPS: f64 = 100.0;
const CHECKPOINT_SECS: f64 = 10.0;

impl Scenario {
    /// A task of which nothing else is said.
    pub fn of(task: Task) -> Result<Self, ScenarioError> {
        let mut scenario = Self::paper(task)?;
        scenario.follow_scheme();
        if let FleetSource::MadeUp(made_up) = &mut scenario.fleet {
            made_up.payload = payload(task, scenario.update)?;
        }
        Ok(scenario)
    }

    /// What follows from task and scheme where nothing is said of it, but for the payload, which follows from that.
    pub(super) fn follow_scheme(&mut self) {
        if self.plan.scheme == Scheme::Auto {
            (self.server, self.update) = of_auto(self.task);
            self.plan.noise = self.follows_noise();
            self.plan.quiet_noise = self.follows_quiet_noise();
        }
    }

    /// The noise that `auto` allows where nothing is said of it, as docs/RESULTS.md has measured it. Where training takes
    /// many rounds an optimiser bears a larger step with an eighth of the usual noise: seven devices a round instead of
    /// one, in rounds that are three times as long. Without one a third of it is best on MobileNet.
    pub(super) fn follows_noise(&self) -> f64 {
        match (self.task.name(), self.server.kind) {
            ("cifar10-mobilenet", Kind::None) => 0.5,
            ("shakespeare-lstm", Kind::None) => auto::NOISE,
            ("cifar10-mobilenet" | "shakespeare-lstm", _) => auto::NOISE / 8.0,
            _ => auto::NOISE,
        }
    }

    /// The same of quiet rounds. An average of models takes out what noise leaves in them; without one quiet rounds do,
    /// and are worth their time on MobileNet (experiments/cifar-quiet); on MNIST and the LSTM they are not.
    pub(super) fn follows_quiet_noise(&self) -> Option<f64> {
        let noisy = self.task.name() == "cifar10-mobilenet"
            && self.server.averaging <= 0.0
            && self.plan.noise > QUIET_NOISE;
        (noisy && self.plan.scheme == Scheme::Auto).then_some(QUIET_NOISE)
    }

    /// The paper's scenario of a task, but for the scheme.
    pub(super) fn paper(task: Task) -> Result<Self, ScenarioError> {
        let TaskSettings { sharing, test_samples_max, data_seed, sgd, .. } =
            TaskSettings::paper(task, DEVICES);
        let SgdSettings { learning_rate, batch, iterations } = sgd;
        let train = Train { learning_rate: as_written(learning_rate), batch, iterations };
        let update = Update::paper();
        Ok(Self {
            seed: 1,
            task,
            data: Data { seed: data_seed, sharing, test_samples_max },
            fleet: FleetSource::MadeUp(MadeUp {
                devices: DEVICES,
                types: PAPER.to_vec(),
                payload: payload(task, update)?,
                work: work(task, train)?,
            }),
            band: Mbps::new(BAND_MBPS).map_err(ScenarioError::out_of_range("fleet.bandwidth_mbps"))?,
            train,
            server: Server::paper(),
            update,
            plan: Planning {
                scheme: Scheme::Auto,
                constants: Constants::new(number(task, "plan.alpha"), number(task, "plan.beta"))?,
                noise: auto::NOISE,
                quiet_noise: None,
                quiet_every: QUIET_EVERY,
            },
            pilot: Pilots { loss: number(task, "pilot.loss"), seeds: 3, rounds_max: 2_000, keep: false },
            round: Round {
                allocation: Division::Adaptive,
                aggregation: Aggregation::Unbiased,
                overhead: Secs::new(0.0).map_err(ScenarioError::out_of_range("round.overhead_secs"))?,
                deadline: None,
                deadline_margin: DEADLINE_MARGIN,
            },
            world: World { compute_jitter: 0.0, fading_db: 0.0, dropout: 0.0 },
            stop: Stop {
                target_accuracy: number(task, "stop.target_accuracy"),
                target_loss: None,
                rounds_max: 20_000,
                virtual_hours_max: None,
                real_hours_max: None,
            },
            record: Record {
                evaluate_every: number(task, "record.evaluate_every") as u64,
                checkpoint: Secs::new(CHECKPOINT_SECS)
                    .map_err(ScenarioError::out_of_range("record.checkpoint_secs"))?,
            },
        })
    }
}

/// What a device sends in a round: its update, to the byte.
pub(super) fn payload(task: Task, update: Update) -> Result<Mbit, ScenarioError> {
    let params = task.costed_network()?.params_len();
    Mbit::new(8.0 * update.encoding.bytes(params) as f64 / 1e6)
        .map_err(ScenarioError::out_of_range("fleet.payload_mbit"))
}

/// What a device computes in a round: its steps of SGD.
pub(super) fn work(task: Task, train: Train) -> Result<Gflop, ScenarioError> {
    let step_flop = task.costed_network()?.step_flop(train.batch);
    Gflop::new(step_flop * train.iterations as f64 / 1e9)
        .map_err(ScenarioError::out_of_range("fleet.work_gflop"))
}

/// The number that people write for this one: 0.01 as f32 is 0.009999999776482582 as f64.
fn as_written(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
