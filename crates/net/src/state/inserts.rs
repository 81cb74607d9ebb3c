//! The statements that write rows.

use fedflip_record::Line;
use rusqlite::{Connection, params};

use super::rows::{Fate, PlannedDevice, StoredPlan};

pub(super) fn kind(line: &Line) -> &'static str {
    match line {
        Line::Header(_) => "header",
        Line::Initial(_) => "initial",
        Line::Round(_) => "round",
        Line::Replan(_) => "replan",
        Line::Changed(_) => "changed",
        Line::Recount(_) => "recount",
        Line::End(_) => "end",
    }
}

pub(super) fn insert_plan(state: &Connection, number: u64, plan: &StoredPlan) -> rusqlite::Result<()> {
    let (number, after_round) = (number as i64, plan.after_round as i64);
    let [alpha, beta] = plan.constants.map_or([None; 2], |constants| constants.map(Some));
    let expected = plan.expected;
    let costs = serde_json::to_string(&plan.costs);
    let costs = costs.map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
    state.execute(
        "INSERT INTO plans (plan, after_round, secs, reason, scheme, alpha, beta, expected_participants, \
         expected_rounds, expected_round_secs, costs, fleet_csv, plan_csv) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            number,
            after_round,
            plan.secs,
            plan.reason,
            plan.scheme,
            alpha,
            beta,
            expected.participants,
            expected.rounds,
            expected.round_secs,
            costs,
            plan.fleet_csv,
            plan.plan_csv
        ],
    )?;
    let mut insert = state.prepare("INSERT INTO plan_devices VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for (slot, device) in (0_i64..).zip(&plan.devices) {
        let PlannedDevice { q, availability, weight, quiet } = device;
        let [quiet_q, quiet_weight] = quiet.map_or([None; 2], |quiet| quiet.map(Some));
        insert.execute(params![number, slot, q, availability, weight, quiet_q, quiet_weight])?;
    }
    Ok(())
}

pub(super) fn insert_fates(state: &Connection, round: u64, fates: &[(usize, Fate)]) -> rusqlite::Result<()> {
    let columns = "round, slot, digest, bytes, train_loss, reason";
    let mut insert =
        state.prepare(&format!("INSERT INTO updates ({columns}) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"))?;
    for (slot, fate) in fates {
        let (round, slot) = (round as i64, *slot as i64);
        match fate {
            Fate::Accepted { digest, bytes, train_loss } => {
                insert.execute(params![round, slot, digest, *bytes as i64, train_loss, None::<String>])?
            }
            Fate::Lost { reason } => {
                let nothing = (None::<Vec<u8>>, None::<i64>, None::<f64>);
                insert.execute(params![round, slot, nothing.0, nothing.1, nothing.2, reason])?
            }
        };
    }
    Ok(())
}
