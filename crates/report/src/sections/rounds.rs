//! Single rounds: who computes, who uploads and when, and that all finish together.

use fedflip_record::Round;

use super::Material;
use crate::chart::canvas::{Anchor, Canvas};
use crate::chart::figure::Figure;
use crate::chart::legend::{self, Entry, Sign};
use crate::chart::scale::{Scale, time_unit};
use crate::collection::SchemeRuns;
use crate::model::{Block, Choice};
use crate::numbers::{devices, duration, significant};
use crate::run_view::RunView;

const WIDTH: f64 = 560.0;
const NAME_PX: f64 = 142.0;
const RATE_PX: f64 = 52.0;
/// Devices that fit a page; of more, the slowest are shown.
const ROWS_MAX: usize = 50;
const NAME_CHARS_MAX: usize = 22;

pub(super) fn block(Material { group, .. }: &Material<'_>) -> Option<Block> {
    // Devices that work without rounds begin before the step that takes their update.
    let schemes = group.schemes.iter().filter(|scheme| scheme.has_rounds());
    let choices: Vec<Choice> = schemes.flat_map(choices).collect();
    (!choices.is_empty()).then_some(Block::Choice(choices))
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
        figure: figure(scheme, run, round),
        is_main: has_main && place == 0,
    };
    run.kept.all().into_iter().enumerate().map(choice).collect()
}

fn figure(scheme: &SchemeRuns, run: &RunView, round: &Round) -> Figure {
    let (all, number) = (round.cohort.len(), round.round);
    let mut rows = rows(scheme, round);
    rows.sort_by(|a, b| a.compute_secs.total_cmp(&b.compute_secs));
    rows.drain(..all.saturating_sub(ROWS_MAX));
    let bandwidth = significant(run.header.bandwidth_mbps, 3);
    let mut caption = format!(
        "{} took part; the round took {}, with {bandwidth} Mbit/s shared by all.",
        devices(all),
        duration(round.round_secs),
    );
    let mut some = String::new();
    if all > ROWS_MAX {
        caption += &format!(" Of {all} devices the {ROWS_MAX} that compute longest are shown.");
        some = format!("; {ROWS_MAX} of {all} devices");
    }
    let title = format!("Round {number} under {}, seed {}", scheme.scheme, run.header.seed);
    let (canvas, size) = draw(round.round_secs, &rows, &bandwidth, &some);
    Figure::new(&format!("timeline-{}-round-{number}", scheme.scheme), &title, &caption, size, canvas)
}

/// A device in the round.
struct Row<'a> {
    device: String,
    compute_secs: f64,
    upload_secs: f64,
    mbps: f64,
    /// Why it did not report, if it did not.
    lost: Option<&'a str>,
}

fn rows<'a>(scheme: &SchemeRuns, round: &'a Round) -> Vec<Row<'a>> {
    let fleet = scheme.devices.as_ref().map(|devices| &devices.fleet).filter(|fleet| {
        // Records may name devices that the fleet beside them does not have.
        round.cohort.iter().all(|&device| device < fleet.len())
    });
    let row = |(place, &device): (usize, &usize)| {
        let mbps = round.mbps.get(place).copied().map_or(0.0, f64::from);
        let recorded = |secs: &[f32]| secs.get(place).copied().map(f64::from);
        // Recorded times count from the start of the round.
        let lead_secs = round.download_secs + round.asked_secs;
        let nominal_secs = fleet.map(|fleet| lead_secs + fleet.compute_secs()[device]);
        let compute_secs = recorded(&round.compute_secs).or(nominal_secs);
        let upload_secs =
            recorded(&round.upload_secs).or(fleet.map(|fleet| fleet.comm_secs()[device] / mbps));
        Row {
            device: fleet.map_or_else(|| format!("device {device}"), |fleet| fleet.name(device).to_owned()),
            compute_secs: compute_secs.unwrap_or(0.0),
            upload_secs: upload_secs.filter(|secs| secs.is_finite()).unwrap_or(0.0),
            mbps,
            lost: round.lost.iter().find(|lost| lost.device == device).map(|lost| lost.reason.as_str()),
        }
    };
    round.cohort.iter().enumerate().map(row).collect()
}

/// The drawing and its size.
fn draw(round_secs: f64, rows: &[Row<'_>], bandwidth: &str, some: &str) -> (Canvas, (f64, f64)) {
    let row_px = if rows.len() > 25 { 13.0 } else { 20.0 };
    let entries = [("computes", "wait f0"), ("uploads", "f0"), ("did not report", "wait f1")];
    let entries = entries.map(|(text, class)| Entry::new(text, Sign::Box(class)));
    let shown = if rows.iter().any(|row| row.lost.is_some()) { &entries[..] } else { &entries[..2] };
    let top = legend::height_px(shown, WIDTH) + 12.0;
    let bottom = top + row_px * rows.len().max(1) as f64;
    let (left, right) = (NAME_PX, WIDTH - RATE_PX);
    let (unit, unit_secs) = time_unit(round_secs);
    let x = Scale::new((0.0, round_secs / unit_secs), (left, right));
    let mut canvas = Canvas::default();
    legend::draw(&mut canvas, shown, (left, 2.0), right - left);
    canvas.text("small", (WIDTH - 4.0, top - 5.0), Anchor::End, "Mbit/s");
    for (tick, label) in x.labelled_ticks(7) {
        canvas.line("grid", (x.px(tick), top), (x.px(tick), bottom));
        canvas.text("tick", (x.px(tick), bottom + 16.0), Anchor::Middle, &label);
    }
    let title = format!("since the round began ({unit}){some}");
    canvas.text("title", ((left + right) / 2.0, bottom + 36.0), Anchor::Middle, &title);
    for (place, row) in rows.iter().enumerate() {
        let at = |secs: f64| x.px(secs.min(round_secs) / unit_secs);
        draw_row(&mut canvas, row, (top + row_px * place as f64, row_px), bandwidth, at);
    }
    canvas.line("rule", (right, top), (right, bottom));
    (canvas, (WIDTH, bottom + 48.0))
}

fn draw_row(
    canvas: &mut Canvas,
    row: &Row<'_>,
    (y, height): (f64, f64),
    bandwidth: &str,
    px: impl Fn(f64) -> f64,
) {
    let text_y = y + height / 2.0 + 4.0;
    let text = if height < 16.0 { "small" } else { "label" };
    canvas.text(text, (NAME_PX - 8.0, text_y), Anchor::End, &shortened(&row.device));
    let (wait, send) = if row.lost.is_some() { ("wait f1", "wait f1") } else { ("wait f0", "f0") };
    let lost = row.lost.map_or(String::new(), |reason| format!(", did not report: {reason}"));
    let mut bar = |class: &str, from: f64, to: f64, what: String| {
        let hover = format!("{} {what}{lost}", row.device);
        canvas.rect(class, (px(from), y + 2.0), (px(to) - px(from), height - 4.0), &hover);
    };
    let computes = format!("computes for {}", duration(row.compute_secs));
    bar(wait, 0.0, row.compute_secs, computes);
    let (mbps, secs) = (significant(row.mbps, 3), duration(row.upload_secs));
    let uploads = format!("uploads for {secs} at {mbps} of {bandwidth} Mbit/s");
    bar(send, row.compute_secs, row.compute_secs + row.upload_secs, uploads);
    canvas.text(text, (WIDTH - 4.0, text_y), Anchor::End, &format!("{:.1}", row.mbps));
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS_MAX - 1).chain(['…']).collect()
}
