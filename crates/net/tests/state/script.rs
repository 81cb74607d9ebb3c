//! A run of a few operations, and what its state must be after each of them.

use std::fs;
use std::path::Path;

use fedflip_fleet::Metrics;
use fedflip_fleet::{Direction, Display, MetricInfo};
use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_learn::model_file;
use fedflip_net::NetError;
use fedflip_net::state::{
    Commit, EnrolledDevice, Fate, NewRun, PlannedDevice, Resumed, RunState, StateView, StoredPlan,
    model_digest,
};
use fedflip_plan::Expected;
use fedflip_record::{
    End, EndReason, Header, Initial, Line, Lost, RecordedCosts, Replan, Round, Target, TargetMode,
};

pub(crate) const RUN_TOML: &str = "seed = 1\nrounds_max = 9\n";

pub(crate) fn params() -> Vec<(String, ParamSpec)> {
    let array = |name: &'static str, shape: &[usize]| {
        let spec = ParamSpec { name, shape: shape.to_vec(), init: Init::Constant(0.0), trained: true };
        (format!("layer.{name}"), spec)
    };
    vec![array("weight", &[3, 2]), array("bias", &[3])]
}

pub(crate) fn model(round: u64) -> Vec<f32> {
    (0..9).map(|place| round as f32 + place as f32 / 7.0).collect()
}

/// What the server remembers beside the model, in this order.
pub(crate) const MEMORY: [&str; 2] = ["first_moment", "average"];

pub(crate) fn memory(round: u64) -> Vec<Vec<f32>> {
    [-1.0, 0.5].map(|factor| model(round).iter().map(|number| factor * number).collect()).to_vec()
}

/// All of a round's numbers, one after the other.
pub(crate) fn all(round: u64) -> Vec<f32> {
    [model(round), memory(round).concat()].concat()
}

/// Opens the run.
pub(crate) fn open(folder: &Path) -> Result<(RunState, Resumed), NetError> {
    open_as(folder, RUN_TOML)
}

pub(crate) fn open_as(folder: &Path, run_toml: &str) -> Result<(RunState, Resumed), NetError> {
    let new_run =
        NewRun { run_toml, free_keys: &["rounds_max"], stop: None, params: &params(), memory: &MEMORY };
    RunState::open(folder, &new_run)
}

/// One thing that a server does.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    Enrol(EnrolledDevice),
    Begin(Header, Box<StoredPlan>),
    Initial(Initial),
    Replan(StoredPlan),
    Commit { record: Round, moved: bool, fates: Vec<(usize, Fate)> },
    End(End),
}

pub(crate) fn device(slot: usize) -> EnrolledDevice {
    EnrolledDevice {
        slot,
        name: format!("phone-{slot}"),
        coin: [slot as u8; 32],
        samples: 10.0 + slot as f64,
        compute_secs: 0.1 + 0.2,
        comm_mbit: 7.5,
    }
}

pub(crate) fn header(devices: usize) -> Header {
    Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "test".to_owned(),
        task: "none".to_owned(),
        scheme: "exact".to_owned(),
        seed: 1,
        devices,
        parameters: 9,
        bandwidth_mbps: 10.0,
        costs: Default::default(),
        metrics: vec![
            MetricInfo::new("accuracy", Direction::Larger, Display::Share),
            MetricInfo::new("loss", Direction::Smaller, Display::Number),
        ],
        stop: Some(Target { metric: "accuracy".to_owned(), at: 0.9, mode: TargetMode::Max }),
        pilot: false,
        expected_participants: 1.0,
        expected_rounds: Some(12.5),
        expected_round_secs: None,
        unbiased: None,
        deployed: None,
    }
}

pub(crate) fn plan(after_round: u64, devices: usize, q: f64) -> StoredPlan {
    StoredPlan {
        after_round,
        secs: 1.5 * after_round as f64,
        reason: format!("q = {q}"),
        scheme: "exact".to_owned(),
        constants: Some([30.0, 2.2]),
        devices: (1..=devices)
            .map(|n| PlannedDevice {
                q,
                availability: 0.9,
                weight: 1.0 / (n as f64 * q),
                quiet: (after_round % 2 == 1).then_some([(2.0 * q).min(0.9), 0.5]),
            })
            .collect(),
        fleet_csv: format!("fleet after {after_round}\n").into_bytes(),
        plan_csv: format!("plan after {after_round}\n").into_bytes(),
        expected: Expected { participants: q * devices as f64, rounds: Some(12.5), round_secs: None },
        costs: RecordedCosts { overhead_secs: 0.1 * q, ..RecordedCosts::default() },
    }
}

/// A round in which `accepted` reported and `lost` did not.
pub(crate) fn commit(round: u64, accepted: &[usize], lost: &[usize]) -> Operation {
    let fate = |slot: &usize| {
        let digest = [*slot as u8 + 100; 32];
        if lost.contains(slot) {
            (*slot, Fate::Lost { reason: "deadline".to_owned() })
        } else {
            (*slot, Fate::Accepted { digest, bytes: 36, train_loss: 0.5 / round as f64 })
        }
    };
    let mut cohort = [accepted, lost].concat();
    cohort.sort_unstable();
    let record = Round {
        round,
        start_secs: 1.5 * (round - 1) as f64,
        round_secs: 1.5,
        mbps: vec![5.0; cohort.len()],
        lost: lost.iter().map(|&device| Lost { device, reason: "deadline".to_owned() }).collect(),
        cohort,
        ..Round::default()
    };
    let fates = record.cohort.iter().map(fate).collect();
    Operation::Commit { record, moved: !accepted.is_empty(), fates }
}

fn evaluated() -> Metrics {
    [("accuracy", 0.25), ("loss", 0.5)].into()
}

pub(crate) fn initial() -> Initial {
    Initial { secs: 0.0, metrics: [("accuracy", 0.125), ("loss", 2.5)].into(), estimated: None }
}

pub(crate) fn end(rounds: u64) -> End {
    let reason = EndReason::Target;
    End {
        reason,
        rounds,
        secs: 1.5 * rounds as f64,
        metrics: Metrics::default(),
        estimated: None,
        test: Default::default(),
        detail: None,
    }
}

/// A run from its first device to its end.
pub(crate) fn script() -> Vec<Operation> {
    vec![
        Operation::Enrol(device(0)),
        Operation::Enrol(device(1)),
        Operation::Begin(header(2), Box::new(plan(0, 2, 0.5))),
        Operation::Initial(initial()),
        commit(1, &[], &[]),
        commit(2, &[0, 1], &[]),
        Operation::Replan(plan(2, 2, 0.25)),
        commit(3, &[1], &[0]),
        commit(4, &[], &[1]),
        // One that comes again, having become faster.
        Operation::Enrol(EnrolledDevice { compute_secs: 0.2, ..device(1) }),
        Operation::Enrol(device(2)),
        Operation::Replan(plan(4, 3, 0.25)),
        commit(5, &[0, 1, 2], &[]),
        commit(6, &[2], &[]),
        Operation::End(end(6)),
    ]
}

/// Does it.
pub(crate) fn apply(state: &mut RunState, operation: &Operation) -> Result<(), NetError> {
    match operation {
        Operation::Enrol(device) => state.enrol(device),
        Operation::Begin(header, plan) => state.begin(header, plan),
        Operation::Initial(initial) => state.initial(initial),
        Operation::Replan(plan) => state.replan(plan, &[]),
        Operation::Commit { record, moved, fates } => {
            let (model, memory) = (model(record.round), memory(record.round));
            let memory: Vec<&[f32]> = memory.iter().map(Vec::as_slice).collect();
            state.commit(&Commit {
                record,
                secs: 1.5 * record.round as f64,
                model: moved.then_some(&model[..]),
                memory: &memory,
                evaluated: moved.then_some(&evaluated()),
                fates,
                measures: &format!("[{}]", record.round),
                norms: &format!("{{\"0\":{}}}", record.round),
            })
        }
        Operation::End(end) => state.end(end, &memory(end.rounds)[1]),
    }
}

/// What the state must be, worked out without it.
#[derive(Clone, Debug)]
pub(crate) struct Oracle {
    pub resumed: Resumed,
    pub lines: Vec<Line>,
    pub model_round: u64,
    fates: Vec<Vec<(usize, Fate)>>,
}

impl Oracle {
    pub(crate) fn new(run_id: [u8; 16]) -> Self {
        let resumed = Resumed {
            run_id,
            round: 0,
            secs: 0.0,
            model: None,
            memory: Vec::new(),
            evaluated: None,
            end: None,
            devices: Vec::new(),
            plan: None,
            header: None,
            measures: None,
            norms: None,
        };
        Self { resumed, lines: Vec::new(), model_round: 0, fates: Vec::new() }
    }

    pub(crate) fn apply(&mut self, operation: &Operation) {
        let resumed = &mut self.resumed;
        match operation {
            Operation::Enrol(device) => {
                resumed.devices.retain(|known| known.slot != device.slot);
                resumed.devices.insert(device.slot, device.clone());
            }
            Operation::Begin(header, plan) => {
                (resumed.header, resumed.plan) = (Some(header.clone()), Some((**plan).clone()));
                self.lines.push(Line::Header(header.clone()));
            }
            Operation::Replan(plan) => {
                let before = resumed.plan.replace(plan.clone()).unwrap();
                let same = |slot: &usize| {
                    before.devices.get(*slot).is_some_and(|known| known.q == plan.devices[*slot].q)
                };
                self.lines.push(Line::Replan(Replan {
                    after_round: plan.after_round,
                    secs: plan.secs,
                    reason: plan.reason.clone(),
                    devices: plan.devices.len(),
                    benched: Vec::new(),
                    retired: Vec::new(),
                    changed: plan.devices.len() - (0..plan.devices.len()).filter(same).count(),
                    expected_participants: plan.expected.participants,
                    expected_rounds: plan.expected.rounds,
                    expected_round_secs: plan.expected.round_secs,
                    costs: plan.costs,
                }));
            }
            Operation::Initial(initial) => {
                resumed.evaluated = Some(initial.metrics.clone());
                self.lines.push(Line::Initial(initial.clone()));
            }
            Operation::Commit { record, moved, fates } => {
                (resumed.round, resumed.secs) = (record.round, 1.5 * record.round as f64);
                resumed.measures = Some(format!("[{}]", record.round));
                resumed.norms = Some(format!("{{\"0\":{}}}", record.round));
                resumed.evaluated = moved.then(evaluated);
                if *moved {
                    self.model_round = record.round;
                    (resumed.model, resumed.memory) = (Some(model(record.round)), memory(record.round));
                }
                self.lines.push(Line::Round(record.clone()));
                self.fates.push(fates.clone());
            }
            Operation::End(end) => {
                resumed.end = Some(end.clone());
                self.lines.push(Line::End(end.clone()));
            }
        }
    }

    /// Opens the folder and compares everything in it; gives back the open state.
    pub(crate) fn check(&self, folder: &Path, when: &str) -> RunState {
        let (state, resumed) = open(folder).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert_eq!(resumed, self.resumed, "{when}");
        self.check_files(folder, when);
        assert_eq!(state.round(), resumed.round);
        let view = StateView::open(folder).unwrap();
        assert_eq!(view.rounds().unwrap(), self.fates.len() as u64, "{when}");
        for (number, fates) in (1..).zip(&self.fates) {
            assert_eq!(view.fates(number).unwrap(), *fates, "{when}, round {number}");
        }
        let found = view.model(&params(), &MEMORY).unwrap();
        assert_eq!(found.as_ref().map(|found| found.numbers.clone()), self.resumed.model, "{when}");
        assert_eq!(found.as_ref().map_or(&[][..], |found| &found.memory), self.resumed.memory, "{when}");
        assert_eq!(
            found.map(|found| (found.round, found.sha256)),
            self.resumed.model.as_ref().map(|_| (self.model_round, model_digest(&all(self.model_round))))
        );
        state
    }

    fn check_files(&self, folder: &Path, when: &str) {
        let mut lines = Vec::new();
        for line in &self.lines {
            serde_json::to_writer(&mut lines, line).unwrap();
            lines.push(b'\n');
        }
        assert_eq!(fs::read(folder.join("records.jsonl")).unwrap(), lines, "{when}");
        assert_eq!(fs::read_to_string(folder.join("run.toml")).unwrap(), RUN_TOML, "{when}");
        let mut wanted = vec![".lock", "models", "records.jsonl", "run.toml", "state.sqlite"];
        if let Some(plan) = &self.resumed.plan {
            wanted.extend(["fleet.csv", "plan.csv"]);
            assert_eq!(fs::read(folder.join("fleet.csv")).unwrap(), plan.fleet_csv, "{when}");
            assert_eq!(fs::read(folder.join("plan.csv")).unwrap(), plan.plan_csv, "{when}");
        }
        let names = |folder: &Path| -> Vec<String> {
            let files = fs::read_dir(folder).unwrap();
            let mut names: Vec<String> =
                files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        wanted.sort_unstable();
        let found = names(folder);
        // The database's own, and the model, which is written before the end is committed.
        let ours = |name: &&String| {
            !["state.sqlite-wal", "state.sqlite-shm", "model.safetensors"].contains(&name.as_str())
        };
        assert_eq!(found.iter().filter(ours).collect::<Vec<_>>(), wanted, "{when}");
        assert!(self.resumed.end.is_none() || found.contains(&"model.safetensors".to_owned()), "{when}");
        if self.resumed.end.is_some() {
            let shown = fs::read(folder.join("model.safetensors")).unwrap();
            let shown = model_file::read(&params(), &shown, "model.safetensors").unwrap();
            assert_eq!(shown, memory(self.model_round)[1], "{when}: the average is what is shown");
        }
        let models = (self.model_round > 0).then(|| format!("{:08}.safetensors", self.model_round));
        assert_eq!(names(&folder.join("models")), models.into_iter().collect::<Vec<_>>(), "{when}");
    }
}
