//! The scheme of a program as a [`Method`] and a [`Sampler`].

use std::sync::Arc;

use fedflip_fleet::Fleet;

use crate::custom::{CustomSampling, CustomScheme};
use crate::error::PlanError;
use crate::method::Method;
use crate::sampler::{Coins, Draw, DrawError, Observed, Report, Sampler};
use crate::schedule::Schedule;

/// Draws as a program says.
pub(crate) struct Custom(pub CustomScheme);

impl Method for Custom {
    fn rule(&self, fleet: &Fleet) -> Option<Result<Vec<f64>, PlanError>> {
        Some(self.0.sampling().and_then(|sampling| sampling.q(fleet)))
    }

    fn sampler<'s>(&self, schedule: &'s Schedule, fleet: &'s Fleet) -> Box<dyn Sampler + 's> {
        match self.0.sampling() {
            Ok(sampling) => {
                let begun = sampling.begin();
                Box::new(ByProgram { sampling: Arc::clone(sampling), fleet, failed: begun.err() })
            }
            // Without the program there is no plan either, so nobody draws.
            Err(_) => Box::new(Coins::new(schedule)),
        }
    }

    fn flips_coins(&self) -> bool {
        false
    }

    /// A program may keep state, so nothing is drawn before the run.
    fn depends_on_reports(&self) -> bool {
        true
    }

    fn is_unbiased(&self) -> bool {
        self.0.sampling().is_ok_and(|sampling| sampling.is_unbiased())
    }
}

struct ByProgram<'s> {
    sampling: Arc<dyn CustomSampling>,
    fleet: &'s Fleet,
    /// What went wrong while nobody could be told; the next draw says so.
    failed: Option<DrawError>,
}

impl Sampler for ByProgram<'_> {
    fn draw(&mut self, round: u64, seed: u64, observed: &Observed<'_>, draws: &mut Vec<Draw>) {
        if self.try_draw(round, seed, observed, draws).is_err() {
            draws.clear();
        }
    }

    fn try_draw(
        &mut self,
        round: u64,
        seed: u64,
        _: &Observed<'_>,
        draws: &mut Vec<Draw>,
    ) -> Result<(), DrawError> {
        if let Some(failed) = self.failed.take() {
            return Err(failed);
        }
        draws.clear();
        self.sampling.draw(round, seed, self.fleet, draws)?;
        check(draws, self.fleet.len(), round)
    }

    fn observes(&self) -> bool {
        self.sampling.observes()
    }

    fn observe(&mut self, round: u64, reports: &[Report]) {
        if let Err(error) = self.sampling.observe(round, reports) {
            self.failed.get_or_insert(error);
        }
    }

    fn is_unbiased(&self) -> bool {
        self.sampling.is_unbiased()
    }
}

/// Devices of the fleet, each once and in order, with weights that are numbers.
fn check(draws: &[Draw], devices: usize, round: u64) -> Result<(), DrawError> {
    let refuse = |problem: String| {
        Err(DrawError { message: format!("round {round}: {problem}"), trace: String::new() })
    };
    for (place, draw) in draws.iter().enumerate() {
        let Draw { device, weight } = *draw;
        if device >= devices {
            return refuse(format!("the cohort has device {device}, and the fleet has {devices} devices"));
        }
        if !weight.is_finite() {
            return refuse(format!("the weight of device {device} is {weight}"));
        }
        if place > 0 && draws[place - 1].device >= device {
            let before = draws[place - 1].device;
            return refuse(format!(
                "device {device} follows device {before}: a cohort ascends, each device once"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::testing::fleet;
    use crate::{Planning, Problem, Scheme, schedule};
    use fedflip_fleet::Mbps;

    /// The same cohort in every round.
    struct Fixed(Vec<Draw>);

    impl CustomSampling for Fixed {
        fn q(&self, fleet: &Fleet) -> Result<Vec<f64>, PlanError> {
            Ok(vec![0.5; fleet.len()])
        }

        fn draw(&self, _: u64, _: u64, _: &Fleet, draws: &mut Vec<Draw>) -> Result<(), DrawError> {
            draws.extend_from_slice(&self.0);
            Ok(())
        }
    }

    fn drawn(cohort: &[(usize, f64)]) -> Result<Vec<Draw>, DrawError> {
        let draws = cohort.iter().map(|&(device, weight)| Draw { device, weight }).collect();
        let scheme = Scheme::Custom(CustomScheme::new("mine", Arc::new(Fixed(draws))).unwrap());
        let fleet = fleet();
        let problem = Problem::new(&fleet, Mbps::new(10.0).unwrap());
        let planned = schedule(&problem, &Planning::new(scheme.clone())).unwrap();
        assert_eq!(planned.schedule.usual().q(), [0.5; 4]);
        let mut draws = Vec::new();
        let method = scheme.method();
        let mut sampler = method.sampler(&planned.schedule, &fleet);
        sampler.try_draw(1, 1, &Observed::default(), &mut draws).map(|()| draws)
    }

    #[test]
    fn cohorts_of_a_program_are_checked() {
        assert_eq!(drawn(&[(0, 0.5), (3, -1.0)]).unwrap().len(), 2);
        assert_eq!(drawn(&[]).unwrap(), []);
        for (cohort, words) in [
            (&[(4, 1.0)][..], "device 4, and the fleet has 4"),
            (&[(1, f64::NAN)], "weight of device 1 is NaN"),
            (&[(2, 1.0), (2, 1.0)], "device 2 follows device 2"),
            (&[(2, 1.0), (1, 1.0)], "device 1 follows device 2"),
        ] {
            assert!(drawn(cohort).unwrap_err().to_string().contains(words), "{cohort:?}");
        }
    }

    #[test]
    fn a_name_alone_reads_back_and_cannot_be_planned() {
        let scheme: Scheme = "custom=top-3".parse().unwrap();
        assert_eq!(scheme.to_string(), "custom=top-3");
        assert_eq!(scheme, Scheme::Custom(CustomScheme::new("top-3", Arc::new(Fixed(Vec::new()))).unwrap()));
        let fleet = fleet();
        let refused = schedule(&Problem::new(&fleet, Mbps::new(10.0).unwrap()), &Planning::new(scheme));
        assert_eq!(refused.unwrap_err(), PlanError::NoCustomScheme { name: "top-3".to_owned() });
        for wrong in ["custom=", "custom=a b", "custom=\n"] {
            assert!(wrong.parse::<Scheme>().unwrap_err().hint().contains("letters"), "{wrong}");
        }
    }
}
