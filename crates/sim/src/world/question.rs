//! Questions to devices before a cohort is drawn: what they answer, and what the answers take.

use std::sync::Arc;

use fedflip_engine::{Cohort, EngineError, norms};
use fedflip_fleet::ModelVector;
use fedflip_fleet::bandwidth::{DeviceJob, Job};
use fedflip_learn::{LearnError, TrainKey, Trained};
use fedflip_plan::sampler::Quantity;

use super::SimWorld;

/// A number of 32 bits.
const NUMBER_MBIT: f64 = 32e-6;

impl SimWorld<'_> {
    /// Asks devices if the sampler has a question, and tells the cohort what their answers take.
    pub(super) fn ask(
        &mut self,
        round: u64,
        model: &Arc<ModelVector>,
        cohort: &mut Cohort,
    ) -> Result<(), EngineError> {
        self.answers.clear();
        self.has_trained = false;
        let Some(question) = self.sampler.ask(round, self.seed, &mut self.asked) else { return Ok(()) };
        match question.about {
            Quantity::Loss => {
                let received = self.received(round, model);
                self.answers = self.crew.losses(received.as_ref().unwrap_or(model), &self.asked)?;
            }
            Quantity::UpdateNorm => {
                self.measure_norms(round, model)?;
                self.has_trained = true;
            }
        }
        let numbers_mbit = f64::from(question.numbers) * NUMBER_MBIT;
        for device_job in self.device_jobs(round, &self.asked) {
            cohort.push_receiver(device_job);
            let DeviceJob { device, job } = device_job;
            let part = if self.has_trained { 1.0 } else { self.crew.relative_loss_time(device) };
            let compute_secs = part * job.compute_secs * self.conditions.jitter(self.seed, round, device);
            let load_mbit = numbers_mbit * self.conditions.fade(self.seed, round, device);
            cohort.push_answer(DeviceJob { device, job: Job { compute_secs, load_mbit, ..job } });
        }
        Ok(())
    }

    /// The norms of the updates that the devices would send, as the server would decode them.
    ///
    /// Nothing else is kept of the updates, and the devices of the cohort are trained again. The same key gives the same
    /// update, so this costs the cohort's part of the computation and saves the memory of a model for each device.
    fn measure_norms(&mut self, round: u64, model: &Arc<ModelVector>) -> Result<(), LearnError> {
        self.keys.clear();
        self.keys.extend(self.asked.iter().map(|&device| TrainKey::new(self.seed, round, device)));
        self.train(round, model)?;
        self.answers.resize(self.asked.len(), 0.0);
        let mut failed: Option<(usize, LearnError)> = None;
        while let Some(Trained { device, delta, train_loss }) = self.crew.next_trained()? {
            match (train_loss, self.asked.binary_search(&device)) {
                (Ok(_), Ok(place)) => self.answers[place] = norms::norm(&delta),
                (Err(error), _) if failed.as_ref().is_none_or(|(other, _)| device < *other) => {
                    failed = Some((device, error));
                }
                _ => {}
            }
            self.crew.recycle(delta);
        }
        failed.map_or(Ok(()), |(_, error)| Err(error))
    }
}
