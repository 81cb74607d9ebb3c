//! What a run takes over from its state when it resumes.

use fedflip_engine::State;
use fedflip_fleet::ModelVector;
use fedflip_record::folder::RECORDS;
use fedflip_record::{Best, Line, reader};

use super::deploy::Deployment;
use crate::error::NetError;
use crate::measure::{Measures, Uplink};
use crate::state::{EnrolledDevice, Resumed, RunState, STATE};

/// The measurements of the state, and the calibration of devices that enrolled after the last commit.
pub(super) fn restored_measures(
    stored: Option<&str>,
    devices: &[EnrolledDevice],
    uplink: &Uplink,
) -> Result<Measures, NetError> {
    let mut measures: Measures = match stored {
        Some(text) => serde_json::from_str(text)
            .map_err(|error| NetError::damaged(STATE, format!("its measurements: {error}")))?,
        None => Measures::default(),
    };
    devices.iter().skip(measures.len()).for_each(|device| measures.calibrated(device, uplink));
    Ok(measures)
}

/// The engine's state after the last commit; a new run starts from `initial_model`.
pub(super) fn restored_progress(
    deployment: &Deployment,
    state: &RunState,
    resumed: Resumed,
    initial_model: impl FnOnce() -> ModelVector,
) -> Result<State, NetError> {
    let Resumed { round, secs, evaluated, memory, .. } = resumed;
    let begun = match resumed.model {
        Some(model) => {
            let Some(memory) = deployment.optimiser.restored(memory, model.len()) else {
                // Cannot happen: a folder of another scenario is refused when it is opened.
                return Err(NetError::StateRefused { what: "another optimiser".to_owned() });
            };
            State { memory, ..State::new(ModelVector::new(model)) }
        }
        None => State::new(initial_model()).with_optimiser(&deployment.optimiser),
    };
    let mut progress = State { round, secs, evaluated, ..begun };
    if round > 0 && deployment.aggregation.remembers_norms() {
        reader::each(&state.path().join(RECORDS), |line| progress.norms.take_line(&line))?;
    }
    Ok(progress)
}

/// The slots of devices of which the records say that they have left for good.
pub(super) fn known_left(state: &RunState) -> Result<Vec<usize>, NetError> {
    let (records, mut retired) = (state.path().join(RECORDS), Vec::new());
    if records.exists() {
        reader::each(&records, |line| {
            if let Line::Replan(replan) = line {
                retired = replan.retired;
            }
        })?;
    }
    Ok(retired)
}

/// The best evaluation of the records. If it is the last one, its model is kept again: the server may have been killed
/// before it did.
pub(super) fn restored_best(
    deployment: &Deployment,
    state: &mut RunState,
    progress: &State,
) -> Result<Option<Best>, NetError> {
    let Some(target) = &deployment.stop.target else { return Ok(None) };
    let best = Best::read(target, &state.path().join(RECORDS))?;
    if best.round() == Some(progress.round) {
        state.keep_best(progress.result().as_slice())?;
    }
    Ok(Some(best))
}
