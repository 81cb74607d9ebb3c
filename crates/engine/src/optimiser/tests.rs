//! Every rule against formulas worked out in double precision by other code, and against PyTorch.

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use proptest::prelude::*;

use super::{Adaptive, BLOCK, Memory, Optimiser, Rule};

const ADAPTIVE: Adaptive = Adaptive { step: 0.1, momentum: 0.9, second_moment: 0.99, epsilon: 1e-3 };

fn rules() -> [Rule; 4] {
    [
        Rule::None,
        Rule::Momentum { step: 0.75, momentum: 0.5 },
        Rule::Adam(ADAPTIVE),
        Rule::Yogi(Adaptive { second_moment: 0.9, ..ADAPTIVE }),
    ]
}

/// A model that goes through rounds.
struct Server {
    optimiser: Optimiser,
    round: u64,
    model: Arc<ModelVector>,
    memory: Memory,
}

impl Server {
    fn new(optimiser: Optimiser, model: &[f32]) -> Self {
        let model = Arc::new(ModelVector::new(model.to_vec()));
        Self { memory: optimiser.memory(&model), optimiser, round: 0, model }
    }

    /// Whether all of it are numbers.
    fn round(&mut self, step: Option<&[f32]>) -> bool {
        self.round += 1;
        let (mut model, mut memory) = (ModelVector::clone(&self.model), self.memory.room());
        let from = (&*self.model, &self.memory);
        let finite = self.optimiser.advance(self.round, from, step, (&mut model, &mut memory));
        (self.model, self.memory) = (Arc::new(model), memory);
        finite
    }
}

/// One parameter, as the formulas are printed.
#[derive(Clone, Copy)]
struct Reference {
    x: f64,
    m: f64,
    v: f64,
    average: f64,
}

impl Reference {
    fn round(&mut self, optimiser: Optimiser, round: i32, g: f64) {
        let adaptive = |s: Adaptive, m: f64, v: f64| {
            let (m, v) = (m / (1.0 - s.momentum.powi(round)), v / (1.0 - s.second_moment.powi(round)));
            s.step * m / (v.sqrt() + s.epsilon)
        };
        match optimiser.rule {
            Rule::None => self.x += g,
            Rule::Momentum { step, momentum } => {
                self.m = momentum * self.m + g;
                self.x += step * self.m;
            }
            Rule::Adam(s) => {
                self.m = s.momentum * self.m + (1.0 - s.momentum) * g;
                self.v = s.second_moment * self.v + (1.0 - s.second_moment) * g * g;
                self.x += adaptive(s, self.m, self.v);
            }
            Rule::Yogi(s) => {
                self.m = s.momentum * self.m + (1.0 - s.momentum) * g;
                let sign = if self.v == g * g { 0.0 } else { (self.v - g * g).signum() };
                self.v -= (1.0 - s.second_moment) * sign * g * g;
                self.x += adaptive(s, self.m, self.v);
            }
        }
        if optimiser.averaging > 0.0 {
            let keep = optimiser.averaging.min(1.0 - 1.0 / f64::from(round + 1));
            self.average = keep * self.average + (1.0 - keep) * self.x;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Models of less than a block, of blocks, and of a block and a bit; rounds in which nobody reports.
    #[test]
    fn rules_are_their_formulas(
        rule in prop::sample::select(rules().to_vec()),
        averaging in prop::sample::select(vec![0.0, 0.6, 0.99]),
        len in prop::sample::select(vec![1, 7, BLOCK, BLOCK + 1, 2 * BLOCK + 5]),
        rounds in prop::collection::vec(prop::option::weighted(0.7, 0.01_f32..3.0), 1..25),
        offset in 0_u32..1000,
    ) {
        let optimiser = Optimiser { averaging, ..rule.into() };
        let noise = |round: usize, k: usize| ((offset as usize + round * 37 + k * 101) % 199) as f32 / 99.0 - 1.0;
        let start: Vec<f32> = (0..len).map(|k| noise(0, k)).collect();
        let mut server = Server::new(optimiser, &start);
        let mut reference: Vec<Reference> = start.iter().map(|&x| {
            Reference { x: x.into(), m: 0.0, v: 0.0, average: x.into() }
        }).collect();
        for (round, size) in (1..).zip(&rounds) {
            let step: Option<Vec<f32>> = size.map(|size| (0..len).map(|k| size * noise(round, k)).collect());
            prop_assert!(server.round(step.as_deref()));
            for (k, reference) in reference.iter_mut().enumerate() {
                reference.round(optimiser, round as i32, step.as_ref().map_or(0.0, |step| step[k].into()));
            }
        }
        let shown = server.memory.average().unwrap_or(&server.model).as_slice();
        for (k, reference) in reference.iter().enumerate() {
            let near = |found: f32, wanted: f64| (f64::from(found) - wanted).abs() < 2e-5 * (1.0 + wanted.abs());
            let (x, wanted) = (server.model.as_slice()[k], reference.x);
            prop_assert!(near(x, wanted), "{optimiser:?}: {x} for {wanted} at {k}");
            let wanted = if averaging > 0.0 { reference.average } else { reference.x };
            prop_assert!(near(shown[k], wanted), "{optimiser:?}: {} for {wanted} at {k}", shown[k]);
        }
    }
}

/// `torch.optim.SGD(lr=0.75, momentum=0.5)` and `torch.optim.Adam(lr=0.1, betas=(0.9, 0.99), eps=1e-3)` of
/// PyTorch 2 in double precision, with −g as the gradient.
#[test]
fn momentum_and_adam_are_those_of_pytorch() {
    let steps = [[0.5, -0.25, 0.0], [0.125, 1.0, 0.0], [0.0; 3], [-0.75, 0.0625, 2.0], [0.5, -0.5, -0.125]];
    let run = |rule: Rule| {
        let mut server = Server::new(Optimiser::from(rule), &[1.0, -2.0, 0.5]);
        for step in steps {
            // What nobody reports is a gradient of zero.
            assert!(server.round((step != [0.0; 3]).then_some(&step)));
        }
        server.model.as_slice().to_vec()
    };
    let near = |found: Vec<f32>, wanted: [f64; 3]| {
        let worst = found.iter().zip(wanted).map(|(found, wanted)| (f64::from(*found) - wanted).abs());
        assert!(worst.fold(0.0, f64::max) < 1e-6, "{found:?} for {wanted:?}");
    };
    near(run(rules()[1]), [1.43359375, -1.26171875, 2.65625]);
    near(run(rules()[2]), [1.2417672137905895, -1.9559718335837875, 0.6030279383994341]);
}

/// Empty rounds count as rounds of zero, whichever way they are said.
#[test]
fn nobody_is_a_sum_of_zero() {
    for rule in rules() {
        let optimiser = Optimiser { averaging: 0.9, ..rule.into() };
        let start = [0.5, -1.0, 0.0];
        let (mut empty, mut zero) = (Server::new(optimiser, &start), Server::new(optimiser, &start));
        for (round, step) in
            [[0.25, -0.5, 1.0], [0.0; 3], [1.0, 1.0, -1.0], [0.0; 3], [0.0; 3]].iter().enumerate()
        {
            empty.round((round % 2 == 0 && round < 4).then_some(step));
            zero.round(Some(step));
        }
        assert_eq!((empty.model, empty.memory), (zero.model, zero.memory), "{rule:?}");
    }
}

/// An average beside it changes nothing of the model that devices train from; a model that stays is its own
/// average.
#[test]
fn averages_stay_beside() {
    let plain = Optimiser::default();
    assert!(plain.is_plain() && plain.names().is_empty());
    let start = [0.1, -0.0, 3.0e-5, f32::MIN_POSITIVE / 2.0];
    let mut averaged = Server::new(Optimiser { averaging: 0.5, ..plain }, &start);
    let mut alone = Server::new(plain, &start);
    let bits = |model: &ModelVector| model.as_slice().iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
    for _ in 0..5 {
        averaged.round(None);
        assert_eq!(bits(&averaged.model), bits(&alone.model), "−0 too");
        assert_eq!(averaged.memory.average().unwrap().as_slice(), start);
    }
    for step in [[1.0, -1.0, 0.3, 0.0], [0.7, 1.0, 0.3, 0.0]] {
        averaged.round(Some(&step));
        alone.round(Some(&step));
        assert_eq!(bits(&averaged.model), bits(&alone.model));
    }
    assert_ne!(averaged.memory.average().unwrap(), &averaged.model);
}

/// Halves of the smallest number there is are that number again: without an end moments would never be zero.
#[test]
fn forgotten_moments_are_zero() {
    for rule in rules() {
        let mut server = Server::new(Optimiser::from(rule), &[0.0]);
        server.round(Some(&[1.0]));
        for _ in 0..12_000 {
            server.round(None);
        }
        for (name, vector) in server.memory.vectors() {
            // Yogi's falls by what comes, and nothing does.
            let stays = matches!(rule, Rule::Yogi(_)) && name == "second_moment";
            assert_eq!(vector == [0.0], !stays, "{rule:?}: {name} is {vector:?}");
        }
    }
}

/// A square that is out of range hides in the denominator.
#[test]
fn whatever_leaves_the_numbers_shows() {
    for rule in rules() {
        for (step, finite) in [(f32::NAN, false), (f32::INFINITY, false), (1.0, true)] {
            let mut server = Server::new(Optimiser { averaging: 0.5, ..rule.into() }, &[0.0; 3]);
            assert_eq!(server.round(Some(&[0.0, step, 0.0])), finite, "{rule:?}: {step}");
        }
        let mut server = Server::new(Optimiser::from(rule), &[0.0]);
        let squares = matches!(rule, Rule::Adam(_) | Rule::Yogi(_));
        assert_eq!(server.round(Some(&[1e25])), !squares, "{rule:?}");
    }
}

#[test]
fn memories_of_another_optimiser_are_refused() {
    let model = Arc::new(ModelVector::new(vec![1.0, 2.0]));
    let all: Vec<Optimiser> = rules()
        .into_iter()
        .flat_map(|rule| [0.0, 0.5].map(|averaging| Optimiser { averaging, ..rule.into() }))
        .collect();
    for one in &all {
        let memory = one.memory(&model);
        let vectors: Vec<Vec<f32>> = memory.vectors().map(|(_, vector)| vector.to_vec()).collect();
        assert_eq!(one.restored(vectors.clone(), 2), Some(memory.clone()));
        assert_eq!(one.restored(vectors.clone(), 3).is_some(), one.is_plain(), "{one:?}");
        for other in &all {
            assert_eq!(other.fits(&memory, 2), other.names() == one.names(), "{one:?} for {other:?}");
            let as_many = other.names().len() == one.names().len();
            assert_eq!(other.restored(vectors.clone(), 2).is_some(), as_many, "{one:?} for {other:?}");
        }
    }
}
