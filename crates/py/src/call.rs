//! What simulated runs, comparisons, sweeps and pilots from Python share.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_agent::data_dir::data_dir;
use fedflip_run::{Crews, RunError, Session, Setup, Trainer, processors};
use fedflip_scenario::Scenario;
use pyo3::prelude::*;

use crate::error::Failure;
use crate::hosted::{HostCrews, PyCrews};
use crate::learner::{ForeignTrainer, PyTrainer};
use crate::observer::PyObserver;
use crate::scheme::in_call;
use crate::signals::{Signals, now};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Options>()
}

/// The settings of the machine and of the user for runs. None of them changes a result.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct Options {
    threads: Option<usize>,
    data_dir: PathBuf,
    pub(crate) out: Option<PathBuf>,
    resume: bool,
    observer: Py<PyAny>,
}

#[pymethods]
impl Options {
    #[new]
    #[pyo3(signature = (observer, threads=None, data_dir=None, out=None, resume=false))]
    fn new(
        observer: Py<PyAny>,
        threads: Option<usize>,
        data_dir: Option<PathBuf>,
        out: Option<PathBuf>,
        resume: bool,
    ) -> Self {
        let data_dir = data_folder(data_dir);
        Self { threads, data_dir, out, resume, observer }
    }
}

/// The folder of data sets: the one that is asked for, or that of the user's cache.
pub(crate) fn data_folder(asked: Option<PathBuf>) -> PathBuf {
    data_dir(asked.as_deref())
}

/// Everything of one call from Python that may raise.
pub(crate) struct Call<'a> {
    options: &'a Options,
    trainer: Option<Arc<ForeignTrainer>>,
    crews: Option<Arc<HostCrews>>,
    signals: Arc<Signals>,
    observer: Option<PyObserver>,
    /// The point of a sweep that is compared now.
    pub(crate) point: Arc<Mutex<Option<String>>>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        py: Python<'_>,
        options: &'a Options,
        (trainer, crews): (Option<PyRef<'_, PyTrainer>>, Option<PyRef<'_, PyCrews>>),
    ) -> PyResult<Self> {
        let signals = Arc::new(Signals::default());
        let observer = PyObserver::new(py, options.observer.clone_ref(py), Arc::clone(&signals))?;
        let trainer = trainer.map(|trainer| Arc::clone(&trainer.0));
        let crews = crews.map(|crews| Arc::clone(&crews.0));
        let point = Arc::default();
        Ok(Self { options, trainer, crews, signals, observer: Some(observer), point })
    }

    /// Calls `body` with a session, without the interpreter. An exception of Python code takes the place of any result.
    pub(crate) fn detached<T: Send>(
        mut self,
        py: Python<'_>,
        body: impl FnOnce(&mut Session<'_>, Option<Arc<ForeignTrainer>>) -> Result<T, RunError> + Send,
    ) -> Result<T, Failure> {
        let observer = self.observer.take();
        let (signals, options, trainer) = (&self.signals, self.options, self.trainer.clone());
        let crews = self.crews.clone();
        let result = py.detach(|| {
            let last_look = Cell::new(now());
            let stop = || signals.stops(&last_look);
            let mut session = Session { stop: &stop, now, ..Session::new(options.data_dir.clone()) };
            session.threads = options.threads.unwrap_or_else(processors);
            session.resume = options.resume;
            session.keeps_records = options.out.is_none();
            session.crews = crews.map(|crews| crews as Arc<dyn Crews>);
            observer.into_iter().for_each(|observer| session.observers.add(observer));
            in_call(signals, || body(&mut session, trainer))
        });
        let of_learner = self.trainer.as_ref().and_then(|trainer| trainer.workers.signals.take());
        let of_crew = self.crews.as_ref().and_then(|crews| crews.workers.signals.take());
        match of_learner.or(of_crew).or_else(|| self.signals.take()) {
            Some(raised) => Err(self.noted(py, raised).into()),
            None => Ok(result?),
        }
    }

    /// An exception of Python code with a note of the point at which it was raised.
    fn noted(&self, py: Python<'_>, raised: PyErr) -> PyErr {
        if let Some(point) = &*self.point.lock().unwrap_or_else(PoisonError::into_inner) {
            // An exception that takes no note is raised without it.
            let _ = raised.value(py).call_method1("add_note", (format!("at {point} of the sweep"),));
        }
        raised
    }
}

/// The data and the fleet of a run: those of the task, or of the caller's learner.
pub(crate) fn setup(
    scenario: &mut Scenario,
    trainer: Option<Arc<ForeignTrainer>>,
    session: &mut Session<'_>,
) -> Result<Setup, RunError> {
    match trainer {
        None => Setup::new(scenario, session),
        Some(trainer) => {
            let shared = Arc::clone(&trainer) as Arc<dyn Trainer>;
            let setup = Setup::of_trainer(shared, &trainer.samples, scenario, session)?;
            setup.with_first_model(scenario)?;
            Ok(setup)
        }
    }
}
