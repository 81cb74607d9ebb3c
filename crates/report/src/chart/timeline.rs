//! One round: who computes, who uploads, and that all finish together.

use super::canvas::{Anchor, Canvas};
use super::figure::Figure;
use super::legend::{self, Entry, Sign};
use super::scale::{Scale, tick_label, time_unit};
use crate::numbers::{duration, significant};

/// A device in the round.
pub(crate) struct Row {
    pub device: String,
    pub compute_secs: f64,
    pub upload_secs: f64,
    pub mbps: f64,
    /// Why it did not report, if it did not.
    pub lost: Option<String>,
}

/// A chart of one round.
pub(crate) struct Timeline<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub caption: &'a str,
    pub round_secs: f64,
    /// Bandwidth of the whole uplink.
    pub bandwidth_mbps: f64,
    pub rows: Vec<Row>,
}

const WIDTH: f64 = 560.0;
const NAME_PX: f64 = 142.0;
const RATE_PX: f64 = 52.0;
/// Devices that fit a page; of more, the slowest are shown.
const ROWS_MAX: usize = 50;
const NAME_CHARS_MAX: usize = 22;

impl Timeline<'_> {
    pub(crate) fn draw(mut self) -> Figure {
        let all = self.rows.len();
        self.rows.sort_by(|a, b| a.compute_secs.total_cmp(&b.compute_secs));
        if all > ROWS_MAX {
            self.rows.drain(..all - ROWS_MAX);
        }
        let row_px = if self.rows.len() > 25 { 13.0 } else { 20.0 };
        let entries = [
            Entry { text: "computes".to_owned(), sign: Sign::Box("wait f0".to_owned()) },
            Entry { text: "uploads".to_owned(), sign: Sign::Box("f0".to_owned()) },
            Entry { text: "did not report".to_owned(), sign: Sign::Box("wait f1".to_owned()) },
        ];
        let shown = if self.rows.iter().any(|row| row.lost.is_some()) { &entries[..] } else { &entries[..2] };
        let top = legend::height_px(shown, WIDTH) + 12.0;
        let bottom = top + row_px * self.rows.len().max(1) as f64;
        let size = (WIDTH, bottom + 48.0);
        let (left, right) = (NAME_PX, WIDTH - RATE_PX);
        let (unit, unit_secs) = time_unit(self.round_secs);
        let x = Scale::new((0.0, self.round_secs / unit_secs), (left, right));
        let mut canvas = Canvas::default();
        legend::draw(&mut canvas, shown, (left, 2.0), right - left);
        canvas.text("small", (WIDTH - 4.0, top - 5.0), Anchor::End, "Mbit/s");
        let ticks = x.ticks(7);
        let step = if ticks.len() > 1 { ticks[1] - ticks[0] } else { 1.0 };
        for tick in ticks {
            canvas.line("grid", (x.px(tick), top), (x.px(tick), bottom));
            canvas.text("tick", (x.px(tick), bottom + 16.0), Anchor::Middle, &tick_label(tick, step));
        }
        let some = if all > ROWS_MAX { format!("; {ROWS_MAX} of {all} devices") } else { String::new() };
        let title = format!("since the round began ({unit}){some}");
        canvas.text("title", ((left + right) / 2.0, bottom + 36.0), Anchor::Middle, &title);
        for (place, row) in self.rows.iter().enumerate() {
            self.row(&mut canvas, row, (top + row_px * place as f64, row_px), |secs| x.px(secs / unit_secs));
        }
        canvas.line("rule", (right, top), (right, bottom));
        let caption = if all > ROWS_MAX {
            format!("{} Of {all} devices the {ROWS_MAX} that compute longest are shown.", self.caption)
        } else {
            self.caption.to_owned()
        };
        Figure::new(self.name, self.title, &caption, size, canvas)
    }

    fn row(&self, canvas: &mut Canvas, row: &Row, (y, height): (f64, f64), px: impl Fn(f64) -> f64) {
        let text_y = y + height / 2.0 + 4.0;
        let text = if height < 16.0 { "small" } else { "label" };
        canvas.text(text, (NAME_PX - 8.0, text_y), Anchor::End, &shortened(&row.device));
        let end = (row.compute_secs + row.upload_secs).min(self.round_secs);
        let computed = row.compute_secs.min(self.round_secs);
        let (wait, send) = if row.lost.is_some() { ("wait f1", "wait f1") } else { ("wait f0", "f0") };
        let what = row.lost.as_ref().map_or(String::new(), |reason| format!(", did not report: {reason}"));
        let bar = |from: f64, to: f64| ((px(from), y + 2.0), (px(to) - px(from), height - 4.0));
        let hover = format!("{} computes for {}{what}", row.device, duration(row.compute_secs));
        let (corner, size) = bar(0.0, computed);
        canvas.rect(wait, corner, size, &hover);
        let hover = format!(
            "{} uploads for {} at {} of {} Mbit/s{what}",
            row.device,
            duration(row.upload_secs),
            significant(row.mbps, 3),
            significant(self.bandwidth_mbps, 3)
        );
        let (corner, size) = bar(computed, end);
        canvas.rect(send, corner, size, &hover);
        canvas.text(text, (WIDTH - 4.0, text_y), Anchor::End, &format!("{:.1}", row.mbps));
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_CHARS_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_CHARS_MAX - 1).chain(['…']).collect()
}
