//! What a run's folder claims, computed again from nothing: every committed round must be the sum of the updates
//! it accepted, each exactly once, or what the server's optimiser makes of that sum, to the byte.

use std::path::Path;

use fedflip_engine::Optimiser;
use fedflip_engine::optimiser::{Adaptive, Rule};
use fedflip_fleet::{Purpose, StreamKey};
use fedflip_learn::sgd::SgdLearner;
use fedflip_learn::{Encoding, Learner, TrainKey, model_file};
use fedflip_net::coin::Toss;
use fedflip_net::plain;
use fedflip_net::state::{Fate, PlannedDevice, StateView, model_digest};
use fedflip_net::wire::numbers::digest_of_bytes;
use fedflip_record::{Round, reader};

/// What a folder turned out to hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Replayed {
    /// Rounds committed.
    pub(crate) rounds: u64,
    /// Updates that are in the model.
    pub(crate) accepted: usize,
    /// Parts in a round that are not.
    pub(crate) lost: usize,
    /// Whether the run is over.
    pub(crate) ended: bool,
}

/// Replays the run in a folder, finished or killed. Panics where something is not as it must be.
pub(crate) fn replay(
    folder: &Path,
    learner: &SgdLearner,
    seed: u64,
    (optimiser, [download_encoding, encoding], quiet_every): (&Optimiser, [Encoding; 2], Option<u64>),
) -> Replayed {
    let view = StateView::open(folder).unwrap();
    let mut trainer = Trainer { learner, seed, download_encoding, encoding, worker: learner.worker() };
    let mut server = ByHand::new(*optimiser, learner.initial_model(seed).as_slice());
    let mut moved_in = 0;
    let mut replayed = Replayed {
        rounds: view.rounds().unwrap(),
        ended: view.end().unwrap().is_some(),
        ..Replayed::default()
    };
    let mut records = Vec::new();
    for number in 1..=replayed.rounds {
        let stored = view.round(number).unwrap().unwrap_or_else(|| panic!("round {number} is missing"));
        let plan = view.plan(stored.plan).unwrap().expect("the plan of a round");
        assert!(plan.after_round < number, "round {number} is older than its plan");
        let fates = view.fates(number).unwrap();
        check_fates(&stored.record, &fates);
        let is_quiet = quiet_every.is_some_and(|every| number.is_multiple_of(every));
        let has_quiet = plan.devices.iter().all(|device| device.quiet.is_some());
        assert_eq!(has_quiet, quiet_every.is_some(), "round {number}: a plan of other rounds");
        let of_round =
            |device: &PlannedDevice| device.quiet.filter(|_| is_quiet).unwrap_or([device.q, device.weight]);
        let (q, weights): (Vec<f64>, Vec<f64>) =
            plan.devices.iter().map(|device| of_round(device).into()).unzip();
        let availability: Vec<f64> = plan.devices.iter().map(|device| device.availability).collect();
        check_coins(&view, number, (&q, &availability), &fates);
        let mut step: Option<Vec<f32>> = None;
        for (slot, fate) in &fates {
            let Fate::Accepted { digest, bytes, train_loss } = fate else {
                replayed.lost += 1;
                continue;
            };
            replayed.accepted += 1;
            let (sent, delta, loss) = trainer.train(&server.model, number, *slot);
            assert_eq!(*digest, digest_of_bytes(&sent), "round {number}, device {slot}: another update");
            assert_eq!((*bytes, *train_loss), (sent.len() as u64, loss), "round {number}, device {slot}");
            add(&mut step, weights[*slot] as f32, &delta);
        }
        if server.round(number, step.as_deref()) {
            moved_in = number;
        }
        let digest = (moved_in > 0).then(|| model_digest(&server.all()));
        assert_eq!((stored.model_round, stored.model_sha256), (moved_in, digest), "the model of {number}");
        records.push(stored.record);
    }
    check_model(&view, learner, moved_in, &server);
    if replayed.ended {
        let shown = std::fs::read(folder.join(fedflip_record::folder::MODEL)).unwrap();
        let shown = model_file::read(&learner.network().params(), &shown, "model.safetensors").unwrap();
        assert_eq!(model_digest(&shown), model_digest(server.result()), "the model at the end");
    }
    check_records(folder, &view, &records);
    replayed
}

struct Trainer<'a> {
    learner: &'a SgdLearner,
    seed: u64,
    download_encoding: Encoding,
    encoding: Encoding,
    worker: <SgdLearner as Learner>::Worker,
}

impl Trainer<'_> {
    /// The bytes that the device has sent, the numbers that came out of them, and the loss.
    fn train(&mut self, model: &[f32], round: u64, device: usize) -> (Vec<u8>, Vec<f32>, f64) {
        let mut delta = vec![0.0; model.len()];
        let key = TrainKey::new(self.seed, round, device);
        let mut received = model.to_vec();
        let rounding = StreamKey { seed: self.seed, purpose: Purpose::ModelRounding, round };
        self.download_encoding.round_trip(&mut received, &mut rounding.shared());
        let loss = self.learner.train(&mut self.worker, &received, key, &mut delta).unwrap();
        let mut sent = Vec::new();
        self.encoding.encode(&delta, &mut key.rounding(), &mut sent);
        self.encoding.decode(&sent, &mut delta).unwrap();
        (sent, delta, loss)
    }
}

/// In device order, by hand: what checks the engine must not be the engine.
fn add(step: &mut Option<Vec<f32>>, weight: f32, delta: &[f32]) {
    match step {
        None => *step = Some(delta.iter().map(|number| weight * number).collect()),
        Some(step) => step.iter_mut().zip(delta).for_each(|(sum, number)| *sum += weight * number),
    }
}

/// What the server makes of the sums, a number at a time: what checks the engine must not be the engine.
struct ByHand {
    optimiser: Optimiser,
    model: Vec<f32>,
    first: Vec<f32>,
    second: Vec<f32>,
    average: Vec<f32>,
}

impl ByHand {
    fn new(optimiser: Optimiser, model: &[f32]) -> Self {
        let zeros = vec![0.0; model.len()];
        Self {
            optimiser,
            model: model.to_vec(),
            first: zeros.clone(),
            second: zeros,
            average: model.to_vec(),
        }
    }

    /// Whether anything may have changed.
    fn round(&mut self, round: u64, step: Option<&[f32]>) -> bool {
        if self.optimiser == Optimiser::default() && step.is_none() {
            return false;
        }
        let keep = self.optimiser.averaging.min(1.0 - 1.0 / (round as f64 + 1.0));
        for k in 0..self.model.len() {
            let g = step.map_or(-0.0, |step| step[k]);
            let (x, m, v) = (&mut self.model[k], &mut self.first[k], &mut self.second[k]);
            match self.optimiser.rule {
                Rule::None => *x += g,
                Rule::Momentum { step, momentum } => {
                    *m = nearly_zero_is_zero(momentum as f32 * *m + g);
                    *x += step as f32 * *m;
                }
                Rule::Adam(settings) => {
                    *v = settings.second_moment as f32 * *v + (1.0 - settings.second_moment) as f32 * (g * g);
                    *x += adaptive_step(settings, round, g, m, v);
                }
                Rule::Yogi(settings) => {
                    let change = (1.0 - settings.second_moment) as f32 * (g * g);
                    if *v < g * g {
                        *v += change;
                    } else if *v > g * g {
                        *v -= change;
                    }
                    *x += adaptive_step(settings, round, g, m, v);
                }
            }
            self.average[k] += (1.0 - keep) as f32 * (*x - self.average[k]);
        }
        true
    }

    fn result(&self) -> &[f32] {
        if self.optimiser.averaging > 0.0 { &self.average } else { &self.model }
    }

    /// What is committed, one vector after the other.
    fn all(&self) -> Vec<f32> {
        let mut all = self.model.clone();
        for name in self.optimiser.names() {
            all.extend(match name {
                "first_moment" => &self.first,
                "second_moment" => &self.second,
                _ => &self.average,
            });
        }
        all
    }
}

fn adaptive_step(settings: Adaptive, round: u64, g: f32, m: &mut f32, v: &mut f32) -> f32 {
    let Adaptive { step, momentum, second_moment, epsilon } = settings;
    *v = nearly_zero_is_zero(*v);
    *m = nearly_zero_is_zero(momentum as f32 * *m + (1.0 - momentum) as f32 * g);
    let scale = (step / (1.0 - power(momentum, round))) as f32;
    let correction = (1.0 / (1.0 - power(second_moment, round))) as f32;
    scale * *m / ((*v * correction).sqrt() + epsilon as f32)
}

fn nearly_zero_is_zero(number: f32) -> f32 {
    if number.abs() < f32::MIN_POSITIVE { 0.0 } else { number }
}

/// Of squares of squares, from the smallest on.
fn power(base: f64, exponent: u64) -> f64 {
    let bits = (0..u64::BITS).take_while(|bit| exponent >> bit > 0);
    let mut square = base;
    bits.fold(1.0, |product, bit| {
        let factor = if exponent >> bit & 1 == 1 { square } else { 1.0 };
        square *= square;
        product * factor
    })
}

/// Everybody in the cohort has one fate, nobody else has any, and the record says the same of the lost.
fn check_fates(record: &Round, fates: &[(usize, Fate)]) {
    let round = record.round;
    assert!(record.cohort.is_sorted_by(|a, b| a < b), "round {round}: somebody is in the cohort twice");
    let slots: Vec<usize> = fates.iter().map(|(slot, _)| *slot).collect();
    assert_eq!(slots, record.cohort, "round {round}");
    let lost = fates.iter().filter_map(|(slot, fate)| match fate {
        Fate::Lost { reason } => Some((*slot, reason.as_str())),
        Fate::Accepted { .. } => None,
    });
    assert!(lost.eq(record.lost.iter().map(|lost| (lost.device, lost.reason.as_str()))), "round {round}");
}

/// Nobody took part whose coin says no, where the coins are those of names.
fn check_coins(view: &StateView, round: u64, (q, availability): (&[f64], &[f64]), fates: &[(usize, Fate)]) {
    let toss = Toss { run: view.run_id().unwrap(), round };
    let devices = view.devices().unwrap();
    for (slot, _) in fates {
        let device = &devices[*slot];
        let coin = plain::coin(&device.name.parse().unwrap()).unwrap();
        if coin.public().to_bytes() == device.coin {
            let q = (q[*slot] / availability[*slot]).min(1.0);
            assert!(
                coin.flip(toss).0.joins(q),
                "round {round}: {} was in with a coin that says no",
                device.name
            );
        }
    }
}

/// The file that the database names is the model that came out here.
fn check_model(view: &StateView, learner: &SgdLearner, moved_in: u64, server: &ByHand) {
    let stored = view.model(&learner.network().params(), &server.optimiser.names()).unwrap();
    assert_eq!(stored.as_ref().map_or(0, |stored| stored.round), moved_in);
    if let Some(stored) = stored {
        assert_eq!(model_digest(&stored.numbers), model_digest(&server.model));
    }
}

/// What readers see follows the database: the same, or one line behind where the server was killed.
fn check_records(folder: &Path, view: &StateView, rounds: &[Round]) {
    let path = folder.join(fedflip_record::folder::RECORDS);
    let Some(header) = view.header().unwrap() else { return };
    let Ok(records) = reader::read(&path) else {
        assert!(rounds.is_empty(), "{}: cannot be read", path.display());
        return;
    };
    assert_eq!(records.header, header);
    let (ended, behind) = (view.end().unwrap(), rounds.len() - records.rounds.len());
    assert!(behind == 0 || (behind == 1 && ended.is_none()), "the records are {behind} rounds behind");
    assert_eq!(records.rounds, rounds[..records.rounds.len()]);
    assert!(records.end.is_none() || records.end == ended);
}
