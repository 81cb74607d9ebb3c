//! Sampling schemes that are Python callables.

use std::cell::RefCell;
use std::sync::Arc;

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
        let sampling = Arc::new(PySampling { sampling, observes, unbiased });
        let refuse = || {
            let problem = format!("{name:?} cannot be the name of a scheme");
            Failure::input(problem, "use up to 64 letters, digits, hyphens, underscores and full stops")
                .at("name")
                .of(py, name)
        };
        Ok(Self { scheme: Scheme::Custom(CustomScheme::new(name, sampling).ok_or_else(refuse)?) })
    }

    fn __str__(&self) -> String {
        self.scheme.to_string()
    }
}

/// What the schemes of one call from Python share. It belongs to the call, because two threads may use one scheme.
struct Caller {
    signals: Arc<Signals>,
    /// The place of the last fleet, and the fleet as Python knows it: a copy is made once for a run.
    fleet: Option<(usize, Py<PyAny>)>,
}

thread_local! {
    /// The call that this thread works for: a run asks its scheme on the thread of the call.
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Calls `body`, which is the work of one call: exceptions of schemes end it through `signals`.
pub(crate) fn in_call<T>(signals: &Arc<Signals>, body: impl FnOnce() -> T) -> T {
    /// The call in which this one was made: code of a scheme may simulate, too.
    struct Outer(Option<Caller>);
    impl Drop for Outer {
        fn drop(&mut self) {
            drop(CALLER.replace(self.0.take()));
        }
    }
    let _outer = Outer(CALLER.replace(Some(Caller { signals: Arc::clone(signals), fleet: None })));
    body()
}

/// Forgets the fleet of the call.
fn forget_fleet() {
    // It is dropped here and not in the closure: that may run code of Python, which may simulate.
    drop(CALLER.with_borrow_mut(|caller| caller.as_mut()?.fleet.take()));
}

/// The Python side of a scheme.
struct PySampling {
    sampling: Py<PyAny>,
    observes: bool,
    unbiased: bool,
}

impl PySampling {
    /// The façade's object for a fleet.
    fn facade<'py>(py: Python<'py>, fleet: &Fleet) -> PyResult<Bound<'py, PyAny>> {
        // A run has one fleet, which does not move; its begin forgets that of the run before.
        let place = std::ptr::from_ref(fleet) as usize;
        let known = CALLER.with_borrow(|caller| {
            let (known, object) = caller.as_ref()?.fleet.as_ref()?;
            (*known == place).then(|| object.bind(py).clone())
        });
        if let Some(object) = known {
            return Ok(object);
        }
        let native = PyFleet(Arc::new(fleet.clone())).into_pyobject(py)?;
        let object = py.import("fedflip._fleet")?.getattr("Fleet")?.call_method1("_of", (native,))?;
        let known = (place, object.clone().unbind());
        let before = CALLER.with_borrow_mut(|caller| caller.as_mut()?.fleet.replace(known));
        drop(before);
        Ok(object)
    }

    fn called<T>(body: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, DrawError> {
        Python::attach(|py| {
            body(py).map_err(|error| {
                let message = error.to_string();
                let signals = CALLER.with_borrow(|caller| Some(Arc::clone(&caller.as_ref()?.signals)));
                if let Some(signals) = signals {
                    signals.raise(error);
                }
                DrawError { message, trace: String::new() }
            })
        })
    }
}

impl CustomSampling for PySampling {
    fn q(&self, fleet: &Fleet) -> Result<Vec<f64>, PlanError> {
        // A plan comes before its run, and the points of a sweep have fleets of their own, one after the other in one place.
        forget_fleet();
        let q = Self::called(|py| {
            let q = self.sampling.bind(py).call_method1("q", (Self::facade(py, fleet)?,))?;
            Ok(q.extract::<PyReadonlyArray1<'_, f64>>()?.as_slice()?.to_vec())
        });
        Ok(q?)
    }

    fn draw(&self, round: u64, seed: u64, fleet: &Fleet, draws: &mut Vec<Draw>) -> Result<(), DrawError> {
        Self::called(|py| {
            let fleet = Self::facade(py, fleet)?;
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
        forget_fleet();
        Self::called(|py| self.sampling.bind(py).call_method0("begin").map(drop))
    }

    fn observe(&self, round: u64, reports: &[Report]) -> Result<(), DrawError> {
        Self::called(|py| {
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
