//! A model of your own on a device: a straight line y = w·x + b, fitted to points that never leave the device.
//!
//! The server's scenario names the task external, a file with the first `w` and `b`, and the learning rate:
//! docs/reference/own-model.md has it whole.
//!
//! ```text
//! cargo run -p fedflip-agent --example own_trainer -- 127.0.0.1:7700 phone-01 points.csv
//! ```

use std::sync::Arc;
use std::time::Duration;

use fedflip_agent::{
    AgentSettings, DeviceLearner, DeviceTraining, LearnError, Learner, ModelVector, NetError, OfferedTask,
    TrainKey, join_server, plain_identity,
};

struct Line {
    points: Vec<(f32, f32)>,
    rate: f32,
}

impl Learner for Line {
    type Worker = ();

    fn devices(&self) -> usize {
        1
    }
    fn samples(&self, _device: usize) -> usize {
        self.points.len()
    }
    fn params_len(&self) -> usize {
        2
    }
    fn initial_model(&self, _seed: u64) -> ModelVector {
        ModelVector::new(vec![0.0; 2])
    }
    fn worker(&self) {}

    /// A model holds the tensors one after the other, sorted by name: `b` before `w`.
    fn train(&self, _: &mut (), model: &[f32], _: TrainKey, update: &mut [f32]) -> Result<f64, LearnError> {
        let (mut b, mut w, mut loss) = (model[0], model[1], 0.0);
        for (x, y) in &self.points {
            let error = w * x + b - y;
            (b, w) = (b - self.rate * error, w - self.rate * error * x);
            loss += f64::from(error * error) / self.points.len() as f64;
        }
        update.copy_from_slice(&[b - model[0], w - model[1]]);
        Ok(loss)
    }
}

/// Takes part as the device `name` with the points in a file, until the run is over.
pub fn take_part(server: &str, name: &str, file: &str) -> Result<(), Box<dyn std::error::Error>> {
    let number = |text: &str| text.trim().parse::<f32>();
    let text = std::fs::read_to_string(file)?;
    let points = text.lines().filter_map(|line| line.split_once(','));
    let points = points.map(|(x, y)| Ok((number(x)?, number(y)?)));
    let points = points.collect::<Result<Vec<_>, std::num::ParseFloatError>>()?;
    let trains = move |offered: &OfferedTask| -> Result<Box<dyn DeviceTraining>, NetError> {
        let refuse =
            |message: &str| LearnError::Foreign { message: message.to_owned(), trace: String::new() };
        let OfferedTask::External(task) = offered else { return Err(refuse("another task").into()) };
        let rate = task.settings().lines().find_map(|line| line.strip_prefix("rate = ")?.parse().ok());
        let rate = rate.ok_or_else(|| refuse("the settings have no rate"))?;
        Ok(Box::new(DeviceLearner::of_this_device(Line { points: points.clone(), rate })))
    };
    let settings = AgentSettings {
        server: server.to_owned(),
        credentials: plain_identity(name)?,
        trains: Arc::new(trains),
        compute_at_least: Duration::ZERO,
        save_model: None,
        give_up_after: Some(Duration::from_secs(60)),
    };
    join_server(&settings, &|| false, &mut |news| println!("{news:?}"))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match &args[..] {
        [server, name, file] => take_part(server, name, file),
        _ => Err("usage: own_trainer SERVER NAME POINTS.csv".into()),
    }
}
