//! Planned participation probabilities against realised frequencies, a point a device, and the numbers behind them.

use fedflip_fleet::type_of;

use super::Material;
use crate::chart::canvas::{Canvas, Shape};
use crate::chart::figure::Figure;
use crate::chart::legend::{Entry, Sign};
use crate::chart::palette::COLOURS;
use crate::chart::plot_area::{Axis, PlotArea, with_legend};
use crate::collection::SchemeRuns;
use crate::devices::Devices;
use crate::model::{Block, Layout};
use crate::numbers::{count, percent};
use crate::table::{Cell, Table, number, words};

/// Devices drawn in one figure; of more, one in every few.
const DEVICES_MAX: usize = 400;
/// Device types with a colour and a shape of their own.
const KINDS_MAX: usize = 8;
const SIZE: (f64, f64) = (420.0, 380.0);
/// Points along the edge of what chance does.
const EDGE_POINTS: u32 = 60;

pub(super) fn figures(Material { group, .. }: &Material<'_>) -> Option<Block> {
    // Without a q there is nothing that a frequency could be compared with.
    let schemes = group.schemes.iter().filter(|scheme| scheme.has_q());
    let figures = schemes.filter_map(|scheme| Some(figure(scheme, scheme.devices.as_ref()?)));
    Block::together(Layout::Tiles, figures.map(Block::Figure))
}

/// Every device under every scheme: planned, and realised under the plan that is in the folder.
pub(super) fn data(Material { group, .. }: &Material<'_>) -> Option<Block> {
    let mut rows = Vec::new();
    for scheme in &group.schemes {
        let Some(devices @ Devices { fleet, .. }) = &scheme.devices else { continue };
        rows.extend(realised(scheme, devices).enumerate().map(|(device, point)| {
            let planned = scheme.has_q().then_some(point.planned);
            vec![
                words("scheme", "scheme", &scheme.scheme),
                words("device", "device", point.name),
                words("type", "type", type_of(point.name)),
                number("data share", "data_share", Cell::plain(fleet.weights()[device])),
                number("compute", "compute_secs", Cell::plain(fleet.compute_secs()[device])),
                number("link", "comm_secs", Cell::plain(fleet.comm_secs()[device])),
                number("planned q", "q", Cell::number(planned, |q| q.to_string())),
                number("realised", "frequency", Cell::plain(point.realised)),
                number("took part", "participations", Cell::count(point.taken)),
                number("lost", "lost", Cell::count(scheme.lost(device))),
                number("rounds", "rounds", Cell::count(scheme.rounds_of_plan())),
            ]
        }));
    }
    Some(Block::Data(Table::of(rows)?.named("participation", "Participation", "")))
}

/// A device as a point of the figure.
struct Point<'a> {
    name: &'a str,
    taken: u64,
    planned: f64,
    realised: f64,
}

/// A point for each device. Under plans before the last one q was another, so their rounds do not count.
fn realised<'a>(scheme: &'a SchemeRuns, devices: &'a Devices) -> impl Iterator<Item = Point<'a>> {
    let rounds = (scheme.rounds_of_plan() as f64).max(1.0);
    devices.q.iter().enumerate().map(move |(device, &planned)| {
        let taken = scheme.participations_of_plan(device);
        Point { name: devices.fleet.name(device), taken, planned, realised: taken as f64 / rounds }
    })
}

fn figure(scheme: &SchemeRuns, devices: &Devices) -> Figure {
    let rounds = scheme.rounds_of_plan();
    let all = devices.fleet.len();
    let points: Vec<Point<'_>> =
        realised(scheme, devices).step_by(all.div_ceil(DEVICES_MAX).max(1)).collect();
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
    let caption = format!(
        "One point for each device, over {} rounds of all seeds{since}. Devices on the dashed line took part as often as planned{in_cycles}; chance alone keeps 95 % of them within the grey area.{some}",
        count(rounds as usize)
    );
    let name = format!("participation-{}", scheme.scheme);
    let (canvas, size) = draw(&name, &points, rounds);
    Figure::new(&name, &format!("Participation under {}", scheme.scheme), &caption, size, canvas)
}

/// The drawing and its size. How far chance alone goes follows from the number of coins that each device flipped.
fn draw(name: &str, points: &[Point<'_>], flips: u64) -> (Canvas, (f64, f64)) {
    let most = points.iter().map(|point| point.planned.max(point.realised)).fold(0.0, f64::max);
    let most = if most > 0.0 { (1.06 * most).min(1.02) } else { 1.0 };
    let kinds = kinds(points);
    let sign = |kind: usize| Sign::Mark(class(kind), Shape::number(kind));
    let entries: Vec<Entry> = (0..).zip(&kinds).map(|(kind, text)| Entry::new(text, sign(kind))).collect();
    let size = with_legend(SIZE, &entries);
    let mut canvas = Canvas::default();
    let x = Axis::new("planned q (share of rounds)", (0.0, most));
    let y = Axis::new("realised (share of rounds)", (0.0, most));
    let area = PlotArea::draw(&mut canvas, size, &entries, x, &y);
    area.inside(&mut canvas, name, |canvas| {
        let edge = |sign: f64| {
            (0..=EDGE_POINTS).map(move |step| {
                let q = (most * f64::from(step) / f64::from(EDGE_POINTS)).min(1.0);
                let error = (q * (1.0 - q) / (flips as f64).max(1.0)).sqrt();
                area.at(q, (q + sign * 1.96 * error).clamp(0.0, 1.0))
            })
        };
        canvas.area("chance", edge(1.0).chain(edge(-1.0).rev()));
        canvas.line("rule", area.at(0.0, 0.0), area.at(most, most));
        for point in points {
            let kind = kinds.iter().position(|kind| *kind == type_of(point.name)).unwrap_or(KINDS_MAX - 1);
            let hover = format!(
                "{}: planned {}, took part in {} of {} rounds ({})",
                point.name,
                percent(point.planned),
                count(point.taken as usize),
                count(flips as usize),
                percent(point.realised)
            );
            let at = area.at(point.planned, point.realised);
            canvas.mark(&class(kind), Shape::number(kind), at, 3.4, &hover);
        }
    });
    (canvas, size)
}

/// The types of devices; where there are too many, the last kind is all others.
fn kinds<'a>(points: &[Point<'a>]) -> Vec<&'a str> {
    let mut kinds: Vec<&str> = Vec::new();
    for kind in points.iter().map(|point| type_of(point.name)) {
        if kinds.len() < KINDS_MAX && !kinds.contains(&kind) {
            kinds.push(if kinds.len() + 1 < KINDS_MAX { kind } else { "others" });
        }
    }
    kinds
}

fn class(kind: usize) -> String {
    format!("dot f{}", kind % COLOURS)
}
