//! The paper's settings of each task, and ours where it has none.

use fedflip_engine::Aggregation;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profile::PAPER;
use fedflip_fleet::{Gflop, Mbit, Mbps, Secs};
use fedflip_learn::sgd::SgdSettings;
use fedflip_learn::task::{Task, TaskSettings};
use fedflip_plan::{Constants, DEFAULT_VARIANCE, Scheme};

use fedflip_record::{Target, TargetMode};

use super::{
    Data, FleetSource, GeneratedFleet, Pilots, Planning, Record, Round, Scenario, Server, Stop, Train,
    Update, World,
};
use crate::error::ScenarioError;

/// A number that the task's row has for a key; checks refuse what is not a number.
fn number(task: Task, key: &str) -> f64 {
    task.row().default_number(key).unwrap_or(f64::NAN)
}

/// Rounds from one quiet round to the next; a quiet round takes about twice as long as another.
pub const QUIET_EVERY: u64 = 20;
/// What a deadline keeps free for compute times that vary.
pub(crate) const DEADLINE_MARGIN: f64 = 0.1;

const DEVICES: usize = 100;
const BAND_MBPS: f64 = 100.0;
const CHECKPOINT_SECS: f64 = 10.0;

impl Scenario {
    /// The paper's scenario of a task, before a preset.
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
            fleet: FleetSource::Generated(GeneratedFleet {
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
                variance: DEFAULT_VARIANCE,
                quiet_variance: None,
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
                target: Target {
                    metric: "accuracy".to_owned(),
                    at: number(task, "stop.target_accuracy"),
                    mode: TargetMode::Max,
                },
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
