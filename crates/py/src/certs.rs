//! Certificates of servers and devices.

use std::path::{Path, PathBuf};

use fedflip_net::NetError;
use fedflip_net::identity::mint::Validity;
use fedflip_net::identity::{DeviceName, Issued, Store};
use pyo3::prelude::*;

use crate::error::Failure;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(certs_create, module)?)?;
    module.add_function(wrap_pyfunction!(certs_server, module)?)?;
    module.add_function(wrap_pyfunction!(certs_server_hosts, module)?)?;
    module.add_function(wrap_pyfunction!(certs_devices, module)?)?;
    module.add_function(wrap_pyfunction!(certs_renew, module)?)?;
    module.add_function(wrap_pyfunction!(certs_revoke, module)?)?;
    module.add_function(wrap_pyfunction!(certs_issued, module)?)
}

/// An identity as Python gets it: name, serial number, public coin, last second, and when it was revoked.
type IssuedFields = (String, String, String, i64, Option<i64>);

fn fields(issued: &Issued) -> IssuedFields {
    let Issued { name, serial, coin, not_after_unix_secs, revoked_unix_secs, .. } = issued.clone();
    (name, serial, coin, not_after_unix_secs, revoked_unix_secs)
}

/// Makes an authority and the identity of its server.
#[pyfunction]
fn certs_create(
    py: Python<'_>,
    folder: PathBuf,
    hosts: Vec<String>,
    days: u32,
    now_unix_secs: i64,
) -> Result<(), Failure> {
    let made = py.detach(|| Store::create(&folder, &hosts, Validity { now_unix_secs, days }));
    made.map(drop).map_err(|error| failure(py, &error))
}

/// Replaces the server's certificate; without hosts it keeps those of the present one, and returns them.
#[pyfunction]
fn certs_server(
    py: Python<'_>,
    folder: PathBuf,
    hosts: Option<Vec<String>>,
    days: u32,
    now_unix_secs: i64,
) -> Result<PathBuf, Failure> {
    in_store(py, &folder, |store| {
        let hosts = hosts.map_or_else(|| store.server_hosts(), Ok)?;
        store.renew_server(&hosts, Validity { now_unix_secs, days })
    })
}

/// The hosts in the server's present certificate.
#[pyfunction]
fn certs_server_hosts(py: Python<'_>, folder: PathBuf) -> Result<Vec<String>, Failure> {
    in_store(py, &folder, |store| store.server_hosts())
}

/// Issues identities, all or none.
#[pyfunction]
fn certs_devices(
    py: Python<'_>,
    folder: PathBuf,
    names: Vec<String>,
    days: u32,
    now_unix_secs: i64,
) -> Result<Vec<PathBuf>, Failure> {
    in_store(py, &folder, |store| {
        let names = parsed(&names)?;
        store.check_new(&names)?;
        names.iter().map(|name| store.device(name, Validity { now_unix_secs, days })).collect()
    })
}

/// Renews certificates of devices, all or none, and returns the files that have changed.
#[pyfunction]
fn certs_renew(
    py: Python<'_>,
    folder: PathBuf,
    names: Vec<String>,
    days: u32,
    now_unix_secs: i64,
) -> Result<Vec<PathBuf>, Failure> {
    in_store(py, &folder, |store| {
        let names = parsed(&names)?;
        store.check_renewable(&names)?;
        names.iter().map(|name| store.renew(name, Validity { now_unix_secs, days })).collect()
    })
}

/// Revokes the identity of a device.
#[pyfunction]
fn certs_revoke(py: Python<'_>, folder: PathBuf, name: &str, now_unix_secs: i64) -> Result<(), Failure> {
    in_store(py, &folder, |store| store.revoke(name, now_unix_secs))
}

/// All identities, in the order in which they were issued.
#[pyfunction]
fn certs_issued(py: Python<'_>, folder: PathBuf) -> Result<Vec<IssuedFields>, Failure> {
    in_store(py, &folder, |store| Ok(store.issued().iter().map(fields).collect()))
}

fn parsed(names: &[String]) -> Result<Vec<DeviceName>, NetError> {
    names.iter().map(|name| name.parse()).collect()
}

/// Calls `body` with an authority's folder, which nobody else changes meanwhile.
fn in_store<T: Send>(
    py: Python<'_>,
    folder: &Path,
    body: impl FnOnce(&mut Store) -> Result<T, NetError> + Send,
) -> Result<T, Failure> {
    py.detach(|| Store::open(folder).and_then(|mut store| body(&mut store)))
        .map_err(|error| failure(py, &error))
}

/// An error of an authority as an exception that names the argument.
fn failure(py: Python<'_>, error: &NetError) -> Failure {
    let input = |place: &str| Failure::input(error, error.hint()).at(place);
    match error {
        NetError::NoAuthority { folder } => {
            let remedy = "make one with fedflip.certs.create(folder), or name its folder";
            Failure::input(error, remedy).at("folder").of(py, folder)
        }
        NetError::Exists { path } if path.ends_with("ca.key") => {
            let remedy = "open this authority with fedflip.certs.open(folder), or name another folder";
            Failure::input(error, remedy).at("folder").of(py, path)
        }
        NetError::Exists { path } => {
            let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy().into_owned();
            input("names").of(py, name)
        }
        NetError::BadName { name } | NetError::Unknown { name, .. } | NetError::Revoked { name } => {
            input("names").of(py, name)
        }
        NetError::BadHost { host } => input("hosts").of(py, host),
        _ => Failure::other(error, error.hint()),
    }
}
