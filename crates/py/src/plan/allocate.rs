//! The bandwidth of one round, divided among its cohort.

use std::collections::{BTreeMap, BTreeSet};

use fedflip_fleet::bandwidth::{Allocation, Division, Share, allocate as divided};
use fedflip_fleet::{Fleet, did_you_mean};
use numpy::PyArray1;
use pyo3::prelude::*;

use super::costs::{band, needed};
use crate::error::Failure;
use crate::fleet::{PyFleet, refused};

/// Adds what the module has to the extension module.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(allocate, module)?)
}

/// A device of a cohort, as a person names it.
#[derive(FromPyObject)]
enum Member {
    Name(String),
    Position(i64),
}

/// The columns of an allocation.
#[derive(IntoPyObject)]
struct Shares<'py> {
    device: Bound<'py, PyArray1<i64>>,
    mbps: Bound<'py, PyArray1<f64>>,
    compute_secs: Bound<'py, PyArray1<f64>>,
    upload_secs: Bound<'py, PyArray1<f64>>,
    finish_secs: Bound<'py, PyArray1<f64>>,
    round_secs: f64,
    /// With equal shares if these are adaptive, and the other way round.
    other_round_secs: f64,
}

/// Divides a bandwidth among the devices of one round.
#[pyfunction]
fn allocate<'py>(
    py: Python<'py>,
    fleet: &PyFleet,
    cohort: Vec<Bound<'py, PyAny>>,
    bandwidth_mbps: Option<f64>,
    spectrum_mhz: Option<f64>,
    equal: bool,
) -> PyResult<Shares<'py>> {
    let fleet = &fleet.0;
    let band = needed(band(py, bandwidth_mbps, spectrum_mhz, fleet)?)?;
    let cohort = positions(&cohort, fleet)?;
    let by = |division| divided(fleet, &cohort, band, division);
    let (adaptive, even) = py
        .detach(|| Ok((by(Division::Adaptive)?, by(Division::Equal)?)))
        .map_err(|error| refused(py, &error))?;
    let (Allocation { round_secs, shares }, other) = if equal { (even, adaptive) } else { (adaptive, even) };
    let column = |of: fn(&Share) -> f64| PyArray1::from_iter(py, shares.iter().map(of));
    Ok(Shares {
        device: PyArray1::from_iter(py, shares.iter().map(|share| share.device as i64)),
        mbps: column(|share| share.mbps),
        compute_secs: column(|share| share.compute_secs),
        upload_secs: column(|share| share.upload_secs),
        finish_secs: column(|share| share.finish_secs(share.compute_secs)),
        round_secs,
        other_round_secs: other.round_secs,
    })
}

/// Ascending positions in the fleet of devices that are given by name or by position.
fn positions(cohort: &[Bound<'_, PyAny>], fleet: &Fleet) -> Result<Vec<usize>, Failure> {
    let devices = fleet.len();
    let names_wanted = || format!("give names, or positions from 0 to {}", devices - 1);
    let mut by_name: Option<BTreeMap<&str, usize>> = None;
    let mut found = BTreeSet::new();
    for (place, member) in cohort.iter().enumerate() {
        let refuse = |problem: String, remedy: String| {
            let place = format!("cohort[{place}]");
            Failure::input(format!("{place}: {problem}"), remedy).at(place).of(member.py(), member)
        };
        let position = match member.extract::<Member>() {
            Ok(Member::Position(position)) => {
                usize::try_from(position).ok().filter(|position| *position < devices).ok_or_else(|| {
                    refuse(format!("{position} is outside the fleet of {devices} devices"), names_wanted())
                })?
            }
            Ok(Member::Name(name)) => {
                let by_name = by_name.get_or_insert_with(|| {
                    (0..devices).map(|position| (fleet.name(position), position)).collect()
                });
                *by_name.get(name.as_str()).ok_or_else(|| {
                    let remedy = did_you_mean(&name, by_name.keys(), names_wanted);
                    refuse(format!("no device is called {name:?}"), remedy)
                })?
            }
            Err(_) => {
                let kind = member.get_type().name()?.to_string();
                return Err(refuse(format!("a device is a name or a position, not {kind}"), names_wanted()));
            }
        };
        if !found.insert(position) {
            let name = fleet.name(position);
            return Err(refuse(
                format!("the device {name:?} occurs twice"),
                "name every device once".to_owned(),
            ));
        }
    }
    Ok(found.into_iter().collect())
}
