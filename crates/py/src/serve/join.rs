//! A device that takes part in a run.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fedflip_agent::{Farewell, JoinArgs, JoinError, LogArgs, LogFormat, News, settings, take_part};
use fedflip_net::NetError;
use fedflip_net::wire::task::TaskMismatch;
use pyo3::prelude::*;
use tracing_subscriber::filter::LevelFilter;

use super::calls::alongside;
use super::training::{Caller, PyTasks};
use crate::error::Failure;
use crate::signals::Signals;

/// The arguments of a device, as the façade has checked their types.
#[derive(FromPyObject)]
pub(super) struct Device {
    server: String,
    identity: Option<PathBuf>,
    name: Option<String>,
    data: Vec<PathBuf>,
    data_dir: Option<PathBuf>,
    compute_secs: f64,
    save_model: Option<PathBuf>,
    give_up_secs: Option<f64>,
    /// Whether a training that fails ends the device's part in the run.
    raises: bool,
}

impl Device {
    fn args(&self) -> JoinArgs {
        JoinArgs {
            server: self.server.clone(),
            config: None,
            identity: self.identity.clone(),
            insecure: self.identity.is_none(),
            name: self.name.clone(),
            data_dir: self.data_dir.clone(),
            data: self.data.clone(),
            compute_secs: self.compute_secs,
            save_model: self.save_model.clone(),
            give_up_secs: self.give_up_secs,
            logs: LogArgs { log: LogFormat::Text, log_level: LevelFilter::OFF },
        }
    }
}

/// How a device's part in a run has gone.
#[derive(Clone, Copy, Default)]
struct Progress {
    slot: Option<usize>,
    rounds: u64,
    failures: u64,
}

/// Takes part until the run is over, somebody stops it, or the server refuses the device. Returns whether the run is over,
/// the slot of the device, and the number of rounds in which it took part and in which it failed.
#[pyfunction]
#[pyo3(signature = (device, prepare=None, stop=None))]
pub(super) fn join(
    py: Python<'_>,
    device: Device,
    prepare: Option<Py<PyAny>>,
    stop: Option<Bound<'_, PyAny>>,
) -> PyResult<(bool, Option<usize>, u64, u64)> {
    let args = device.args();
    let mut settings = py.detach(|| settings(&args)).map_err(|error| failure(py, error))?;
    let (signals, failed) = (Arc::new(Signals::default()), Arc::new(Mutex::new(None::<PyErr>)));
    let (shared, learner_failure) = (Arc::clone(&signals), Arc::clone(&failed));
    let raises = device.raises;
    let left = alongside(py, (&signals, stop.as_ref()), move |calls| {
        if let Some(prepare) = prepare {
            let failure = Arc::clone(&learner_failure);
            let caller = Caller { calls: calls.clone(), signals: Arc::clone(&shared), failure };
            settings.trains = Arc::new(PyTasks { caller, prepare });
        }
        let mut progress = Progress::default();
        let has_failed = || learner_failure.lock().unwrap_or_else(PoisonError::into_inner).is_some();
        let farewell = take_part(&settings, &|| shared.is_ending(), &mut |news| match news {
            News::Attending { slot, .. } => progress.slot = Some(*slot),
            News::TookPart { .. } => progress.rounds += 1,
            News::Failed { .. } => {
                progress.failures += 1;
                // The server has been told, and does not wait for this device.
                if raises && has_failed() {
                    shared.stop();
                }
            }
            _ => {}
        });
        (farewell, progress)
    });
    let (farewell, Progress { slot, rounds, failures }) = left?;
    let of_learner = failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = signals.take() {
        return Err(error);
    }
    match farewell {
        Ok(Farewell::Stopped) if raises && failures > 0 && of_learner.is_some() => {}
        Ok(farewell) => return Ok((farewell == Farewell::Finished, slot, rounds, failures)),
        // The exception says more than the error that it became.
        Err(NetError::Learn(_)) if of_learner.is_some() => {}
        Err(error) => return Err(failure(py, error.into()).into()),
    }
    match of_learner {
        Some(error) => Err(error),
        None => Ok((false, slot, rounds, failures)),
    }
}

/// An error of an agent as an exception that names the argument.
fn failure(py: Python<'_>, error: JoinError) -> Failure {
    let hint = error.hint();
    let input = |place: &str| Failure::input(&error, &hint).at(place);
    match &error {
        JoinError::Seconds { setting, value } => input(setting).of(py, *value),
        JoinError::NoFile { file } => input("save_model").of(py, file),
        JoinError::NoIdentity { folder, .. } => {
            let remedy =
                "name devices/NAME below the folder of the authority; fedflip.certs makes identities";
            Failure::input(&error, remedy).at("identity").of(py, folder)
        }
        JoinError::Setting(_) => input("config"),
        JoinError::Net(net) => match net {
            NetError::BadServer { server } | NetError::NotLoopback { server } => {
                input("address").of(py, server)
            }
            NetError::BadName { name } => input("name").of(py, name),
            NetError::Unfit { path, .. }
            | NetError::NotYetValid { path }
            | NetError::Damaged { path, .. }
            | NetError::Io { path, .. } => input("identity").of(py, path),
            NetError::Task(_) => input("data"),
            NetError::NoOwnData { .. } => {
                Failure::input(&error, "name files of this device's samples with data=").at("data")
            }
            NetError::OwnDataUnused { .. } => Failure::input(&error, &hint).at("data"),
            NetError::OtherTask(TaskMismatch::External) => {
                let problem = "the server's task is external, and there is no learner to train it";
                Failure::input(problem, "join with learner=, an object with fedflip.Learner's methods")
                    .at("learner")
            }
            _ => Failure::other(&error, &hint),
        },
    }
}
