//! A server and its run.

use std::cell::Cell;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use fedflip::dashboard::Watched;
use fedflip_fleet::ModelVector;
use fedflip_learn::{LearnError, model_file};
use fedflip_net::door::Security;
use fedflip_net::server::Server;
use fedflip_net::status::Reach;
use fedflip_record::Summary;
use fedflip_run::deployed::{ForeignEvaluate, ForeignEvaluation, Serving, address, offered, with_authority};
use fedflip_run::{RunError, Session, processors};
use fedflip_scenario::{InMemory, InitialModel, Scenario};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use super::logs::{self, Watching};
use super::refusal::refused;
use crate::call::data_folder;
use crate::error::Failure;
use crate::learner::specs;
use crate::observer::PyObserver;
use crate::scenario::source_of;
use crate::signals::{LOOK_EVERY, Signals, now};

const PORT: u16 = 7700;

/// The arguments of a server, as the façade has checked their types.
#[derive(FromPyObject)]
pub(super) struct Arguments {
    task: String,
    path: Option<PathBuf>,
    overrides: Vec<String>,
    out: PathBuf,
    address: Option<String>,
    /// The folder of the authority; none serves this machine without certificates.
    certs: Option<PathBuf>,
    metrics: Option<String>,
    metrics_public: bool,
    pilots: bool,
    devices_min: Option<usize>,
    devices_max: Option<usize>,
    samples_max: u64,
    replan_every: u64,
    window_secs: f64,
    quorum: f64,
    /// Where browsers can watch the run.
    dashboard: Option<String>,
    dashboard_public: bool,
    threads: Option<usize>,
    data_dir: Option<PathBuf>,
}

/// Why a run is not served any more.
enum Refused {
    Run(RunError),
    /// What is wrong with the dashboard, and what would be right.
    Dashboard(String, String),
}

impl From<RunError> for Refused {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

/// The names and the shapes of tensors.
type Tensors = Vec<(String, Vec<usize>)>;

impl Arguments {
    /// The scenario, with a first model of the program in the place of a file.
    fn scenario(&self, py: Python<'_>, initial: Option<&Bound<'_, PyAny>>) -> Result<Scenario, Failure> {
        let source = source_of(&self.task, self.path.as_deref())?;
        let Some(initial) = initial else { return Ok(source.scenario(&self.overrides)?) };
        let tensors: Tensors = initial.call_method0("tensors")?.extract()?;
        let params = specs(tensors.clone());
        let as_file = |numbers: &[f32]| -> Result<Arc<InitialModel>, LearnError> {
            Ok(Arc::new(InitialModel::new(InitialModel::COPY, model_file::write(&params, numbers)?)))
        };
        // The seed, which decides the numbers, follows from the scenario, and the scenario from the tensors.
        let zeros = vec![0.0; params.iter().map(|(_, spec)| spec.len()).sum()];
        let memory = InMemory { initial: Some(as_file(&zeros)?), ..InMemory::default() };
        let mut overrides = self.overrides.clone();
        overrides.push(format!("task.initial={:?}", InitialModel::COPY));
        let mut scenario = source.with_memory(memory).scenario(&overrides)?;
        scenario.initial = Some(match self.stored_model(py, &tensors)? {
            Some(stored) => Arc::new(stored),
            None => {
                let model = initial.call_method1("model", (scenario.seed,))?;
                as_file(model.extract::<PyReadonlyArray1<'_, f32>>()?.as_slice().map_err(PyErr::from)?)?
            }
        });
        Ok(scenario)
    }

    /// The first model of the run in the folder, which resumes with it: whoever makes models at random need not make the same
    /// one again.
    fn stored_model(&self, py: Python<'_>, tensors: &Tensors) -> Result<Option<InitialModel>, Failure> {
        let path = self.out.join(InitialModel::COPY);
        let Ok(bytes) = std::fs::read(&path) else { return Ok(None) };
        let stored = model_file::tensors(&bytes, &path.display().to_string())?;
        if stored != *tensors {
            let problem =
                "initial has other tensors than the run in the folder, which begins with initial.safetensors";
            let remedy = "name another folder with out, or give the model that the run began with";
            return Err(Failure::input(problem, remedy).at("initial").of(py, tensors.clone()));
        }
        Ok(Some(InitialModel::new(InitialModel::COPY, bytes)))
    }

    fn dashboard(&self) -> Result<Option<Watched>, Refused> {
        let Some(address) = &self.dashboard else { return Ok(None) };
        let served = Watched::serve(address, self.dashboard_public);
        served.map(Some).map_err(|error| Refused::Dashboard(error.to_string(), error.hint()))
    }

    fn serving<'a>(&'a self, scenario: &'a Scenario) -> Result<Serving<'a>, RunError> {
        let status = self.metrics.as_deref().map(|text| address("metrics", text)).transpose()?;
        let reach = if self.metrics_public { Reach::Everybody } else { Reach::ThisMachine };
        let listen = match (&self.address, &self.certs) {
            (Some(text), _) => address("address", text)?,
            (None, None) => SocketAddr::from(([127, 0, 0, 1], PORT)),
            (None, Some(_)) => SocketAddr::from(([0, 0, 0, 0], PORT)),
        };
        let security = match &self.certs {
            None => Security::Plain,
            Some(folder) => Security::MutualTls { certs_folder: with_authority(folder)? },
        };
        Ok(Serving {
            listen,
            security,
            status: status.map(|address| (address, reach)),
            pilots: self.pilots,
            devices_min: self.devices_min,
            devices_max: self.devices_max,
            samples_max: self.samples_max,
            replan_every: (self.replan_every > 0).then_some(self.replan_every),
            window_secs: self.window_secs,
            quorum: self.quorum,
            ..Serving::on_this_machine(scenario, &self.out)
        })
    }
}

/// Serves a scenario until its run is over or is to stop. Returns whether the run has come to its first plan.
#[pyfunction]
#[pyo3(signature = (arguments, observer, initial=None, evaluate=None, ready=None, stop=None))]
pub(super) fn serve(
    py: Python<'_>,
    arguments: Arguments,
    observer: Py<PyAny>,
    initial: Option<Bound<'_, PyAny>>,
    evaluate: Option<Py<PyAny>>,
    ready: Option<Py<PyAny>>,
    stop: Option<Py<PyAny>>,
) -> PyResult<bool> {
    let data_dir = data_folder(arguments.data_dir.clone());
    let scenario = arguments.scenario(py, initial.as_ref())?;
    let signals = Arc::new(Signals::default());
    let observer = PyObserver::new(py, observer, Arc::clone(&signals))?;
    let evaluation = evaluate.map(|evaluate| evaluation(py, &scenario, evaluate, &signals)).transpose()?;
    let _watching = Watching::begin(py, || {})?;
    let served = py.detach(|| -> Result<Option<Summary>, Refused> {
        let serving = arguments.serving(&scenario)?;
        serving.check(evaluation.is_some())?;
        let watched = arguments.dashboard()?;
        let watch = watched.as_ref().map(Watched::device_watch).unwrap_or_default();
        let page = watched.as_ref().map(|watched| format!("http://{}/", watched.address()));
        let (last_look, last_forward) = (Cell::new(now()), Cell::new(now()));
        let stops = || {
            look(&signals, stop.as_ref(), &last_forward);
            signals.stops(&last_look)
        };
        let mut session = Session { stop: &stops, now, ..Session::new(data_dir) };
        session.threads = arguments.threads.unwrap_or_else(processors);
        session.observers.add(observer);
        watched.into_iter().for_each(|watched| session.observers.add(watched));
        let mut listening = |server: &Server| {
            watch.ask(server.fleet_source());
            tell(ready.as_ref(), server, page.as_deref(), &signals);
        };
        let served = serving.run(evaluation, &mut session, &mut listening)?;
        session.observers.all_done();
        Ok(served.summary)
    });
    logs::forward(py)?;
    match (signals.take(), served) {
        (Some(raised), _) => Err(raised),
        (None, Ok(summary)) => Ok(summary.is_some()),
        (None, Err(Refused::Run(error))) => Err(refused(py, error, &arguments.out).into()),
        (None, Err(Refused::Dashboard(problem, remedy))) => {
            Err(Failure::input(problem, remedy).at("dashboard").of(py, arguments.dashboard).into())
        }
    }
}

/// Hands the log over now and then, and looks whether somebody has set the event.
fn look(signals: &Signals, stop: Option<&Py<PyAny>>, last: &Cell<Instant>) {
    let moment = now();
    if moment - last.get() < LOOK_EVERY {
        return;
    }
    last.set(moment);
    let looked = Python::attach(|py| {
        logs::forward(py)?;
        let is_set = |event: &Py<PyAny>| event.bind(py).call_method0("is_set")?.is_truthy();
        stop.map_or(Ok(false), is_set)
    });
    match looked {
        Ok(true) => signals.stop(),
        Ok(false) => {}
        Err(error) => signals.raise(error),
    }
}

/// Tells the caller where the server listens.
fn tell(ready: Option<&Py<PyAny>>, server: &Server, page: Option<&str>, signals: &Signals) {
    let Some(ready) = ready else { return };
    let status = server.status_address().map(|address| address.to_string());
    let told = Python::attach(|py| {
        let at = (server.address().to_string(), status, page);
        ready.bind(py).call1(at).map(drop)
    });
    told.unwrap_or_else(|error| signals.raise(error));
}

/// An evaluation in Python, on the thread of the caller. An exception in it ends the run, which can be resumed.
fn evaluation(
    py: Python<'_>,
    scenario: &Scenario,
    evaluate: Py<PyAny>,
    signals: &Arc<Signals>,
) -> Result<ForeignEvaluation, Failure> {
    let params = offered(scenario)?.params()?;
    let tensors: Tensors = params.into_iter().map(|(name, spec)| (name, spec.shape)).collect();
    let tensors = tensors.into_pyobject(py)?.unbind();
    let signals = Arc::clone(signals);
    let modes = evaluate.clone_ref(py);
    let falls = Box::new(move |name: &str| {
        let mode = Python::attach(|py| modes.bind(py).call_method1("mode", (name,))?.extract::<String>());
        mode.is_ok_and(|mode| mode == "min")
    });
    let evaluate: ForeignEvaluate = Box::new(move |model: &Arc<ModelVector>| {
        Python::attach(|py| {
            let call = || -> PyResult<Vec<(String, f64)>> {
                let model = PyArray1::from_slice(py, model.as_slice());
                model.call_method1("setflags", (false,))?;
                evaluate.bind(py).call1((model, &tensors))?.extract()
            };
            call().map_err(|error| signals.raise_of_learner(py, error))
        })
    });
    Ok(ForeignEvaluation { evaluate, falls })
}
