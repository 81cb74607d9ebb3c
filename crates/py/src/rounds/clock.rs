//! The virtual clock of rounds.

use std::sync::{Arc, Mutex, PoisonError};

use fedflip_fleet::Secs;
use fedflip_fleet::bandwidth::Share;
use fedflip_sim::clock::{RoundWork, TimedRound, VirtualClock};
use fedflip_sim::fates::VANISHED;
use numpy::PyArray1;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::fleet::{PyFleet, refused};
use crate::scenario::PyScenario;

/// A clock for the devices, costs and conditions of a scenario.
#[pyclass(frozen, name = "VirtualClock", module = "fedflip._fedflip")]
pub(super) struct PyVirtualClock(Mutex<VirtualClock>);

/// A round on the clock. Columns are in the order of the cohort.
#[derive(IntoPyObject)]
struct Timed<'py> {
    start_secs: f64,
    round_secs: f64,
    download_secs: f64,
    mbps: Bound<'py, PyArray1<f64>>,
    /// The time until the upload began, with downloads and waits.
    compute_secs: Bound<'py, PyArray1<f64>>,
    upload_secs: Bound<'py, PyArray1<f64>>,
    /// The devices that do not report, in their order, each with the reason.
    lost: Vec<(usize, &'static str)>,
}

#[pymethods]
impl PyVirtualClock {
    #[new]
    fn new(scenario: &PyScenario, fleet: &PyFleet) -> Self {
        let scenario = &scenario.scenario;
        // Compute times that do not vary need no margin.
        let varies = scenario.world.compute_jitter > 0.0;
        Self(Mutex::new(VirtualClock {
            fleet: Arc::clone(&fleet.0),
            costs: scenario.round_costs(),
            division: scenario.round.allocation,
            conditions: scenario.world,
            deadline_secs: scenario.round.deadline.map(Secs::get),
            deadline_margin: if varies { scenario.round.deadline_margin } else { 0.0 },
            seed: scenario.seed,
            now_secs: 0.0,
        }))
    }

    /// The virtual time since the run began.
    #[getter]
    fn now_secs(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now_secs
    }

    /// Moves the clock, for a run that is resumed.
    fn set_now_secs(&self, secs: f64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).now_secs = secs;
    }

    /// Times one round of ascending positions, and moves the clock to its end.
    #[pyo3(signature = (round, cohort, payload_mbit=None, compute_factor=1.0, deadline_secs=None))]
    fn round<'py>(
        &self,
        py: Python<'py>,
        round: u64,
        cohort: Vec<usize>,
        payload_mbit: Option<Vec<f64>>,
        compute_factor: f64,
        deadline_secs: Option<f64>,
    ) -> PyResult<Timed<'py>> {
        let payload_mbit = payload_mbit.as_deref();
        if let Some(given) = payload_mbit
            && (given.len() != cohort.len() || given.iter().any(|mbit| !(0.0..=1e9).contains(mbit)))
        {
            let problem = "payload_mbit: there must be one payload from 0 to 1e9 Mbit for each device";
            return Err(Failure::input(problem, "give as many payloads as devices")
                .at("payload_mbit")
                .into());
        }
        let work = RoundWork { round, cohort: &cohort, payload_mbit, compute_factor, deadline_secs };
        let timed = py.detach(|| self.0.lock().unwrap_or_else(PoisonError::into_inner).round(work));
        Ok(columns(py, timed.map_err(|error| refused(py, &error))?))
    }
}

fn columns(py: Python<'_>, timed: TimedRound) -> Timed<'_> {
    let TimedRound { start_secs, round_secs, divided, fates } = timed;
    let shares = &divided.allocation.shares;
    let took = |share: &Share| {
        let found = fates.arrived.binary_search_by_key(&share.device, |(device, _)| *device);
        found.map_or([share.compute_secs, share.upload_secs], |at| fates.arrived[at].1)
    };
    let mut lost: Vec<(usize, &'static str)> =
        fates.vanished.iter().map(|&device| (device, VANISHED)).collect();
    lost.extend(fates.late.iter().map(|&device| (device, "deadline")));
    lost.sort_unstable();
    Timed {
        start_secs,
        round_secs,
        download_secs: divided.lead.download_secs,
        mbps: PyArray1::from_iter(py, shares.iter().map(|share| share.mbps)),
        compute_secs: PyArray1::from_iter(py, shares.iter().map(|share| took(share)[0])),
        upload_secs: PyArray1::from_iter(py, shares.iter().map(|share| took(share)[1])),
        lost,
    }
}
