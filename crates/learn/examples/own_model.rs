//! A model of your own: anything that turns a model and a device's data into an update is a [`Learner`].
//!
//! Here it is a straight line, y = a·x + b, fitted by gradient descent on points that only their device has.
//! `cargo run --example own_model`

use std::ops::Range;

use fedflip_fleet::ModelVector;
use fedflip_learn::metrics::{self, METRICS};
use fedflip_learn::{LearnError, Learner, Metric, Sums, TrainKey};

/// Points of each device, scattered around y = 3x − 1.
pub struct Line {
    points: Vec<Vec<(f32, f32)>>,
}

impl Line {
    pub fn new(devices: u16) -> Self {
        let point = |n: u16| {
            let x = f32::from(n % 17) / 8.0 - 1.0;
            (x, 3.0 * x - 1.0 + f32::from(n * 7 % 5) * 0.02 - 0.04)
        };
        Self {
            points: (0..devices)
                .map(|device| (0..20 + device).map(|n| point(n + 3 * device)).collect())
                .collect(),
        }
    }

    fn loss(&self, model: &[f32], device: usize) -> f64 {
        let error = |&(x, y): &(f32, f32)| f64::from(model[0] * x + model[1] - y).powi(2);
        self.points[device].iter().map(error).sum::<f64>() / self.points[device].len() as f64
    }
}

impl Learner for Line {
    type Worker = ();

    fn devices(&self) -> usize {
        self.points.len()
    }

    fn samples(&self, device: usize) -> usize {
        self.points[device].len()
    }

    fn params_len(&self) -> usize {
        2
    }

    fn initial_model(&self, _seed: u64) -> ModelVector {
        ModelVector::new(vec![0.0, 0.0])
    }

    fn worker(&self) {}

    fn train(&self, _: &mut (), model: &[f32], key: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        let points = self.points.get(key.device).ok_or(LearnError::NoSamples { device: key.device })?;
        let (mut a, mut b) = (model[0], model[1]);
        for _ in 0..10 {
            let (mut grad_a, mut grad_b) = (0.0, 0.0);
            for (x, y) in points {
                let error = a * x + b - y;
                grad_a += error * x / points.len() as f32;
                grad_b += error / points.len() as f32;
            }
            (a, b) = (a - 0.3 * grad_a, b - 0.3 * grad_b);
        }
        update.copy_from_slice(&[a - model[0], b - model[1]]);
        Ok(self.loss(model, key.device))
    }

    /// All points of a device are one test sample here: losses are summed, and then divided by the devices.
    fn test_samples(&self) -> usize {
        self.devices()
    }

    /// Accuracy is the share of devices whose loss is below 0.01.
    fn metrics(&self) -> &[Metric] {
        &METRICS[..2]
    }

    fn score(
        &self,
        _: &mut (),
        model: &[f32],
        devices: Range<usize>,
        sums: &mut Sums,
    ) -> Result<(), LearnError> {
        for device in devices {
            let loss = self.loss(model, device);
            sums.add(metrics::COUNT, 1.0);
            sums.add(metrics::LOSS, loss);
            sums.add(metrics::CORRECT, f64::from(u8::from(loss < 0.01)));
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let line = Line::new(5);
    let mut model = line.initial_model(0);
    let mut update = vec![0.0; line.params_len()];
    let total: usize = (0..line.devices()).map(|device| line.samples(device)).sum();
    for round in 0..20 {
        let global = model.clone();
        for device in 0..line.devices() {
            line.train(&mut (), global.as_slice(), TrainKey::new(0, round, device), &mut update)?;
            model.add_scaled(line.samples(device) as f32 / total as f32, &update)?;
        }
    }
    let loss = line.evaluate(&mut (), model.as_slice())?.get("loss").unwrap_or(f64::NAN);
    println!("y = {:.2}·x + {:.2}, mean squared error {loss:.5}", model.as_slice()[0], model.as_slice()[1]);
    assert!(loss < 0.01, "a straight line can be learnt");
    Ok(())
}
