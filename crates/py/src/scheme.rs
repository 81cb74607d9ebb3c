//! Sampling schemes that are Python callables.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fedflip_fleet::Fleet;
use fedflip_plan::custom::{CustomSampling, CustomScheme};
use fedflip_plan::sampler::{Draw, DrawError, Report};
use fedflip_plan::{PlanError, Scheme};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::fleet::PyFleet;
use crate::signals::Signals;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyScheme>()
}

/// A scheme of the user's own, for scenarios and comparisons.
#[pyclass(frozen, name = "CustomScheme", module = "fedflip._fedflip")]
pub(crate) struct PyScheme {
    pub(crate) scheme: Scheme,
    pub(crate) sampling: Arc<PySampling>,
}

#[pymethods]
impl PyScheme {
    /// `sampling` has the methods `q(fleet)`, `draw(round, seed, fleet)`, `begin()` and `observe(round, devices, losses,
    /// alone_secs)`, and the attributes `observes` and `unbiased`.
    #[new]
    fn new(name: &str, sampling: Py<PyAny>, py: Python<'_>) -> PyResult<Self> {
        let bound = sampling.bind(py);
        let (observes, unbiased) =
            (bound.getattr("observes")?.extract()?, bound.getattr("unbiased")?.extract()?);
        let (fleet, signals) = (Mutex::new(None), Signals::default());
        let sampling = Arc::new(PySampling { sampling, observes, unbiased, fleet, signals });
        let refuse = || {
            let problem = format!("{name:?} cannot be the name of a scheme");
            Failure::input(problem, "use up to 64 letters, digits, hyphens, underscores and full stops")
                .at("name")
                .of(py, name)
        };
        let shared = Arc::clone(&sampling) as Arc<dyn CustomSampling>;
        let scheme = Scheme::Custom(CustomScheme::new(name, shared).ok_or_else(refuse)?);
        Ok(Self { scheme, sampling })
    }

    fn __str__(&self) -> String {
        self.scheme.to_string()
    }
}

/// The Python side of a scheme.
pub(crate) struct PySampling {
    sampling: Py<PyAny>,
    observes: bool,
    unbiased: bool,
    /// The place of the fleet of the last call, and the fleet as Python knows it: a copy is made once for a run.
    fleet: Mutex<Option<(usize, Py<PyAny>)>>,
    pub(crate) signals: Signals,
}

impl PySampling {
    /// The façade's object for a fleet.
    fn facade<'py>(&self, py: Python<'py>, fleet: &Fleet) -> PyResult<Bound<'py, PyAny>> {
        // A run has one fleet, which does not move; its begin forgets that of the run before.
        let place = std::ptr::from_ref(fleet) as usize;
        if let Some((known, object)) = &*self.known_fleet()
            && *known == place
        {
            return Ok(object.bind(py).clone());
        }
        // Without the lock: Python code may let another thread run, which would wait for it.
        let native = PyFleet(Arc::new(fleet.clone())).into_pyobject(py)?;
        let object = py.import("fedflip._fleet")?.getattr("Fleet")?.call_method1("_of", (native,))?;
        *self.known_fleet() = Some((place, object.clone().unbind()));
        Ok(object)
    }

    fn known_fleet(&self) -> MutexGuard<'_, Option<(usize, Py<PyAny>)>> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn called<T>(&self, body: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, DrawError> {
        Python::attach(|py| {
            body(py).map_err(|error| {
                let message = error.to_string();
                self.signals.raise(error);
                DrawError { message, trace: String::new() }
            })
        })
    }
}

impl CustomSampling for PySampling {
    fn q(&self, fleet: &Fleet) -> Result<Vec<f64>, PlanError> {
        // A plan comes before its run, and the points of a sweep have fleets of their own, one after the other in one place.
        *self.known_fleet() = None;
        let q = self.called(|py| {
            let q = self.sampling.bind(py).call_method1("q", (self.facade(py, fleet)?,))?;
            Ok(q.extract::<PyReadonlyArray1<'_, f64>>()?.as_slice()?.to_vec())
        });
        Ok(q?)
    }

    fn draw(&self, round: u64, seed: u64, fleet: &Fleet, draws: &mut Vec<Draw>) -> Result<(), DrawError> {
        self.called(|py| {
            let fleet = self.facade(py, fleet)?;
            let drawn = self.sampling.bind(py).call_method1("draw", (round, seed, fleet))?;
            let (cohort, weights): (PyReadonlyArray1<'_, i64>, PyReadonlyArray1<'_, f64>) =
                drawn.extract()?;
            let pairs = cohort.as_slice()?.iter().zip(weights.as_slice()?);
            // The façade has refused negative numbers.
            draws.extend(pairs.map(|(&device, &weight)| Draw { device: device as usize, weight }));
            Ok(())
        })
    }

    fn observes(&self) -> bool {
        self.observes
    }

    fn begin(&self) -> Result<(), DrawError> {
        *self.known_fleet() = None;
        self.called(|py| self.sampling.bind(py).call_method0("begin").map(drop))
    }

    fn observe(&self, round: u64, reports: &[Report]) -> Result<(), DrawError> {
        self.called(|py| {
            let devices = PyArray1::from_iter(py, reports.iter().map(|report| report.device as i64));
            let losses = PyArray1::from_iter(py, reports.iter().map(|report| report.train_loss));
            let alone = PyArray1::from_iter(py, reports.iter().map(|report| report.alone_secs));
            self.sampling.bind(py).call_method1("observe", (round, devices, losses, alone)).map(drop)
        })
    }

    fn is_unbiased(&self) -> bool {
        self.unbiased
    }
}
