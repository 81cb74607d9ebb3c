//! Single rounds: who computes and who uploads, and when.

use fedflip_record::Round;

use super::Material;
use crate::chart::figure::Figure;
use crate::chart::timeline::{Row, Timeline};
use crate::collection::SchemeRuns;
use crate::model::{Block, Choice};
use crate::numbers::{duration, significant};
use crate::run_view::RunView;

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    let choices: Vec<Choice> = group.schemes.iter().flat_map(choices).collect();
    if choices.is_empty() { Vec::new() } else { vec![Block::Choice(choices)] }
}

/// The rounds of a scheme that are worth a look: of the first seed that has the round that somebody wants to see, or of
/// the first seed.
fn choices(scheme: &SchemeRuns) -> Vec<Choice> {
    let chosen = scheme.runs.iter().find(|run| run.kept.has_chosen());
    let Some(run) = chosen.or(scheme.runs.first()) else { return Vec::new() };
    // Files show the chosen round and no other, or else the one with most participants.
    let has_main = chosen.is_some() || scheme.runs.iter().all(|run| !run.kept.is_choosy());
    let choice = |(place, (why, round)): (usize, (&str, &Round))| Choice {
        heading: scheme.scheme.clone(),
        text: format!("{}, round {} ({why})", scheme.scheme, round.round),
        figure: timeline(scheme, run, round),
        is_main: has_main && place == 0,
    };
    run.kept.all().into_iter().enumerate().map(choice).collect()
}

fn timeline(scheme: &SchemeRuns, run: &RunView, round: &Round) -> Figure {
    let fleet = scheme.devices.as_ref().map(|devices| &devices.fleet).filter(|fleet| {
        // Records may name devices that the fleet beside them does not have.
        round.cohort.iter().all(|&device| device < fleet.len())
    });
    let rows = round.cohort.iter().enumerate().map(|(place, &device)| {
        let mbps = round.mbps.get(place).copied().map_or(0.0, f64::from);
        let recorded = |secs: &[f32]| secs.get(place).copied().map(f64::from);
        let compute_secs = recorded(&round.compute_secs).or(fleet.map(|fleet| fleet.compute_secs()[device]));
        let upload_secs =
            recorded(&round.upload_secs).or(fleet.map(|fleet| fleet.comm_secs()[device] / mbps));
        Row {
            device: fleet.map_or_else(|| format!("device {device}"), |fleet| fleet.name(device).to_owned()),
            compute_secs: compute_secs.unwrap_or(0.0),
            upload_secs: upload_secs.filter(|secs| secs.is_finite()).unwrap_or(0.0),
            mbps,
            lost: round.lost.iter().find(|lost| lost.device == device).map(|lost| lost.reason.clone()),
        }
    });
    let number = round.round;
    let participants = round.cohort.len();
    Timeline {
        name: &format!("timeline-{}-round-{number}", scheme.scheme),
        title: &format!("Round {number} under {}, seed {}", scheme.scheme, run.header.seed),
        caption: &format!(
            "{participants} {} took part; the round took {}, with {} Mbit/s shared by all.",
            if participants == 1 { "device" } else { "devices" },
            duration(round.round_secs),
            significant(run.header.bandwidth_mbps, 3)
        ),
        round_secs: round.round_secs,
        bandwidth_mbps: run.header.bandwidth_mbps,
        rows: rows.collect(),
    }
    .draw()
}
