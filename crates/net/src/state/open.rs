//! NewRun a run's folder, and going on with one.

use std::fs;
use std::path::Path;

use fedflip_record::atomic;
use fedflip_record::folder::{self, FLEET, MODEL, PLAN, RECORDS, RUN};
use rand_core::RngCore;
use rusqlite::{Connection, TransactionBehavior, params};

use super::database::{self, Found, STATE, damaged, refusal};
use super::models::{Models, Remembered};
use super::queries;
use super::records_file::{Agreed, RecordsFile};
use super::rows::{NewRun, Resumed, StoredPlan};
use super::run_state::{NewestModel, Parts, RunState};
use super::seals::Seals;
use crate::coin::RUN_BYTES;
use crate::error::NetError;

impl RunState {
    /// Opens a folder for a run: a new one is founded, one with a run of the same scenario goes on.
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
        let lock = folder::lock(folder)?;
        let models = Models::new(folder, new_run.params, new_run.memory);
        if !folder.join(STATE).exists() {
            refuse_what_is_there(folder, &models)?;
        }
        let (mut connection, found) = database::open(folder)?;
        let (path, records) = (folder.join(STATE), folder.join(RECORDS));
        // Whatever is wrong is refused before anything is changed.
        let (before, agreed) = match found {
            Found::Run => {
                let seals = Seals::checked(&connection, &path)?;
                (Some(seals), Agreed::with_database(&records, &connection)?)
            }
            Found::Empty => {
                // A server that was killed at its very start leaves an empty file, and nothing beside it.
                refuse_what_is_there(folder, &models)?;
                (None, Agreed::default())
            }
        };
        database::make_durable(&connection).map_err(refusal(&path))?;
        let seals = match before {
            Some(seals) => check(folder, &mut connection, new_run, models.parameters(), seals)?,
            None => found_run(folder, &mut connection, new_run, models.parameters(), new_run_id)?,
        };
        models.make()?;
        let (resumed, newest) = resumed(folder, &connection, &models)?;
        models.sweep(newest.round)?;
        readers_files(folder, &models, new_run, &resumed)?;
        let records = RecordsFile::follow(&records, &connection, agreed)?;
        let parts = Parts { folder: folder.to_owned(), connection, records, models, lock, seals };
        Ok((Self::new(parts, &resumed, newest), resumed))
    }
}

/// Without a state, what is there is not ours to go on with.
fn refuse_what_is_there(folder: &Path, models: &Models) -> Result<(), NetError> {
    if folder.join(RUN).exists() || folder.join(RECORDS).exists() || !models.is_empty() {
        return Err(NetError::NoState { folder: folder.display().to_string() });
    }
    Ok(())
}

fn found_run(
    folder: &Path,
    connection: &mut Connection,
    new_run: &NewRun<'_>,
    parameters: usize,
    run_id: [u8; RUN_BYTES],
) -> Result<Seals, NetError> {
    let refuse = refusal(&folder.join(STATE));
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&refuse)?;
    database::make_tables(&transaction).map_err(&refuse)?;
    let insert = "INSERT INTO run (one, run_id, parameters, scenario) VALUES (1, ?1, ?2, ?3)";
    transaction.execute(insert, params![run_id, parameters as i64, new_run.run_toml]).map_err(&refuse)?;
    let seals = Seals::found(&transaction).map_err(&refuse)?;
    transaction.commit().map_err(&refuse)?;
    Ok(seals)
}

/// Whether the run is of the same scenario. What may differ is taken over; a run that had ended at a cap which
/// has changed has not ended any more.
fn check(
    folder: &Path,
    connection: &mut Connection,
    new_run: &NewRun<'_>,
    parameters: usize,
    mut seals: Seals,
) -> Result<Seals, NetError> {
    let refuse = refusal(&folder.join(STATE));
    let (before, size): (String, i64) = connection
        .query_row("SELECT scenario, parameters FROM run", [], |row| Ok((row.get(0)?, row.get(1)?)))
        .map_err(&refuse)?;
    let other = |difference| NetError::OtherScenario { folder: folder.display().to_string(), difference };
    if let Some(difference) = folder::first_difference(&before, new_run.run_toml, new_run.free_keys) {
        return Err(other(difference));
    }
    if size != parameters as i64 {
        return Err(other(format!("its model has {size} parameters, where this one has {parameters}")));
    }
    if before == new_run.run_toml {
        return Ok(seals);
    }
    let ended_at_cap = queries::end(connection).map_err(&refuse)?.is_some_and(|end| end.reason.is_cap());
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&refuse)?;
    transaction.execute("UPDATE run SET scenario = ?1", [new_run.run_toml]).map_err(&refuse)?;
    seals.renew_run(&transaction).map_err(&refuse)?;
    if ended_at_cap {
        transaction.execute("DELETE FROM records WHERE kind = 'end'", []).map_err(&refuse)?;
        seals.take_back_record(&transaction).map_err(&refuse)?;
    }
    seals.write(&transaction).map_err(&refuse)?;
    transaction.commit().map_err(&refuse)?;
    Ok(seals)
}

/// Where the run stands, and which model is the newest.
fn resumed(
    folder: &Path,
    connection: &Connection,
    models: &Models,
) -> Result<(Resumed, NewestModel), NetError> {
    let path = folder.join(STATE);
    let refuse = refusal(&path);
    let (run_id, measures, norms) = connection
        .query_row("SELECT run_id, measures, norms FROM run", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .map_err(&refuse)?;
    let plans = queries::plans(connection).map_err(&refuse)?;
    let mut resumed = Resumed {
        run_id,
        round: queries::rounds(connection).map_err(&refuse)?,
        secs: 0.0,
        model: None,
        memory: Vec::new(),
        evaluated: None,
        end: queries::end(connection).map_err(&refuse)?,
        devices: queries::devices(connection).map_err(&refuse)?,
        plan: queries::plan(connection, plans).map_err(&refuse)?,
        header: queries::header(connection).map_err(&refuse)?,
        measures,
        norms,
    };
    if let Some(misplaced) = (0..).zip(&resumed.devices).find(|(slot, device)| *slot != device.slot) {
        return Err(damaged(&path, format!("is damaged: no device at position {}", misplaced.0)));
    }
    if resumed.round == 0 {
        resumed.evaluated = queries::initial(connection).map_err(&refuse)?.map(|initial| initial.metrics);
        return Ok((resumed, NewestModel::default()));
    }
    let Some(last) = queries::round(connection, resumed.round).map_err(&refuse)? else {
        return Err(damaged(&path, format!("is damaged: round {} has no record", resumed.round)));
    };
    (resumed.secs, resumed.evaluated) = (last.secs, last.evaluated);
    if let Some(digest) = last.model_sha256 {
        let Remembered { model, memory } = models.read(last.model_round, digest)?;
        (resumed.model, resumed.memory) = (Some(model), memory);
    }
    Ok((resumed, NewestModel { round: last.model_round, sha256: last.model_sha256 }))
}

/// Brings the files for readers up to the database, but for the records.
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
        // What an interrupted replacement has begun.
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
