//! Fleets from columns of numpy arrays, from files and from profiles.
//!
//! - `refusal`: why a fleet is refused; `views`: columns that numpy reads where they are.

mod refusal;
mod views;

use std::fs::File;
use std::sync::Arc;

use fedflip::planner::FleetSummary;
use fedflip_fleet::names::Names;
use fedflip_fleet::profiles::{PROFILES, Profile, ProfileSettings};
use fedflip_fleet::{Fleet, FleetError, Gflop, Mbit, OutOfRange, OwnedColumns, csv_file};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::error::Failure;
pub(crate) use refusal::refused;
pub(crate) use views::Column;

/// Adds what the module has to the extension module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyFleet>()?;
    module.add_class::<Column>()?;
    module.add_function(wrap_pyfunction!(nearest, module)?)
}

/// The known name that is closest to a misspelt one; None if no name is close.
#[pyfunction]
fn nearest(text: &str, names: Vec<String>) -> Option<String> {
    fedflip_fleet::nearest(text, names)
}

/// A fleet; copies share it.
#[pyclass(frozen, name = "Fleet", module = "fedflip._fedflip")]
pub(crate) struct PyFleet(pub(crate) Arc<Fleet>);

/// The quantities of all devices, which the fleet copies once.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct PyColumns<'py> {
    device: Option<Bound<'py, PyList>>,
    compute_secs: PyReadonlyArray1<'py, f64>,
    comm_secs: PyReadonlyArray1<'py, f64>,
    samples: PyReadonlyArray1<'py, f64>,
    availability: Option<PyReadonlyArray1<'py, f64>>,
    link_mbps: Option<PyReadonlyArray1<'py, f64>>,
    snr_db: Option<PyReadonlyArray1<'py, f64>>,
}

/// The arguments of `Fleet.paper`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ProfileArguments {
    devices: u64,
    profile: String,
    payload_mbit: f64,
    compute_gflop: Option<f64>,
    samples_total: Option<u64>,
    concentration: Option<f64>,
    seed: u64,
}

#[pymethods]
impl PyFleet {
    /// A fleet from columns of numpy arrays, of which it keeps a copy: their owner may change them later.
    #[staticmethod]
    fn from_columns(py: Python<'_>, columns: PyColumns<'_>) -> PyResult<Self> {
        let optional = |column: Option<PyReadonlyArray1<'_, f64>>| column.as_ref().map(copied).transpose();
        let owned = OwnedColumns {
            names: columns.device.as_ref().map(|list| packed(py, list)).transpose()?,
            compute_secs: copied(&columns.compute_secs)?,
            comm_secs: copied(&columns.comm_secs)?,
            samples: copied(&columns.samples)?,
            availability: optional(columns.availability)?,
            link_mbps: optional(columns.link_mbps)?,
            snr_db: optional(columns.snr_db)?,
        };
        let fleet = py.detach(|| Fleet::from_owned_columns(owned));
        Ok(Self(Arc::new(fleet.map_err(|error| refused(py, &error))?)))
    }

    /// The fleet in a CSV file.
    #[staticmethod]
    fn read(py: Python<'_>, path: &str) -> PyResult<Self> {
        let fleet = py.detach(|| {
            let file = File::open(path).map_err(|error| FleetError::File {
                file: path.to_owned(),
                line: None,
                problem: format!("cannot be opened: {error}"),
                hint: "name a CSV file of a fleet, or give the columns themselves".to_owned(),
            })?;
            csv_file::read(file, path)
        });
        Ok(Self(Arc::new(fleet.map_err(|error| refused(py, &error))?)))
    }

    /// What `fedflip fleet new` makes of the same arguments.
    #[staticmethod]
    fn paper(py: Python<'_>, arguments: ProfileArguments) -> PyResult<Self> {
        let profile = Profile::named(&arguments.profile)
            .map_err(|error| refused(py, &error).of(py, &arguments.profile))?;
        let out_of_range = |place: &'static str| {
            move |OutOfRange { value, wanted }| {
                let problem = format!("{place}: {value} is out of range");
                Failure::input(problem, format!("it must be {wanted}")).at(place).of(py, value)
            }
        };
        let ProfileArguments { devices, samples_total, concentration, seed, .. } = arguments;
        let work = arguments.compute_gflop.map(Gflop::new).transpose();
        let settings = ProfileSettings {
            devices: usize::try_from(devices).unwrap_or(usize::MAX),
            payload: Mbit::new(arguments.payload_mbit).map_err(out_of_range("payload_mbit"))?,
            work: work.map_err(out_of_range("compute_gflop"))?,
            samples_total: samples_total.unwrap_or(devices.saturating_mul(600)),
            concentration,
            seed,
        };
        let fleet = py.detach(|| profile.fleet(&settings)).map_err(|error| {
            let failure = refused(py, &error);
            match &error {
                FleetError::Recipe { what: "concentration", .. } => failure.of(py, concentration),
                FleetError::Recipe { what: "samples_total", .. } => failure.of(py, settings.samples_total),
                FleetError::NoDevices | FleetError::TooManyDevices => failure.at("devices").of(py, devices),
                _ => failure,
            }
        })?;
        Ok(Self(Arc::new(fleet)))
    }

    /// The profiles that `paper` knows, each with a sentence.
    #[staticmethod]
    fn profiles() -> Vec<(&'static str, &'static str)> {
        PROFILES.iter().map(|profile| (profile.name, profile.about)).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }

    /// A column by its name; None where no device has the quantity.
    fn column(slf: &Bound<'_, Self>, name: &str) -> Option<Column> {
        let fleet = &slf.get().0;
        let numbers = match name {
            "compute_secs" => Some(fleet.compute_secs()),
            "comm_secs" => Some(fleet.comm_secs()),
            "samples" => Some(fleet.samples()),
            "data_shares" => Some(fleet.weights()),
            "availability" => Some(fleet.availability()),
            "link_mbps" => fleet.link_mbps(),
            "snr_db" => fleet.snr_db(),
            _ => None,
        };
        numbers.map(|numbers| Column::of(slf, numbers))
    }

    /// The names of all devices.
    fn names<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, (0..self.0.len()).map(|position| self.0.name(position)))
    }

    /// The name of one device; empty outside the fleet.
    fn name(&self, position: usize) -> &str {
        self.0.name(position)
    }

    /// Writes the fleet as a CSV file, as `fedflip fleet new` prints it.
    fn to_csv(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        let written = py.detach(|| File::create(path).and_then(|file| csv_file::write(&self.0, file)));
        Ok(written.map_err(|error| {
            let problem = format!("{path}: cannot be written: {error}");
            Failure::input(problem, "name a file in a folder that exists and can be written")
                .at("path")
                .of(py, path)
        })?)
    }

    /// The summary as JSON and as text; the text calls the fleet `source`.
    fn summary(&self, py: Python<'_>, source: &str) -> PyResult<(String, String)> {
        let (json, text) = py.detach(|| {
            let summary = FleetSummary::new(&self.0);
            let mut text = Vec::new();
            // Writing to memory cannot fail.
            let _ = summary.write(&mut text, &self.0, source);
            (serde_json::to_string(&summary), text)
        });
        let json = json.map_err(|error| Failure::other(error, ""))?;
        Ok((json, String::from_utf8_lossy(&text).into_owned()))
    }
}

/// The numbers of an array, contiguous or not.
fn copied(column: &PyReadonlyArray1<'_, f64>) -> PyResult<Vec<f64>> {
    Ok(match column.as_slice() {
        Ok(numbers) => numbers.to_vec(),
        Err(_) => column.as_array().iter().copied().collect(),
    })
}

/// A list of names; whole numbers count as names too.
fn packed(py: Python<'_>, list: &Bound<'_, PyList>) -> Result<Names, Failure> {
    let mut names = Names::default();
    for (row, name) in list.iter().enumerate() {
        match name.cast::<PyString>() {
            Ok(text) => names.push(text.to_str()?),
            Err(_) => {
                let kind = name.get_type().name()?.to_string();
                return Err(Failure::input(
                    format!("device, row {row}: a name must be text, not {kind}"),
                    "give every device a name, or leave the column device out",
                )
                .at(format!("device, row {row}"))
                .of(py, name));
            }
        }
    }
    Ok(names)
}
