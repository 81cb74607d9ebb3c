//! Why a server cannot begin or continue, in the words of Python's arguments.

use std::path::Path;

use fedflip_net::NetError;
use fedflip_run::RunError;
use fedflip_run::deployed::DeployError;
use pyo3::prelude::*;

use crate::error::Failure;

/// An error of a server as an exception that names the argument or the key.
pub(super) fn refused(py: Python<'_>, error: RunError, out: &Path) -> Failure {
    let hint = error.hint();
    let input = |place: &str| Failure::input(&error, &hint).at(place);
    match &error {
        RunError::Deploy(refusal) => match refusal {
            DeployError::NoEvaluator { metric } => {
                let remedy = "give evaluate=, a function from a dict of arrays to a dict of metrics, or leave the target out";
                Failure::input(&error, remedy).at("evaluate").of(py, metric)
            }
            DeployError::OtherMetric { metric, .. } => input("stop.metric").of(py, metric),
            DeployError::Range { setting, value, .. } => input(setting).of(py, *value),
            DeployError::BadAddress { setting, text } => input(setting).of(py, text),
            DeployError::NotARun { folder, .. } => input("out").of(py, folder),
            DeployError::AuthorityLacks { folder, .. } => input("certs").of(py, folder),
            DeployError::NoRounds { scheme } | DeployError::DrawsCohorts { scheme } => {
                input("plan.scheme").of(py, scheme.to_string())
            }
            other => input(other.place()),
        },
        RunError::Net(net) => match net {
            NetError::Listen { address, .. } | NetError::PlainText { address } => {
                input("address").of(py, address.to_string())
            }
            NetError::StatusPublic { address } => {
                let remedy = "serve metrics on 127.0.0.1, or say metrics_public=True";
                Failure::input(&error, remedy).at("metrics").of(py, address.to_string())
            }
            NetError::NoAuthority { folder } => {
                let remedy = "make one with fedflip.certs.create(folder), or serve this machine alone with insecure=True";
                Failure::input(&error, remedy).at("certs").of(py, folder)
            }
            NetError::OtherScenario { .. } | NetError::NoState { .. } => {
                input("out").of(py, out.display().to_string())
            }
            _ => error.into(),
        },
        _ => error.into(),
    }
}
