//! A run as plain values, for pickling, and as a run folder.

use std::path::Path;
use std::sync::Arc;

use fedflip_fleet::{Fleet, csv_file};
use fedflip_plan::{Plan, Schedule};
use fedflip_record::folder::{BEST, Caps, Contents};
use fedflip_record::reader::Records;
use fedflip_record::{Line, RunFolder};

use super::models::{Models, Tensors};
use super::{Part, RunData, lines};
use crate::error::Failure;

/// Records as lines of JSON, the last round before the present plan, `run.toml`, `fleet.csv`, q as bytes, and the last model and
/// the best one as safetensors.
pub(super) type Values =
    (String, u64, Option<String>, Option<String>, Option<Vec<u8>>, Option<Vec<u8>>, Option<Vec<u8>>);

/// All of a run. A model that cannot be read is left out.
pub(super) fn values(run: &RunData) -> Result<Values, Failure> {
    let mut text = String::new();
    for line in lines(&run.records) {
        let line = serde_json::to_string(&line);
        text +=
            &line.map_err(|error| Failure::other(format!("the records cannot be written: {error}"), ""))?;
        text.push('\n');
    }
    let fleet = run.fleet.as_ref().ok().map(|fleet| csv(fleet));
    let fleet = fleet.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok((
        text,
        run.planned_after,
        run.run_toml.clone().ok(),
        fleet,
        run.q.as_ref().ok().map(|q| q.iter().flat_map(|q| q.to_le_bytes()).collect()),
        run.models.last(&run.records).and_then(|model| model.to_bytes()).ok(),
        run.models.best().ok().flatten().and_then(|model| model.to_bytes().ok()),
    ))
}

/// The run of `values`.
pub(super) fn restored(values: Values) -> Result<RunData, Failure> {
    let (text, planned_after, run_toml, fleet, q, model, best) = values;
    let mut records: Option<Records> = None;
    for line in text.lines() {
        let damaged =
            |error| Failure::other(format!("the pickled run is damaged: {error}"), "open its run folder");
        match (serde_json::from_str(line).map_err(damaged)?, &mut records) {
            (Line::Header(header), _) => {
                records = Some(Records { header, initial: None, rounds: Vec::new(), end: None });
            }
            (Line::Initial(initial), Some(records)) => records.initial = Some(initial),
            (Line::Round(round), Some(records)) => records.rounds.push(round),
            (Line::End(end), Some(records)) => records.end = Some(end),
            _ => {}
        }
    }
    let no_records = || Failure::other("the pickled run has no records", "open its run folder");
    let fleet = match fleet {
        Some(text) => Ok(Arc::new(csv_file::read(text.as_bytes(), "the pickled fleet")?)),
        None => left_out("fleet"),
    };
    Ok(RunData {
        records: records.ok_or_else(no_records)?,
        planned_after,
        run_toml: run_toml.map_or_else(|| left_out("scenario"), Ok),
        fleet,
        q: q.map_or_else(|| left_out("plan"), |bytes| Ok(numbers(&bytes))),
        models: Models::Memory { model: tensors(model)?, best: tensors(best)? },
    })
}

/// Writes a run as its folder would be, without checkpoints.
pub(super) fn write_folder(run: &RunData, folder: &Path) -> Result<(), Failure> {
    let plan = run.fleet.as_ref().ok().zip(run.q.as_ref().ok()).and_then(|(fleet, q)| {
        let plan = Plan::from_q(fleet, q.clone()).ok()?;
        Some(Schedule::new(plan, u64::MAX).csv(fleet))
    });
    let contents = Contents {
        run: run.run_toml.clone().unwrap_or_default(),
        free_keys: &[],
        caps: Caps::NONE,
        fleet: run.fleet.as_ref().map(|fleet| csv(fleet)).unwrap_or_default(),
        plan: plan.unwrap_or_default(),
        header: run.records.header.clone(),
        copies: Vec::new(),
    };
    let (mut writer, _) = RunFolder::open(folder, &contents, false)?;
    let Records { initial, rounds, end, .. } = &run.records;
    initial.iter().try_for_each(|initial| writer.append_initial(initial.clone()))?;
    rounds.iter().try_for_each(|round| writer.append(round.clone()))?;
    if let Some(best) = run.models.best()? {
        writer.write(BEST, &best.to_bytes()?)?;
    }
    match end {
        Some(end) => writer.end(end.clone(), &run.models.last(&run.records)?.to_bytes()?)?,
        None => writer.flush()?,
    }
    Ok(())
}

fn csv(fleet: &Fleet) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Memory takes whatever is written to it.
    let _ = csv_file::write(fleet, &mut bytes);
    bytes
}

fn left_out<T>(what: &str) -> Part<T> {
    Err(format!("the {what} of the run could not be read when the run was pickled"))
}

fn tensors(bytes: Option<Vec<u8>>) -> Result<Option<Tensors>, Failure> {
    bytes.map(|bytes| Tensors::from_bytes(&bytes, "the pickled model")).transpose()
}

fn numbers(bytes: &[u8]) -> Vec<f64> {
    bytes.as_chunks::<8>().0.iter().map(|&number| f64::from_le_bytes(number)).collect()
}
