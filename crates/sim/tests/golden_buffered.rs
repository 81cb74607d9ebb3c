//! Devices without rounds, against slow plain Python: `golden/buffered.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::ops::Range;

use fedflip_engine::{Aggregation, BoxedError, Control, Engine, Optimiser, Sink, State, Stop};
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::{Columns, Conditions, Downlink, Download, Fleet, Mbps, ModelVector, RoundCosts};
use fedflip_learn::{LearnError, Learner, Sums, TrainKey, with_crew};
use fedflip_plan::{Buffered, Plan, Schedule, Scheme};
use fedflip_record::Round;
use fedflip_sim::{BufferedWorld, SimWorld, Timeline};
use serde::Deserialize;

const GOLDEN: &str = include_str!("golden/buffered.json");
const RATE: f32 = 0.25;

/// Compute time, load, limit of the link, and the point towards which the device moves the model.
type Row = (f64, f64, Option<f64>, [f32; 2]);

#[derive(Deserialize)]
struct Case {
    updates: usize,
    overhead: f64,
    download: Option<[f64; 2]>,
    unicast: bool,
    devices: Vec<Row>,
    band: f64,
    steps: u64,
    expected: Vec<Expected>,
}

#[derive(Deserialize)]
struct Expected {
    secs: f64,
    cohort: Vec<usize>,
    lags: Vec<u64>,
    model: [f32; 2],
}

/// Moves the model towards each device's own point.
struct Points(Vec<[f32; 2]>);

impl Learner for Points {
    type Worker = ();

    fn devices(&self) -> usize {
        self.0.len()
    }

    fn samples(&self, _device: usize) -> usize {
        1
    }

    fn params_len(&self) -> usize {
        2
    }

    fn initial_model(&self, _seed: u64) -> ModelVector {
        ModelVector::new(vec![0.0; 2])
    }

    fn worker(&self) {}

    fn train(
        &self,
        (): &mut (),
        model: &[f32],
        key: TrainKey,
        update: &mut [f32],
    ) -> Result<f64, LearnError> {
        for (at, update) in update.iter_mut().enumerate() {
            *update = RATE * (self.0[key.device][at] - model[at]);
        }
        Ok(1.0)
    }

    fn score(&self, (): &mut (), _: &[f32], _: Range<usize>, _: &mut Sums) -> Result<(), LearnError> {
        Ok(())
    }
}

/// Keeps the record and the model of every step.
#[derive(Default)]
struct Models(Vec<(Round, Vec<f32>)>);

impl Sink for Models {
    fn round(&mut self, record: Round, (): (), state: &State) -> Result<Control, BoxedError> {
        self.0.push((record, state.model.as_slice().to_vec()));
        Ok(Control::GoOn)
    }
}

impl Case {
    fn fleet(&self) -> Fleet {
        let column = |of: fn(&Row) -> f64| -> Vec<f64> { self.devices.iter().map(of).collect() };
        // No device gets more than the bandwidth.
        let limits: Vec<f64> = self.devices.iter().map(|device| device.2.unwrap_or(self.band)).collect();
        Fleet::from_columns(Columns {
            compute_secs: &column(|device| device.0),
            comm_secs: &column(|device| device.1),
            samples: &column(|_| 1.0),
            link_mbps: Some(&limits),
            ..Columns::default()
        })
        .unwrap()
    }

    fn costs(&self) -> RoundCosts {
        let download = self
            .download
            .map(|[mbps, per_upload]| Download { bandwidth: Mbps::new(mbps).unwrap(), per_upload });
        let downlink = match download {
            None => Downlink::None,
            Some(download) if self.unicast => Downlink::Unicast(download),
            Some(download) => Downlink::Broadcast(download),
        };
        RoundCosts { downlink, overhead_secs: self.overhead, ..Mbps::new(self.band).unwrap().into() }
    }

    /// The steps of the scheme, or the rounds if it has some.
    fn steps_of(&self, scheme: &str) -> Vec<(Round, Vec<f32>)> {
        let (fleet, learner) = (self.fleet(), Points(self.devices.iter().map(|device| device.3).collect()));
        let scheme: Scheme = scheme.parse().unwrap();
        let schedule = Schedule::new(Plan::baseline(&fleet, &scheme).unwrap(), u64::MAX);
        let engine = Engine {
            fleet: &fleet,
            schedule: &schedule,
            costs: self.costs(),
            division: Division::Adaptive,
            deadline_secs: None,
            deadline_margin: 0.0,
            aggregation: Aggregation::Unbiased,
            optimiser: Optimiser::default(),
            stop: Stop::after_rounds(self.steps),
        };
        let (mut state, mut models) = (State::new(learner.initial_model(1)), Models::default());
        with_crew(&learner, 1, |crew| {
            let (conditions, clock, sink) = (Conditions::default(), (1, 0.0), &mut models);
            let Some(updates) = scheme.method().buffer() else {
                let mut world = SimWorld::new(crew, &fleet, &schedule, conditions, clock);
                return engine.run(&mut world, &mut state, sink).unwrap();
            };
            let buffered = Buffered::new(updates, Some(fleet.len()), fleet.len()).unwrap();
            let timeline = Timeline::new(&fleet, buffered, self.costs(), conditions, clock);
            let mut world = BufferedWorld::new(crew, timeline, buffered, clock.0);
            engine.run(&mut world, &mut state, sink).unwrap()
        });
        models.0
    }

    fn steps(&self) -> Vec<(Round, Vec<f32>)> {
        self.steps_of(&format!("fedbuff={}", self.updates))
    }
}

#[test]
fn steps_lags_and_models_are_those_of_slow_plain_python() {
    let cases: Vec<Case> = serde_json::from_str(GOLDEN).unwrap();
    assert!(cases.len() >= 6);
    for case in &cases {
        let steps = case.steps();
        assert_eq!(steps.len(), case.expected.len());
        let about = (case.updates, case.overhead, case.download);
        for ((record, model), expected) in steps.iter().zip(&case.expected) {
            assert_eq!((&record.cohort, &record.lags), (&expected.cohort, &expected.lags), "{about:?}");
            assert!(
                (record.end_secs() / expected.secs - 1.0).abs() < 1e-9,
                "{about:?} {}",
                record.end_secs()
            );
            for (ours, theirs) in model.iter().zip(expected.model) {
                assert!((ours - theirs).abs() < 1e-5, "{about:?} {model:?}");
            }
        }
    }
}

/// A buffer for everybody: a step adds the same mean as a round in which everybody takes part, for equal data.
#[test]
fn a_buffer_for_everybody_is_a_round_of_everybody() {
    let cases: Vec<Case> = serde_json::from_str(GOLDEN).unwrap();
    let case = cases.iter().find(|case| case.updates == case.devices.len()).unwrap();
    for ((step, after_step), (round, after_round)) in case.steps().iter().zip(case.steps_of("full")) {
        assert_eq!((&step.cohort, step.round), (&round.cohort, round.round));
        assert!(after_step.iter().zip(after_round).all(|(ours, theirs)| (ours - theirs).abs() < 1e-6));
    }
}

/// One device at a time and one update per step: plain sequential training.
#[test]
fn one_device_at_a_time_is_sequential() {
    let case = Case {
        updates: 1,
        overhead: 0.5,
        download: None,
        unicast: false,
        devices: vec![(2.0, 4.0, None, [1.0, -1.0])],
        band: 2.0,
        steps: 3,
        expected: Vec::new(),
    };
    let steps = case.steps();
    let secs: Vec<f64> = steps.iter().map(|(record, _)| record.end_secs()).collect();
    assert_eq!(secs, [4.5, 9.0, 13.5], "computation, upload and the server's own time");
    let models: Vec<f32> = steps.iter().map(|(_, model)| model[0]).collect();
    assert_eq!(models, [0.25, 0.4375, 0.578_125]);
    assert!(steps.iter().all(|(record, _)| record.lags == [0] && record.mbps == [2.0]));
}
