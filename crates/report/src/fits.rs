//! α and β at other losses than the pilots': how much they depend on F_s, and on the seed.

use fedflip_plan::Constants;
use fedflip_plan::constants::{self, Pilot};

use crate::collection::Group;
use crate::devices::Devices;
use crate::numbers::significant;
use crate::pilots;
use crate::run_view::RunView;
use crate::table::{Cell, Column, Table};

/// Losses, in those that the pilots went to.
const TIMES_THE_LOSS: [f64; 6] = [3.0, 2.5, 2.0, 1.5, 1.25, 1.0];

/// A row a loss: the fit over all seeds, and from where to where those of single seeds go. None without pilots that
/// were evaluated after every round.
pub fn fits_table(group: &Group) -> Option<Table> {
    let planned = pilots::for_planning(group);
    let loss = planned.first()?.header.target_of("loss")?;
    let devices = pilots::devices(group)?.ok()?;
    let every_round = |pilot: &&RunView| pilot.evaluated.len() as u64 >= pilot.summary.rounds;
    if !planned.iter().all(every_round) {
        return None;
    }
    let seeds = pilots::seeds(planned.iter().copied());
    let row = |times: f64| {
        let loss = loss * times;
        let all = fit(&devices, &planned, loss)?;
        let singles = seeds.iter().filter_map(|&seed| {
            let of_seed: Vec<&RunView> =
                planned.iter().copied().filter(|pilot| pilot.header.seed == seed).collect();
            fit(&devices, &of_seed, loss)
        });
        let singles: Vec<Constants> = singles.collect();
        Some(vec![
            number(Some(loss)),
            number(Some(all.alpha())),
            number(least(&singles, Constants::alpha)),
            number(most(&singles, Constants::alpha)),
            number(Some(all.beta())),
            number(least(&singles, Constants::beta)),
            number(most(&singles, Constants::beta)),
        ])
    };
    let rows: Vec<Vec<Cell>> = TIMES_THE_LOSS.into_iter().filter_map(row).collect();
    (!rows.is_empty()).then(|| Table {
        name: "fits".to_owned(),
        title: "α and β at other losses".to_owned(),
        note: "From the rounds that the same pilots took to each loss: fitted to all, and the least and the most of the \
               pairs of one seed. Losses at which they give no fit are left out."
            .to_owned(),
        columns: vec![
            Column::number("F_s", "loss"),
            Column::number("α", "alpha"),
            Column::number("least", "alpha_least"),
            Column::number("most", "alpha_most"),
            Column::number("β", "beta"),
            Column::number("least", "beta_least"),
            Column::number("most", "beta_most"),
        ],
        rows,
    })
}

fn number(value: Option<f64>) -> Cell {
    Cell::number(value, |value| significant(value, 3))
}

fn least(all: &[Constants], of: fn(Constants) -> f64) -> Option<f64> {
    all.iter().map(|&constants| of(constants)).min_by(f64::total_cmp)
}

fn most(all: &[Constants], of: fn(Constants) -> f64) -> Option<f64> {
    all.iter().map(|&constants| of(constants)).max_by(f64::total_cmp)
}

/// None where some pilot did not come to the loss, or was there at once, or where they contradict each other.
fn fit(devices: &Devices, pilots: &[&RunView], loss: f64) -> Option<Constants> {
    let point = |pilot: &&RunView| {
        // One that is there after its first round may have been there before it.
        let rounds = 1 + pilot.evaluated.iter().position(|at| at.loss <= loss).filter(|&place| place > 0)?;
        let scheme = pilot.header.scheme.parse().ok()?;
        Some(Pilot { rounds: rounds as f64, reached: true, scheme })
    };
    let points = pilots.iter().map(point).collect::<Option<Vec<Pilot>>>()?;
    constants::from_pilots(&devices.fleet, &points).ok().map(|fit| fit.constants)
}
