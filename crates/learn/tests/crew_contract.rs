//! Crews of threads keep the contract of crews, and the contract notices crews that do not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use fedflip_fleet::ModelVector;
use fedflip_learn::crew::contract;
use fedflip_learn::{Crew, Encoding, LearnError, Metric, Metrics, TrainKey, Trained, with_crew};

#[test]
fn threads_keep_the_contract() {
    for threads in [1, 2, 3, 8] {
        contract::check(|learner, body| with_crew(&learner, threads, |crew| body(crew))).unwrap();
    }
}

/// A crew that breaks one promise.
struct Broken<'a> {
    crew: &'a mut dyn Crew,
    breaks: fn(&mut Trained),
}

impl Crew for Broken<'_> {
    fn devices(&self) -> usize {
        self.crew.devices()
    }

    fn params_len(&self) -> usize {
        self.crew.params_len()
    }

    fn metrics(&self) -> &[Metric] {
        self.crew.metrics()
    }

    fn train(
        &mut self,
        model: &Arc<ModelVector>,
        encoding: Encoding,
        keys: &[TrainKey],
    ) -> Result<(), LearnError> {
        self.crew.train(model, encoding, keys)
    }

    fn next_trained(&mut self) -> Result<Option<Trained>, LearnError> {
        let mut trained = self.crew.next_trained()?;
        trained.iter_mut().for_each(self.breaks);
        Ok(trained)
    }

    fn losses(&mut self, model: &Arc<ModelVector>, devices: &[usize]) -> Result<Vec<f64>, LearnError> {
        self.crew.losses(model, devices)
    }

    fn relative_loss_time(&self, device: usize) -> f64 {
        self.crew.relative_loss_time(device)
    }

    fn evaluate(&mut self, model: &Arc<ModelVector>) -> Result<Metrics, LearnError> {
        self.crew.evaluate(model)
    }
}

#[test]
fn the_contract_notices_broken_promises() {
    let another_update: fn(&mut Trained) = |trained| trained.delta[0] += 1e-3;
    let swallowed: fn(&mut Trained) = |trained| trained.train_loss = Ok(1.0);
    let twice: fn(&mut Trained) = |trained| trained.device = trained.device.max(1);
    for (breaks, complaint) in [
        (another_update, "another update"),
        (swallowed, "update"),
        (twice, "not every device was trained once"),
    ] {
        let checked = contract::check(|learner, body| {
            with_crew(&learner, 2, |crew| body(&mut Broken { crew, breaks }));
        });
        let error = checked.unwrap_err();
        assert!(error.contains(complaint), "{error}");
    }
}
