//! Run folders of rounds that a program runs itself.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use fedflip_fleet::csv_file;
use fedflip_learn::layer::ParamSpec;
use fedflip_learn::model_file;
use fedflip_record::checkpoint::Mark;
use fedflip_record::folder::{Caps, Contents};
use fedflip_record::{
    Checkpoint, Deployed, End, Header, Initial, Line, RecordError, Round, RunFolder, Start,
};
use fedflip_run::header;
use fedflip_scenario::{FREE_KEYS, InitialModel, Scenario};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::Failure;
use crate::learner::metric;
use crate::plan::PyPlan;
use crate::scenario::PyScenario;

/// A run folder in the making. Lines arrive as JSON, and are refused unless they are lines of records.
#[pyclass(frozen, module = "fedflip._fedflip")]
pub(super) struct RunWriter {
    header: Header,
    params: Vec<(String, ParamSpec)>,
    /// None after the end.
    folder: Mutex<Option<RunFolder>>,
    /// Rounds in the folder.
    rounds: Mutex<u64>,
    start: Start,
}

/// Where a run continues: rounds done, time, and the vectors of the checkpoint.
type After<'py> = (u64, f64, Vec<Bound<'py, PyArray1<f32>>>);

#[pymethods]
impl RunWriter {
    /// `task` is what the records call the work. `metrics` has a name and `max` or `min` for each metric. `is_real` says that
    /// times are those of the clock on the wall.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "the façade names them")]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        scenario: &PyScenario,
        plan: &PyPlan,
        task: String,
        metrics: Vec<(String, String)>,
        is_real: bool,
        resume: bool,
    ) -> PyResult<Self> {
        let scenario = &scenario.scenario;
        let params = params(scenario)?;
        let mut contents = contents(scenario, plan, &params, (&metrics, is_real));
        contents.header.task = task;
        let header = contents.header.clone();
        let opened = py.detach(|| RunFolder::open(&folder, &contents, resume));
        let (opened, start) = opened.map_err(Failure::from)?;
        let rounds = match &start {
            Start::New => 0,
            Start::After(checkpoint) => checkpoint.round,
            Start::Ended(end) => end.rounds,
        };
        Ok(Self { header, params, folder: Mutex::new(Some(opened)), rounds: Mutex::new(rounds), start })
    }

    /// Refuses a folder that holds neither this run nor room for one, and makes it if there is none.
    #[staticmethod]
    fn prepare(py: Python<'_>, folder: PathBuf, scenario: &PyScenario, plan: &PyPlan) -> PyResult<()> {
        let scenario = &scenario.scenario;
        // Metrics are known later, and no file beside the records has them.
        let contents = contents(scenario, plan, &params(scenario)?, (&[], false));
        let made = py.detach(|| {
            RunFolder::check_free(&folder, &contents)?;
            fs::create_dir_all(&folder).map_err(RecordError::io(&folder, "cannot be made"))
        });
        Ok(made.map_err(Failure::from)?)
    }

    /// The names of the model's tensors, in the order of its numbers.
    #[getter]
    fn tensors(&self) -> Vec<String> {
        self.params.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Where the run continues; none if it begins or has ended.
    #[getter]
    fn after<'py>(&self, py: Python<'py>) -> Option<After<'py>> {
        let Start::After(Checkpoint { round, secs, vectors, .. }) = &self.start else { return None };
        let arrays = vectors.iter().map(|vector| PyArray1::from_slice(py, vector)).collect();
        Some((*round, *secs, arrays))
    }

    /// The last line of a run that has ended, as JSON.
    #[getter]
    fn ended(&self) -> PyResult<Option<String>> {
        let Start::Ended(end) = &self.start else { return Ok(None) };
        Ok(Some(serde_json::to_string(end).map_err(|error| Failure::other(error, ""))?))
    }

    /// Appends the evaluation of the first model.
    fn append_initial(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        let initial: Initial = parsed(json)?;
        Ok(py.detach(|| self.with_folder(|folder| Ok(folder.append_initial(initial)?)))?)
    }

    /// Appends the record of a round.
    fn append(&self, py: Python<'_>, json: &str) -> PyResult<()> {
        let round: Round = parsed(json)?;
        let mut rounds = self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        self.check(&round, *rounds)?;
        *rounds = round.round;
        Ok(py.detach(|| self.with_folder(|folder| Ok(folder.append(round)?)))?)
    }

    /// Lets readers see what was appended.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.with_folder(|folder| Ok(folder.flush()?)))?)
    }

    /// Syncs the records to the disk, and then a checkpoint.
    fn checkpoint(&self, py: Python<'_>, secs: f64, vectors: Vec<PyReadonlyArray1<'_, f32>>) -> PyResult<()> {
        let vectors = vectors.iter().map(|vector| vector.as_slice().map(<[f32]>::to_vec));
        let round = *self.rounds.lock().unwrap_or_else(PoisonError::into_inner);
        let (evaluated, records) = (None, Mark::default());
        let vectors = vectors.collect::<Result<_, _>>()?;
        let checkpoint = Checkpoint { round, secs, evaluated, records, vectors };
        if !checkpoint.fits(self.header.parameters) {
            let problem =
                format!("a vector of the checkpoint does not have {} numbers", self.header.parameters);
            return Err(Failure::input(problem, "give vectors of the model").at("vectors").into());
        }
        Ok(py.detach(|| self.with_folder(|folder| Ok(folder.checkpoint(checkpoint)?)))?)
    }

    /// Replaces a file beside the records, whole or not at all.
    fn write(&self, py: Python<'_>, file: &str, content: &[u8]) -> PyResult<()> {
        Ok(py.detach(|| self.with_folder(|folder| Ok(folder.write(file, content)?)))?)
    }

    /// Ends the run with its model.
    fn end(&self, py: Python<'_>, json: &str, model: PyReadonlyArray1<'_, f32>) -> PyResult<()> {
        let end: End = parsed(json)?;
        let bytes = model_file::write(&self.params, model.as_slice()?).map_err(Failure::from)?;
        let mut open = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = open.take().ok_or_else(closed)?;
        py.detach(|| folder.end(end, &bytes)).map_err(Failure::from)?;
        Ok(())
    }

    /// Lets others write to the folder. What was appended is on its way to the disk.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut folder) = folder else { return Ok(()) };
        Ok(py.detach(|| folder.flush()).map_err(Failure::from)?)
    }
}

impl RunWriter {
    fn with_folder(&self, body: impl FnOnce(&mut RunFolder) -> Result<(), Failure>) -> Result<(), Failure> {
        body(self.folder.lock().unwrap_or_else(PoisonError::into_inner).as_mut().ok_or_else(closed)?)
    }

    /// Refuses a round that readers of records could not use.
    fn check(&self, round: &Round, rounds: u64) -> Result<(), Failure> {
        let Round { cohort, mbps, compute_secs, upload_secs, lost, metrics, .. } = round;
        let refuse = |problem: String| {
            Err(Failure::input(format!("round {}: {problem}", round.round), "record rounds in their order"))
        };
        if round.round != rounds + 1 {
            return refuse(format!("it follows round {rounds}"));
        }
        let devices = self.header.devices;
        if cohort.windows(2).any(|pair| pair[0] >= pair[1])
            || cohort.last().is_some_and(|last| *last >= devices)
        {
            return refuse(format!("the cohort is not in ascending order among {devices} devices"));
        }
        let is_column = |len: usize| len == 0 || len == cohort.len();
        if mbps.len() != cohort.len() || !is_column(compute_secs.len()) || !is_column(upload_secs.len()) {
            return refuse("a column does not have one number for each device of the cohort".to_owned());
        }
        if let Some(lost) = lost.iter().find(|lost| cohort.binary_search(&lost.device).is_err()) {
            return refuse(format!("device {} is lost and was not in the cohort", lost.device));
        }
        let is_declared = |name: &str| self.header.metrics.iter().any(|info| info.name == name);
        if let Some((name, _)) = metrics.iter().find(|(name, _)| !is_declared(name)) {
            return refuse(format!("the metric {name} is not declared in the header"));
        }
        Ok(())
    }
}

/// The tensors of the model.
fn params(scenario: &Scenario) -> Result<Vec<(String, ParamSpec)>, Failure> {
    let task = scenario.external()?;
    Ok(task.map(|task| task.params().to_vec()).unwrap_or_default())
}

/// What a run folder holds from its beginning. Metrics have a name and `max` or `min`.
fn contents<'a>(
    scenario: &'a Scenario,
    plan: &PyPlan,
    params: &[(String, ParamSpec)],
    (metrics, is_real): (&[(String, String)], bool),
) -> Contents<'a> {
    let parameters = params.iter().map(|(_, spec)| spec.len()).sum();
    let metrics: Vec<_> = metrics.iter().map(|(name, mode)| metric(name, mode == "min")).collect();
    let planned = &plan.planned;
    let first = header((scenario, false), (parameters, &metrics), &planned.schedule, planned.expected);
    let mut fleet = Vec::new();
    // Memory takes whatever is written to it.
    let _ = csv_file::write(&plan.fleet, &mut fleet);
    let initial = scenario.initial.as_ref().map(|model| (InitialModel::COPY, model.bytes.as_slice()));
    Contents {
        run: scenario.stored(),
        free_keys: FREE_KEYS,
        caps: Caps::NONE,
        fleet,
        plan: planned.schedule.csv(&plan.fleet),
        header: Header { deployed: is_real.then(Deployed::default), ..first },
        copies: initial.into_iter().collect(),
    }
}

/// A line of records without its type.
fn parsed<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| {
        let problem = format!("this is not a line of records: {error}");
        Failure::input(problem, format!("see the schema of {} for its keys", std::any::type_name::<Line>()))
    })
}

fn closed() -> Failure {
    Failure::other("the run folder is closed", "open it again with resume=True")
}
