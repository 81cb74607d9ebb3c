//! The paper's settings of each task, and ours where it has none.

use std::collections::BTreeMap;

use fedflip_fleet::profile::PAPER;
use fedflip_fleet::{Conditions, Gflop, Mbit, Mbps, Weights};
use fedflip_learn::sgd::{SgdSettings, Steps};
use fedflip_learn::task::{ExternalTask, Task, TaskSettings};

use super::{
    CostSettings, Data, Evaluate, FleetSource, GeneratedFleet, OwnFiles, Pilots, Planning, Record, Round,
    Scenario, Server, Stop, Train, Update,
};
use crate::error::ScenarioError;

const DEVICES: usize = 100;
const BANDWIDTH_MBPS: f64 = 100.0;

impl Scenario {
    /// The paper's scenario of a task, before a preset.
    pub(super) fn paper(task: Task) -> Result<Self, ScenarioError> {
        let TaskSettings { sharing, validation, test_samples_max, data_seed, sgd, .. } =
            TaskSettings::paper(task, DEVICES);
        let SgdSettings { learning_rate, batch, steps, options } = sgd;
        let train = Train {
            learning_rate: as_written(learning_rate),
            batch,
            steps,
            momentum: as_written(options.momentum),
            weight_decay: as_written(options.weight_decay),
            proximal: as_written(options.proximal),
        };
        let (work, sample_work) = work(task, None, train)?;
        let update = Update::default();
        let bandwidth = Mbps::new(BANDWIDTH_MBPS);
        let bandwidth = bandwidth.map_err(ScenarioError::out_of_range("fleet.bandwidth_mbps"))?;
        Ok(Self {
            seed: 1,
            task,
            initial: None,
            external_settings: BTreeMap::new(),
            data: Data {
                seed: data_seed,
                sharing,
                validation,
                test_samples_max,
                weights: Weights::default(),
                own: OwnFiles::default(),
            },
            evaluate: Evaluate::default(),
            fleet: FleetSource::Generated(GeneratedFleet {
                devices: DEVICES,
                types: PAPER.to_vec(),
                payload: payload(task, None, update)?,
                work,
                sample_work,
            }),
            bandwidth,
            costs: CostSettings::paper(payload(task, None, update)?, bandwidth)?,
            train,
            server: Server::paper(),
            update,
            plan: Planning::of(task)?,
            pilot: Pilots::of(task),
            round: Round::default(),
            world: Conditions::default(),
            stop: Stop::of(task),
            record: Record::of(task)?,
        })
    }
}

/// What a device sends in a round: its update, to the byte.
pub(super) fn payload(
    task: Task,
    external: Option<&ExternalTask>,
    update: Update,
) -> Result<Mbit, ScenarioError> {
    let params = match task.is_external() {
        true => external_params(external),
        false => task.costed_network()?.params_len(),
    };
    Mbit::new(8.0 * update.encoding.bytes(params) as f64 / 1e6)
        .map_err(ScenarioError::out_of_range("fleet.payload_mbit"))
}

/// What a device computes in a round, whatever it holds and for each of its samples: its steps of SGD. Those of an external
/// task are a guess: six operations for each parameter and sample, as in a network of dense layers. Momentum, weight decay
/// and the proximal term are not counted: they are a few operations for each parameter and step.
pub(super) fn work(
    task: Task,
    external: Option<&ExternalTask>,
    train: Train,
) -> Result<(Gflop, Gflop), ScenarioError> {
    let step_flop = match task.is_external() {
        true => 6.0 * external_params(external) as f64 * train.batch as f64,
        false => task.costed_network()?.step_flop(train.batch),
    };
    let gflop = |flop: f64, key| Gflop::new(flop / 1e9).map_err(ScenarioError::out_of_range(key));
    Ok(match train.steps {
        Steps::Iterations(steps) => (gflop(step_flop * steps as f64, "fleet.work_gflop")?, Gflop::ZERO),
        Steps::Epochs(epochs) => {
            let flop = step_flop / train.batch as f64 * epochs as f64;
            (Gflop::ZERO, gflop(flop, "fleet.sample_work_gflop")?)
        }
    })
}

/// Before the file with the tensors is read there is one parameter.
fn external_params(external: Option<&ExternalTask>) -> usize {
    external.map_or(1, ExternalTask::params_len)
}

/// The number that people write for this one: 0.01 as f32 is 0.009999999776482582 as f64.
fn as_written(number: f32) -> f64 {
    number.to_string().parse().unwrap_or(f64::from(number))
}
