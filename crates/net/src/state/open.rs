//! Starting a run in a folder, and resuming one.

use std::fs;
use std::path::Path;

use fedflip_record::folder::{self, BEST, FLEET, MODEL, PLAN, RECORDS, RUN};
use fedflip_record::{Changed, End, EndReason, KeyChange, Line, atomic, changed};
use rand_core::RngCore;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use tracing::info;

use super::database::{self, STATE, damaged, in_folder};
use super::incidents::Incidents;
use super::inserts::kind;
use super::models::Models;
use super::records_file::{Agreed, RecordsFile};
use super::rows::{NewRun, Resumed, StoredPlan};
use super::run_state::{NewestModel, RunState};
use super::seals::Seals;
use super::view::StateView;
use crate::coin::RUN_BYTES;
use crate::error::NetError;

impl RunState {
    /// Opens a folder for a run: an empty folder starts a new one, and a run of the same scenario is resumed.
    pub fn open(folder: &Path, new_run: &NewRun<'_>) -> Result<(Self, Resumed), NetError> {
        let mut run_id = [0; RUN_BYTES];
        rand_core::OsRng.fill_bytes(&mut run_id);
        Self::open_as(folder, new_run, run_id)
    }

    /// Does the same as [`RunState::open`]; a new run gets this identifier instead of a random one. It decides all
    /// coins of the run, so only a simulation may choose it.
    pub fn open_as(
        folder: &Path,
        new_run: &NewRun<'_>,
        new_run_id: [u8; RUN_BYTES],
    ) -> Result<(Self, Resumed), NetError> {
        fs::create_dir_all(folder).map_err(NetError::io(folder, "cannot be made"))?;
        in_folder(folder, open_checked(folder, new_run, new_run_id))
    }
}

fn open_checked(
    folder: &Path,
    new_run: &NewRun<'_>,
    new_run_id: [u8; RUN_BYTES],
) -> Result<(RunState, Resumed), NetError> {
    let lock = folder::lock(folder)?;
    let models = Models::new(folder, new_run.params, new_run.memory);
    if !folder.join(STATE).exists() {
        refuse_what_is_there(folder, &models)?;
    }
    let (connection, holds_run) = database::open(folder, OpenFlags::default())?;
    let mut view = StateView { folder: folder.to_owned(), connection };
    let records = folder.join(RECORDS);
    // Everything is checked before anything is changed.
    let (seals, agreed) = if holds_run {
        let seals = Seals::checked(&view.connection)?;
        Agreed::with_database(&records, &view.connection)?;
        database::make_durable(&view.connection)?;
        let seals = check(&mut view, new_run, models.parameters(), seals)?;
        // The last lines may be others now.
        (seals, Agreed::with_database(&records, &view.connection)?)
    } else {
        // A server that was killed at its very start leaves an empty file, and nothing beside it.
        refuse_what_is_there(folder, &models)?;
        database::make_durable(&view.connection)?;
        let seals = found_run(&mut view.connection, new_run, models.parameters(), new_run_id)?;
        (seals, Agreed::default())
    };
    models.make()?;
    let (mut resumed, model) = resumed(&view, &models)?;
    if let (Some(header), Some(target)) = (&mut resumed.header, new_run.stop) {
        header.stop = Some(target.clone());
    }
    models.sweep(model.round)?;
    readers_files(folder, &models, new_run, &resumed)?;
    let state = RunState {
        records: RecordsFile::follow(&records, &view.connection, agreed)?,
        devices: resumed.devices.iter().map(|device| (device.name.clone(), device.coin)).collect(),
        plan: resumed.plan.clone(),
        has_initial: resumed.round == 0 && resumed.evaluated.is_some(),
        ended: resumed.end.is_some(),
        failed: false,
        incidents: Incidents::default(),
        view,
        models,
        model,
        seals,
        _lock: lock,
    };
    Ok((state, resumed))
}

/// A folder with other files of a run but without its state cannot be resumed.
fn refuse_what_is_there(folder: &Path, models: &Models) -> Result<(), NetError> {
    if folder.join(RUN).exists() || folder.join(RECORDS).exists() || !models.is_empty() {
        return Err(NetError::NoState { folder: folder.display().to_string() });
    }
    Ok(())
}

fn found_run(
    connection: &mut Connection,
    new_run: &NewRun<'_>,
    parameters: usize,
    run_id: [u8; RUN_BYTES],
) -> Result<Seals, NetError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    database::make_tables(&transaction)?;
    let insert = "INSERT INTO run (one, run_id, parameters, scenario) VALUES (1, ?1, ?2, ?3)";
    transaction.execute(insert, params![run_id, parameters as i64, new_run.run_toml])?;
    let seals = Seals::found(&transaction)?;
    transaction.commit()?;
    Ok(seals)
}

/// Refuses a run of another scenario. Keys that may differ are taken over, and the records say so; a run that had ended at
/// a cap or a target which has changed has not ended any more.
fn check(
    view: &mut StateView,
    new_run: &NewRun<'_>,
    parameters: usize,
    mut seals: Seals,
) -> Result<Seals, NetError> {
    let query = "SELECT scenario, parameters FROM run";
    let (before, size): (String, i64) =
        view.connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let folder = view.folder.display();
    let other = |difference| NetError::OtherScenario { folder: folder.to_string(), difference };
    if let Some(difference) = changed::difference_in_words(&before, new_run.run_toml, new_run.free_keys) {
        return Err(other(difference));
    }
    if size != parameters as i64 {
        return Err(other(format!("its model has {size} parameters, where this one has {parameters}")));
    }
    if before == new_run.run_toml {
        return Ok(seals);
    }
    let changes = changed::key_changes(&before, new_run.run_toml);
    info!(changes = %in_words(&changes), "the run resumes with other settings");
    let other_target = changes.iter().any(|change| change.key.starts_with("stop."));
    let resumes = |end: End| end.reason.is_cap() || (end.reason == EndReason::Target && other_target);
    let end = view.end()?;
    let has_ended = end.is_some();
    let takes_back_end = end.is_some_and(resumes);
    let changed = Changed { after_round: view.rounds()?, changes, stop: new_run.stop.cloned() };
    if changed.is_of_metric() {
        // The model there was the best by another metric. It goes first: a server that is killed here does this again.
        remove_if_there(&view.folder.join(BEST))?;
    }
    let changed = Line::Changed(changed);
    let transaction = view.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("UPDATE run SET scenario = ?1", [new_run.run_toml])?;
    seals.renew_run(&transaction)?;
    if takes_back_end {
        transaction.execute("DELETE FROM records WHERE kind = 'end'", [])?;
        seals.take_back_record(&transaction)?;
    }
    // A run that is over, or has no first line yet, says nothing of its settings.
    if seals.chain.records > 0 && (takes_back_end || !has_ended) {
        let text = serde_json::to_string(&changed).map_err(|error| damaged(error.to_string()))?;
        let insert = "INSERT INTO records (seq, kind, line) VALUES (?1, ?2, ?3)";
        transaction.execute(insert, params![seals.chain.records as i64 + 1, kind(&changed), text])?;
        seals.append_record(&transaction)?;
    }
    seals.write(&transaction)?;
    transaction.commit()?;
    Ok(seals)
}

fn remove_if_there(path: &Path) -> Result<(), NetError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(NetError::io(path, "cannot be removed")(error))
        }
        _ => Ok(()),
    }
}

fn in_words(changes: &[KeyChange]) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
    let words = changes
        .iter()
        .map(|change| format!("{} was {} and is {}", change.key, value(&change.before), value(&change.now)));
    words.collect::<Vec<_>>().join("; ")
}

/// The progress of the run, and its newest model.
fn resumed(view: &StateView, models: &Models) -> Result<(Resumed, NewestModel), NetError> {
    let query = "SELECT measures, norms FROM run";
    let (measures, norms) = view.connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut resumed = Resumed {
        run_id: view.run_id()?,
        round: view.rounds()?,
        secs: 0.0,
        model: None,
        memory: Vec::new(),
        evaluated: None,
        end: view.end()?,
        devices: view.devices()?,
        plan: view.plan(view.plans()?)?,
        header: view.header()?,
        measures,
        norms,
    };
    if let Some((slot, _)) = (0..).zip(&resumed.devices).find(|(slot, device)| *slot != device.slot) {
        return Err(damaged(format!("is damaged: no device at position {slot}")));
    }
    if resumed.round == 0 {
        // Of estimates, what the stop rule believed.
        resumed.evaluated = view
            .initial()?
            .map(|initial| initial.estimated.map_or(initial.metrics, |estimated| estimated.limit));
        return Ok((resumed, NewestModel::default()));
    }
    let Some(last) = view.round(resumed.round)? else {
        return Err(damaged(format!("is damaged: round {} has no record", resumed.round)));
    };
    (resumed.secs, resumed.evaluated) = (last.secs, last.evaluated);
    if let Some(digest) = last.model_sha256 {
        let stored = models.read(last.model_round, digest)?;
        (resumed.model, resumed.memory) = (Some(stored.numbers), stored.memory);
    }
    Ok((resumed, NewestModel { round: last.model_round, sha256: last.model_sha256 }))
}

/// Updates the files for readers, except for the records.
fn readers_files(
    folder: &Path,
    models: &Models,
    new_run: &NewRun<'_>,
    resumed: &Resumed,
) -> Result<(), NetError> {
    if let Some(plan) = &resumed.plan {
        write_plan(folder, plan)?;
    }
    follow(folder, RUN, new_run.run_toml.as_bytes())?;
    if let (Some(_), Some(model)) = (&resumed.end, &resumed.model) {
        follow(folder, MODEL, &models.bytes(models.average(&resumed.memory).unwrap_or(model))?)?;
    }
    for name in [RUN, FLEET, PLAN, MODEL] {
        // An interrupted replacement leaves such a file.
        let _ = fs::remove_file(folder.join(format!("{name}.new")));
    }
    Ok(())
}

pub(super) fn write_plan(folder: &Path, plan: &StoredPlan) -> Result<(), NetError> {
    follow(folder, FLEET, &plan.fleet_csv)?;
    follow(folder, PLAN, &plan.plan_csv)
}

fn follow(folder: &Path, name: &str, content: &[u8]) -> Result<(), NetError> {
    let path = folder.join(name);
    if fs::read(&path).is_ok_and(|found| found == content) {
        return Ok(());
    }
    Ok(atomic::write(&path, content)?)
}
