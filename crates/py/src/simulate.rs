//! Simulated runs, comparisons and pilots.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::Arc;

use fedflip_agent::data_dir::data_dir;
use fedflip_plan::Scheme;
use fedflip_run::pilots::Pilots;
use fedflip_run::study::Study;
use fedflip_run::{
    Crews, Finished, RunError, Session, Setup, Trainer, processors, simulate_planned, warnings,
};
use fedflip_scenario::{Scenario, read_scheme};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::fleet::PyFleet;
use crate::learner::{ForeignTrainer, PyTrainer};
use crate::native::{HostCrews, PyCrews};
use crate::observer::PyObserver;
use crate::plan::PyPlan;
use crate::runs::RunData;
use crate::scenario::PyScenario;
use crate::scheme::{PySampling, PyScheme};
use crate::shard::part;
use crate::signals::{Signals, now};

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Options>()?;
    module.add_function(wrap_pyfunction!(simulate, module)?)?;
    module.add_function(wrap_pyfunction!(compare, module)?)?;
    module.add_function(wrap_pyfunction!(pilot, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_fleet, module)?)?;
    module.add_function(wrap_pyfunction!(data_folder, module)?)
}

/// What the machine and the user bring to runs; nothing of it changes a result.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(crate) struct Options {
    threads: Option<usize>,
    data_dir: PathBuf,
    out: Option<PathBuf>,
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
    ) -> Result<Self, Failure> {
        let data_dir = data_folder(data_dir)?;
        Ok(Self { threads, data_dir, out, resume, observer })
    }
}

/// The folder of data sets: the one that is asked for, or that of the user's cache.
#[pyfunction]
#[pyo3(signature = (asked=None))]
pub(crate) fn data_folder(asked: Option<PathBuf>) -> Result<PathBuf, Failure> {
    data_dir(asked.as_deref()).ok_or_else(|| {
        let problem = "there is no home folder to keep data sets in";
        Failure::input(problem, "name a folder in data_dir or in FEDFLIP_DATA").at("data_dir")
    })
}

/// Everything of one call from Python that may raise.
struct Call<'a> {
    options: &'a Options,
    trainer: Option<Arc<ForeignTrainer>>,
    crews: Option<Arc<HostCrews>>,
    samplings: Vec<Arc<PySampling>>,
    signals: Arc<Signals>,
    observer: Option<PyObserver>,
}

impl<'a> Call<'a> {
    fn new(
        py: Python<'_>,
        options: &'a Options,
        (trainer, crews): (Option<PyRef<'_, PyTrainer>>, Option<PyRef<'_, PyCrews>>),
        samplings: Vec<Arc<PySampling>>,
    ) -> PyResult<Self> {
        let signals = Arc::new(Signals::default());
        let observer = PyObserver::new(py, options.observer.clone_ref(py), Arc::clone(&signals))?;
        let trainer = trainer.map(|trainer| Arc::clone(&trainer.0));
        let crews = crews.map(|crews| Arc::clone(&crews.0));
        Ok(Self { options, trainer, crews, samplings, signals, observer: Some(observer) })
    }

    /// Calls `body` with a session, without the interpreter. An exception of Python code takes the place of any result.
    fn detached<T: Send>(
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
            body(&mut session, trainer)
        });
        let of_learner = self.trainer.as_ref().and_then(|trainer| trainer.workers.signals.take());
        let of_crew = self.crews.as_ref().and_then(|crews| crews.workers.signals.take());
        let of_scheme = self.samplings.iter().find_map(|sampling| sampling.signals.take());
        match of_learner.or(of_crew).or(of_scheme).or_else(|| self.signals.take()) {
            Some(raised) => Err(raised.into()),
            None => Ok(result?),
        }
    }
}

/// The data and the fleet of a run: those of the task, or of the caller's learner.
fn setup(
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

/// The fleet of a scenario, with the numbers of samples that its data have.
#[pyfunction]
#[pyo3(signature = (scenario, data_dir=None))]
fn scenario_fleet(
    py: Python<'_>,
    scenario: &PyScenario,
    data_dir: Option<PathBuf>,
) -> Result<PyFleet, Failure> {
    let folder = data_folder(data_dir)?;
    let setup = py.detach(|| Setup::new(&scenario.0, &mut Session::new(folder)))?;
    Ok(PyFleet(Arc::new(setup.fleet)))
}

/// One run. Without a folder it returns the run's data; otherwise they are in the folder.
#[pyfunction]
#[pyo3(signature = (scenario, options, trainer=None, plan=None, scheme=None, crews=None))]
fn simulate(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    trainer: Option<PyRef<'_, PyTrainer>>,
    plan: Option<PyRef<'_, PyPlan>>,
    scheme: Option<PyRef<'_, PyScheme>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<RunData>, Failure> {
    let samplings = scheme.iter().map(|scheme| Arc::clone(&scheme.sampling)).collect();
    let call = Call::new(py, options, (trainer, crews), samplings)?;
    let mut scenario = scenario.0.clone();
    let expected = plan.map(|plan| {
        let costs = plan.are_costs_known.then_some(plan.costs);
        (plan.planned.schedule.usual().q().to_vec(), costs)
    });
    let out = options.out.as_deref();
    let (data, other_plan) = call.detached(py, |session, trainer| {
        let setup = setup(&mut scenario, trainer, session)?;
        let planned = setup.plan(&scenario, Some(scenario.plan.constants))?;
        let differs = expected.is_some_and(|(q, costs)| {
            q != planned.schedule.usual().q() || costs.is_some_and(|costs| costs != scenario.planned_costs())
        });
        if differs {
            return Ok((None, true));
        }
        for text in warnings::of_plan(&planned, &scenario, &setup.fleet) {
            session.observers.warn(&text);
        }
        let Finished { model, records, .. } = simulate_planned(&setup, &scenario, &planned, out, session)?;
        let q = planned.schedule.mean_q();
        let data = model.zip(records).map(|(model, records)| {
            let (fleet, params) = (Arc::new(setup.fleet.clone()), setup.trainer.params());
            RunData::in_memory(*records, fleet, q, scenario.stored(), params, model)
        });
        Ok((data, false))
    })?;
    if other_plan {
        let problem = "the plan is not the one that the run's fleet and settings lead to";
        let remedy = "plan for the fleet of the run (scenario.fleet() has the samples of a task's data), and for its \
                      bandwidth, downlink and overhead";
        return Err(Failure::input(problem, remedy).at("plan"));
    }
    Ok(data)
}

/// A scheme as the façade passes it on.
#[derive(FromPyObject)]
enum SchemeArgument<'py> {
    Name(String),
    Custom(PyRef<'py, PyScheme>),
}

impl SchemeArgument<'_> {
    fn scheme(&self) -> Result<Scheme, Failure> {
        match self {
            Self::Name(name) => Ok(read_scheme(name, std::path::Path::new(""))?),
            Self::Custom(scheme) => Ok(scheme.scheme.clone()),
        }
    }
}

/// Every scheme with every seed; the result as JSON, or none if it was interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, schemes, reference, seeds, give_up=None, pilots=true, trainer=None, crews=None, shard=None))]
#[expect(clippy::too_many_arguments, reason = "the façade names them")]
fn compare(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    schemes: Vec<SchemeArgument<'_>>,
    reference: SchemeArgument<'_>,
    seeds: u64,
    give_up: Option<f64>,
    pilots: bool,
    trainer: Option<PyRef<'_, PyTrainer>>,
    crews: Option<PyRef<'_, PyCrews>>,
    shard: Option<(u64, u64, u64)>,
) -> Result<Option<(String, u64)>, Failure> {
    let sampling = |scheme: &SchemeArgument<'_>| match scheme {
        SchemeArgument::Custom(scheme) => Some(Arc::clone(&scheme.sampling)),
        SchemeArgument::Name(_) => None,
    };
    let samplings = schemes.iter().filter_map(sampling).collect();
    let reference = reference.scheme()?;
    let schemes = schemes.iter().map(SchemeArgument::scheme).collect::<Result<Vec<_>, _>>()?;
    let part = shard.map(|(index, count, first)| part(index, count, first)).transpose()?;
    let study = Study { schemes, reference, seeds, give_up, no_pilot: !pilots, part };
    let call = Call::new(py, options, (trainer, crews), samplings)?;
    let mut scenario = scenario.0.clone();
    let out = options.out.as_deref();
    let studied = call.detached(py, |session, trainer| {
        study.check(&scenario)?;
        let setup = setup(&mut scenario, trainer, session)?;
        let studied = study.run_in(&setup, &scenario, out, "", session)?;
        let items = study.items(&scenario);
        // Results are plain data, so they have a text.
        Ok(studied.map(|studied| (serde_json::to_string(&studied.json).unwrap_or_default(), items)))
    })?;
    Ok(studied)
}

/// α and β from pilots, as JSON; none if they were interrupted.
#[pyfunction]
#[pyo3(signature = (scenario, options, trainer=None, crews=None))]
fn pilot(
    py: Python<'_>,
    scenario: &PyScenario,
    options: &Options,
    trainer: Option<PyRef<'_, PyTrainer>>,
    crews: Option<PyRef<'_, PyCrews>>,
) -> Result<Option<String>, Failure> {
    let call = Call::new(py, options, (trainer, crews), Vec::new())?;
    let mut scenario = scenario.0.clone();
    let out = options.out.as_deref();
    let piloted = call.detached(py, |session, trainer| {
        let setup = setup(&mut scenario, trainer, session)?;
        let pilots = Pilots { setup: &setup, scenario: &scenario, out, prefix: "", kept: 0, part: None };
        let piloted = setup.with_crew(session.threads, |crew| pilots.run(crew, session))?;
        let Some(piloted) = piloted else { return Ok(None) };
        let hours = piloted.hours();
        let (runs, fit) = (piloted.runs, piloted.fit?);
        let ends = |interval: Option<fedflip_plan::constants::Interval>| {
            interval.map(|interval| [interval.low, interval.high])
        };
        let json = serde_json::json!({
            "alpha": fit.constants.alpha(),
            "beta": fit.constants.beta(),
            "alpha_interval": ends(fit.alpha_interval),
            "beta_interval": ends(fit.beta_interval),
            "hours": hours,
            "loss": scenario.pilot.loss,
            "runs": runs,
        });
        Ok(Some(json.to_string()))
    })?;
    Ok(piloted)
}
