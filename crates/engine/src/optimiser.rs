//! What the server does with the aggregated update g = Σ (a_n/q_n) Δ_n.
//!
//! In a round in which no device reports, g is 0, which is an unbiased estimate like any other: moments decay and averages
//! continue. All of it is one pass over memory, a block at a time that stays in the cache,
//! and the same bytes on any machine: sums, products, quotients and roots of single precision are exact to the
//! last bit everywhere, and powers are made of products.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::sync::Arc;

use fedflip_fleet::ModelVector;

/// How x_{r+1} comes from x_r and g, and whether what is shown is an average.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Optimiser {
    /// From x and g to the next x.
    pub rule: Rule,
    /// γ: x̄ ← w x̄ + (1 − w) x with w = min(γ, 1 − 1/(r + 1)) after round r; 0 is no average. Devices train
    /// from x; what is evaluated, stopped at and kept is x̄.
    pub averaging: f64,
}

/// The rule without an average.
impl From<Rule> for Optimiser {
    fn from(rule: Rule) -> Self {
        Self { rule, ..Self::default() }
    }
}

/// How x_{r+1} comes from x_r and g.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rule {
    /// x + g: the paper's.
    #[default]
    None,
    /// m ← μ m + g; x + s m.
    Momentum {
        /// The step size s, without a unit.
        step: f64,
        /// The momentum coefficient μ.
        momentum: f64,
    },
    /// v ← ν v + (1 − ν) g².
    Adam(Adaptive),
    /// v ← v − (1 − ν) sign(v − g²) g²: v grows as fast, and falls more slowly.
    Yogi(Adaptive),
}

/// m ← μ m + (1 − μ) g; v by the rule; x + s (m/(1 − μʳ)) / (√(v/(1 − νʳ)) + ε) in round r.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adaptive {
    /// The step size s, without a unit.
    pub step: f64,
    /// The momentum coefficient μ.
    pub momentum: f64,
    /// The decay ν of the second moment.
    pub second_moment: f64,
    /// ε, which keeps a step finite where v is 0.
    pub epsilon: f64,
}

/// What the server remembers between rounds besides the model: what its optimiser needs and nothing else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Memory {
    /// The first moment m of the sums.
    first: Vec<f32>,
    /// The second moment v of the sums.
    second: Vec<f32>,
    /// The averaged model x̄, if models are averaged.
    average: Option<Arc<ModelVector>>,
}

/// The names of its vectors, in their order.
const NAMES: [&str; 3] = ["first_moment", "second_moment", AVERAGE];

/// What x̄ is called among the vectors of a [`Memory`].
pub const AVERAGE: &str = "average";

impl Optimiser {
    /// Whether the next model is x + g, and nothing is remembered.
    pub fn is_plain(&self) -> bool {
        self.remembers() == [false; 3]
    }

    /// The names of what is remembered, in the order of [`Memory::vectors`].
    pub fn names(&self) -> Vec<&'static str> {
        NAMES.into_iter().zip(self.remembers()).filter_map(|(name, is)| is.then_some(name)).collect()
    }

    /// Before the first round: no moments, and the average of one model.
    pub fn memory(&self, model: &Arc<ModelVector>) -> Memory {
        let [first, second, average] = self.remembers();
        let zeros = |is: bool| if is { vec![0.0; model.as_slice().len()] } else { Vec::new() };
        Memory { first: zeros(first), second: zeros(second), average: average.then(|| Arc::clone(model)) }
    }

    /// From vectors in the order of [`Memory::vectors`]; none if they are not those of this optimiser.
    pub fn restored(&self, vectors: Vec<Vec<f32>>, parameters: usize) -> Option<Memory> {
        let mut vectors = vectors.into_iter();
        let mut next = |is: bool| if is { vectors.next() } else { Some(Vec::new()) };
        let [first, second, average] = self.remembers();
        let [first_is, second_is] = [next(first)?, next(second)?];
        let average = if average { Some(Arc::new(ModelVector::new(next(true)?))) } else { None };
        let memory = Memory { first: first_is, second: second_is, average };
        (vectors.next().is_none() && self.fits(&memory, parameters)).then_some(memory)
    }

    /// Whether a memory belongs to this optimiser and to a model with this number of parameters.
    pub fn fits(&self, memory: &Memory, parameters: usize) -> bool {
        memory.vectors().all(|(_, vector)| vector.len() == parameters)
            && memory.vectors().map(|(name, _)| name).eq(self.names())
    }

    /// First moment, second moment, average.
    fn remembers(&self) -> [bool; 3] {
        let [first, second] = match self.rule {
            Rule::None => [false; 2],
            Rule::Momentum { .. } => [true, false],
            Rule::Adam(_) | Rule::Yogi(_) => [true; 2],
        };
        [first, second, self.averaging > 0.0]
    }

    /// Round `round`: writes what comes of model, memory and g to the last pair, all as long as the
    /// model. False if any number is NaN or infinite.
    pub fn advance(
        &self,
        round: u64,
        (model, memory): (&ModelVector, &Memory),
        step: Option<&[f32]>,
        (next_model, next_memory): (&mut ModelVector, &mut Memory),
    ) -> bool {
        let (from, to) = (model.as_slice(), next_model.as_mut_slice());
        let Memory { first, second, average } = next_memory;
        let mut average = average.as_mut().map(|average| Arc::make_mut(average).as_mut_slice());
        let keep = self.averaging.min(1.0 - 1.0 / (round as f64 + 1.0));
        let mut finite = true;
        for start in (0..from.len()).step_by(BLOCK) {
            let block = start..(start + BLOCK).min(from.len());
            let g = step.map_or(&NO_STEP[..block.len()], |step| &step[block.clone()]);
            let (x, next_x) = (&from[block.clone()], &mut to[block.clone()]);
            let moments = Moments { was: memory, first, second, block: block.clone() };
            finite &= self.rule.block(round, x, g, next_x, moments);
            if let (Some(was), Some(average)) = (&memory.average, &mut average) {
                let was = &was.as_slice()[block.clone()];
                finite &= approach(was, next_x, (1.0 - keep) as f32, &mut average[block]);
            }
        }
        finite
    }
}

impl Memory {
    /// All vectors by name, always in the same order.
    pub fn vectors(&self) -> impl Iterator<Item = (&'static str, &[f32])> {
        let average = self.average.as_ref().map_or(&[][..], |average| average.as_slice());
        let all = [&self.first[..], &self.second[..], average];
        NAMES.into_iter().zip(all).filter(|(_, vector)| !vector.is_empty())
    }

    /// x̄, where models are averaged.
    pub fn average(&self) -> Option<&Arc<ModelVector>> {
        self.average.as_ref()
    }

    /// Buffers of the same size, for the next memory.
    pub fn room(&self) -> Self {
        let zeros = |vector: &[f32]| vec![0.0; vector.len()];
        let average = self.average.as_ref().map(|average| zeros(average.as_slice()));
        Self {
            first: zeros(&self.first),
            second: zeros(&self.second),
            average: average.map(|average| Arc::new(ModelVector::new(average))),
        }
    }
}

/// Numbers of all vectors that are worked on at a time: they fit the first cache together.
const BLOCK: usize = 1024;

/// g of an empty round. −0 and not 0: x + −0 is x for every x, also for −0.
static NO_STEP: [f32; BLOCK] = [-0.0; BLOCK];

/// The moments of a block, before and after.
struct Moments<'a> {
    was: &'a Memory,
    first: &'a mut [f32],
    second: &'a mut [f32],
    block: std::ops::Range<usize>,
}

impl Rule {
    fn block(self, round: u64, x: &[f32], g: &[f32], next: &mut [f32], moments: Moments<'_>) -> bool {
        let Moments { was, first, second, block } = moments;
        let mut finite = true;
        let steps = next.iter_mut().zip(x.iter().zip(g));
        match self {
            Self::None => {
                for (next, (x, g)) in steps {
                    *next = x + g;
                    finite &= next.is_finite();
                }
            }
            Self::Momentum { step, momentum } => {
                let [step, momentum] = [step, momentum].map(|number| number as f32);
                let first = first[block.clone()].iter_mut().zip(&was.first[block]);
                for ((next, (x, g)), (m, was)) in steps.zip(first) {
                    *m = flushed(momentum * was + g);
                    *next = x + step * *m;
                    finite &= next.is_finite() & m.is_finite();
                }
            }
            Self::Adam(settings) | Self::Yogi(settings) => {
                let Scalars { scale, momentum, fresh, second_moment, spread, correction, epsilon } =
                    settings.scalars(round);
                let is_yogi = matches!(self, Self::Yogi(_));
                let first = first[block.clone()].iter_mut().zip(&was.first[block.clone()]);
                let second = second[block.clone()].iter_mut().zip(&was.second[block]);
                for (((next, (x, g)), (m, m_was)), (v, v_was)) in steps.zip(first).zip(second) {
                    let square = g * g;
                    let grown = if is_yogi {
                        let change = spread * square;
                        match v_was.partial_cmp(&square) {
                            Some(Ordering::Greater) => v_was - change,
                            Some(Ordering::Less) => v_was + change,
                            _ => *v_was,
                        }
                    } else {
                        second_moment * v_was + spread * square
                    };
                    *m = flushed(momentum * m_was + fresh * g);
                    *v = flushed(grown);
                    *next = x + scale * *m / ((*v * correction).sqrt() + epsilon);
                    finite &= next.is_finite() & m.is_finite() & v.is_finite();
                }
            }
        }
        finite
    }
}

/// The settings of a round, as the numbers they are multiplied with.
struct Scalars {
    /// s/(1 − μʳ): the step size with the bias correction of the first moment.
    scale: f32,
    momentum: f32,
    /// 1 − μ: the weight of a new sum in the first moment.
    fresh: f32,
    second_moment: f32,
    /// 1 − ν: the weight of a new square in the second moment.
    spread: f32,
    /// 1/(1 − νʳ): the bias correction of the second moment after r rounds.
    correction: f32,
    epsilon: f32,
}

impl Adaptive {
    fn scalars(self, round: u64) -> Scalars {
        let Self { step, momentum, second_moment, epsilon } = self;
        Scalars {
            scale: (step / (1.0 - power(momentum, round))) as f32,
            momentum: momentum as f32,
            fresh: (1.0 - momentum) as f32,
            second_moment: second_moment as f32,
            spread: (1.0 - second_moment) as f32,
            correction: (1.0 / (1.0 - power(second_moment, round))) as f32,
            epsilon: epsilon as f32,
        }
    }
}

/// x̄ + share (x − x̄): an average of equal models is that model, to the bit.
fn approach(was: &[f32], x: &[f32], share: f32, average: &mut [f32]) -> bool {
    let mut finite = true;
    for (average, (was, x)) in average.iter_mut().zip(was.iter().zip(x)) {
        *average = was + share * (x - was);
        finite &= average.is_finite();
    }
    finite
}

/// A parameter that is not used any more has a moment that decays, and would get stuck at the smallest numbers
/// there are, which processors are slow with.
fn flushed(number: f32) -> f32 {
    if number.abs() < f32::MIN_POSITIVE { 0.0 } else { number }
}

/// By squaring. The standard library's may differ in the last bit from one machine to the next.
fn power(base: f64, exponent: u64) -> f64 {
    let (mut product, mut square, mut left) = (1.0, base, exponent);
    while left > 0 {
        if left % 2 == 1 {
            product *= square;
        }
        square *= square;
        left /= 2;
    }
    product
}
