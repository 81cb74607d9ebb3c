//! Planned participation probabilities against realised frequencies.

use fedflip_fleet::type_of;

use super::Material;
use crate::chart::figure::Figure;
use crate::chart::scatter::{Point, Scatter};
use crate::collection::SchemeRuns;
use crate::model::Block;
use crate::numbers::{count, percent};

/// Devices drawn in one figure; of more, one in every few.
const DEVICES_MAX: usize = 400;
/// Device types with a colour and a shape of their own.
const KINDS_MAX: usize = 8;

pub(super) fn blocks(Material { group, .. }: &Material<'_>) -> Vec<Block> {
    let figures: Vec<Figure> = group.schemes.iter().filter_map(figure).collect();
    if figures.is_empty() { Vec::new() } else { vec![Block::Tiles(figures)] }
}

/// A point for each device; none without a fleet and a plan.
pub fn figure(scheme: &SchemeRuns) -> Option<Figure> {
    let devices = scheme.devices.as_ref()?;
    // Under other plans q was another.
    let rounds = scheme.rounds_of_plan();
    let all = devices.fleet.len();
    let mut kinds: Vec<String> = Vec::new();
    let kind_of = |name: &str, kinds: &mut Vec<String>| {
        let kind = type_of(name);
        let place = kinds.iter().position(|known| known == kind).unwrap_or_else(|| {
            kinds.push(if kinds.len() + 1 < KINDS_MAX { kind } else { "others" }.to_owned());
            kinds.len() - 1
        });
        kinds.truncate(KINDS_MAX);
        place.min(KINDS_MAX - 1)
    };
    let mut points = Vec::new();
    for device in (0..all).step_by(all.div_ceil(DEVICES_MAX).max(1)) {
        let name = devices.fleet.name(device);
        let taken = scheme.participations_of_plan(device);
        let (planned, realised) = (devices.q[device], taken as f64 / (rounds as f64).max(1.0));
        let hover = format!(
            "{name}: planned {}, took part in {} of {} rounds ({})",
            percent(planned),
            count(taken as usize),
            count(rounds as usize),
            percent(realised)
        );
        points.push(Point { hover, kind: kind_of(name, &mut kinds), planned, realised });
    }
    let some = if points.len() < all {
        format!(" {} of {} devices are shown.", count(points.len()), count(all))
    } else {
        String::new()
    };
    let in_cycles = match devices.schedule.quiet() {
        Some(_) => ", by the mean of usual and quiet rounds over a whole number of cycles",
        None => "",
    };
    let since = if rounds < scheme.rounds() { " since the last plan" } else { "" };
    let figure = Scatter {
        name: &format!("participation-{}", scheme.scheme),
        title: &format!("Participation under {}", scheme.scheme),
        caption: &format!(
            "A point a device, over {} rounds of all seeds{since}. Devices on the dashed line took part as often as planned{in_cycles}; chance alone keeps 95 % of them within the grey area.{some}",
            count(rounds as usize)
        ),
        kinds: &kinds,
        points,
        flips: rounds,
    };
    Some(figure.draw())
}
