//! The pilots, and α and β at other losses than theirs: how much these depend on F_s, and on the seed.

use fedflip_plan::Constants;
use fedflip_plan::constants::{self, Pilot};
use fedflip_record::Target;

use super::Material;
use crate::collection::Group;
use crate::devices::Devices;
use crate::model::{Block, Layout};
use crate::pilots;
use crate::run_view::RunView;
use crate::standing::Bound;
use crate::table::{Cell, Table, number, words};

/// Losses, in those that the pilots went to.
const TIMES_THE_LOSS: [f64; 6] = [3.0, 2.5, 2.0, 1.5, 1.25, 1.0];

pub(super) fn block(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let layout = Layout::Details { summary: "The pilots".to_owned(), open: group.schemes.is_empty() };
    Block::together(layout, runs(group).into_iter().chain(fits(group)).map(Block::Table))
}

/// Rounds and time to the loss of the pilots, a row each.
fn runs(group: &Group) -> Option<Table> {
    let rows = group.pilots.iter().map(|pilot| {
        let summary = pilot.summary();
        let bound = Bound::lower_if(!summary.reached());
        let loss = pilot.header.stop.as_ref().map(|stop| stop.at);
        vec![
            words("scheme", "scheme", &pilot.header.scheme),
            number("seed", "seed", Cell::count(pilot.header.seed)),
            number("rounds", "rounds", Cell::count(summary.rounds)).bounded(bound),
            number("time", "hours", Cell::hours(Some(summary.hours))).bounded(bound),
            number("devices a round", "participants", Cell::short(Some(summary.mean_participants))),
            number("to the loss", "target_loss", Cell::short(loss)),
        ]
    });
    let note = "Rounds to the loss of the pilots, under schemes whose sampling variance is known. “>” marks a pilot that ended before that loss.";
    Some(Table::of(rows)?.named("pilots", "Pilots", note))
}

/// A row a loss: the fit over all seeds, and from where to where those of single seeds go. None without pilots that
/// were evaluated after every round.
fn fits(group: &Group) -> Option<Table> {
    let planned = pilots::for_planning(group);
    let target = planned.first()?.header.stop.as_ref()?;
    let devices = pilots::devices(group)?.ok()?;
    let every_round = |pilot: &&RunView| {
        let evaluated = pilot.fold.curve.points(&target.metric).filter(|at| at.round > 0);
        evaluated.count() as u64 >= pilot.summary().rounds
    };
    if !planned.iter().all(every_round) {
        return None;
    }
    let mut by_seed = planned.clone();
    by_seed.sort_by_key(|pilot| pilot.header.seed);
    let row = |times: f64| {
        let target = Target { at: target.at * times, ..target.clone() };
        let all = fit(&devices, &planned, &target)?;
        let of_seed = by_seed.chunk_by(|a, b| a.header.seed == b.header.seed);
        let singles: Vec<Constants> = of_seed.filter_map(|of_seed| fit(&devices, of_seed, &target)).collect();
        let ends = |of: fn(Constants) -> f64| {
            let values = singles.iter().map(|&constants| of(constants));
            [values.clone().min_by(f64::total_cmp), values.max_by(f64::total_cmp)].map(Cell::short)
        };
        let ([alpha_least, alpha_most], [beta_least, beta_most]) =
            (ends(Constants::alpha), ends(Constants::beta));
        Some(vec![
            number("F_s", "loss", Cell::short(Some(target.at))),
            number("α", "alpha", Cell::short(Some(all.alpha()))),
            number("least", "alpha_least", alpha_least),
            number("most", "alpha_most", alpha_most),
            number("β", "beta", Cell::short(Some(all.beta()))),
            number("least", "beta_least", beta_least),
            number("most", "beta_most", beta_most),
        ])
    };
    let note = "α and β follow from the rounds that the same pilots took to each loss: from a fit to all pilots, and as \
                the least and the most over the pairs of one seed. Losses without a fit are left out.";
    Some(Table::of(TIMES_THE_LOSS.into_iter().filter_map(row))?.named(
        "fits",
        "α and β at other losses",
        note,
    ))
}

/// None where some pilot did not come to the loss, or was there at once, or where they contradict each other.
fn fit(devices: &Devices, pilots: &[&RunView], target: &Target) -> Option<Constants> {
    let point = |pilot: &&RunView| {
        let mut evaluated = pilot.fold.curve.points(&target.metric).filter(|at| at.round > 0);
        // One that is there after its first round may have been there before it.
        let round = evaluated.find(|at| target.is_met_by(at.value))?.round;
        let scheme = pilot.header.scheme.parse().ok()?;
        (round > 1).then_some(Pilot { rounds: round as f64, reached: true, scheme })
    };
    let points = pilots.iter().map(point).collect::<Option<Vec<Pilot>>>()?;
    constants::from_pilots(&devices.fleet, &points).ok().map(|fit| fit.constants)
}
