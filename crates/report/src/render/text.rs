//! Tables for a terminal.

use crate::model::{Block, Report};
use crate::table::{Cell, Table};

/// A table that would be wider has the titles of its columns over several lines.
const WIDTH_MAX: usize = 120;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("{}\n{}\n", report.title, report.overview);
    for (group, section) in report.sections() {
        let of = group.filter(|group| !group.title.is_empty());
        let of = of.map_or(String::new(), |group| format!(" ({})", group.title));
        for block in section.blocks() {
            match block {
                Block::Text(words) => text += &format!("\n{words}\n"),
                Block::Table(table) => {
                    text += &format!("\n{}{of}\n\n{}", table.title, lines(table));
                    if !table.note.is_empty() {
                        text += &format!("\n  {}\n", table.note);
                    }
                }
                _ => {}
            }
        }
    }
    for problem in &report.problems {
        text += &format!("\nnote: {problem}");
    }
    text.trim_end().to_owned() + "\n"
}

/// A table's titles and rows.
pub(crate) fn lines(table: &Table) -> String {
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(Cell::shown).collect()).collect();
    let cell_widths: Vec<usize> = (0..table.columns.len())
        .map(|place| rows.iter().filter_map(|row| row.get(place)).map(|cell| width(cell)).max().unwrap_or(0))
        .collect();
    let whole: Vec<Vec<String>> = table.columns.iter().map(|column| vec![column.title.to_string()]).collect();
    let titles = if total(&widths(&whole, &cell_widths)) <= WIDTH_MAX {
        whole
    } else {
        table.columns.iter().zip(&cell_widths).map(|(column, &room)| wrapped(&column.title, room)).collect()
    };
    let widths = widths(&titles, &cell_widths);
    let height = titles.iter().map(Vec::len).max().unwrap_or(0);
    // Titles stand right above their column, however many lines others have.
    let title_line = |line: usize| -> Vec<String> {
        let part = |title: &Vec<String>| {
            (line + title.len())
                .checked_sub(height)
                .and_then(|place| title.get(place))
                .cloned()
                .unwrap_or_default()
        };
        titles.iter().map(part).collect()
    };
    let all = (0..height).map(title_line).chain(rows);
    all.map(|cells| aligned(table, &cells, &widths) + "\n").collect()
}

fn aligned(table: &Table, cells: &[String], widths: &[usize]) -> String {
    let mut line = String::from(" ");
    for (place, ((cell, &width), column)) in cells.iter().zip(widths).zip(&table.columns).enumerate() {
        line += if place == 0 { " " } else { "  " };
        // By hand: `format!` panics at a width of 65,536, and cells may come from the records of others.
        let space = " ".repeat(width.saturating_sub(self::width(cell)));
        line += &if column.numeric { space + cell } else { cell.clone() + &space };
    }
    line.trim_end().to_owned()
}

fn widths(titles: &[Vec<String>], cells: &[usize]) -> Vec<usize> {
    let title = |lines: &Vec<String>| lines.iter().map(|line| width(line)).max().unwrap_or(0);
    titles.iter().zip(cells).map(|(lines, &cells)| title(lines).max(cells)).collect()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().map(|width| width + 2).sum()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A title in lines no wider than `room`, as far as its words allow: keys such as `fleet.bandwidth_mbps` break after
/// dots and underscores.
fn wrapped(title: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_inclusive([' ', '.', '_']) {
        match lines.last_mut() {
            Some(line) if width(line.trim_end()) + width(word.trim_end()) < room => *line += word,
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_stand_above_their_column_and_apart_from_each_other() {
        let titles =
            ["fleet.bandwidth_mbps", "train.learning_rate", "data.concentration", "scheme", "time to target"];
        for more in [0, 3] {
            let long: Vec<String> = titles
                .iter()
                .map(ToString::to_string)
                .chain((0..more).map(|n| format!("server.second_moment_{n}")))
                .collect();
            let mut table = Table::new(&long).with_words(4);
            table.row((0..long.len()).map(|n| format!("{n}")));
            let text = lines(&table);
            let rows: Vec<&str> = text.lines().collect();
            assert!(more == 0 || rows.len() > 2, "{text}");
            assert!(rows.iter().all(|row| row.chars().count() <= WIDTH_MAX), "{text}");
            // Columns are the same width in every line, with two spaces between any two titles.
            let mut start = 2;
            let widths: Vec<usize> = long
                .iter()
                .enumerate()
                .map(|(place, title)| {
                    let part = if more == 0 { vec![title.clone()] } else { wrapped(title, 1) };
                    assert!(part.iter().all(|part| text.contains(part.as_str())), "{part:?}\n{text}");
                    let width = part.iter().map(|part| width(part)).max().unwrap();
                    let gap_free =
                        rows.iter().all(|row| row.chars().skip(start + width).take(2).all(|c| c == ' '));
                    assert!(gap_free, "column {place}\n{text}");
                    start += width + 2;
                    width
                })
                .collect();
            assert_eq!(widths.len(), long.len());
        }
    }

    #[test]
    fn words_are_left_and_numbers_right() {
        let mut table = Table::new(&["scheme", "time", "rounds"]);
        table.row(["exact", "1 s", "10"].map(str::to_owned));
        table.row(["paper-linesearch", "failed"].map(str::to_owned));
        assert_eq!(
            lines(&table),
            "  scheme              time  rounds\n  exact                1 s      10\n  paper-linesearch  failed\n"
        );
    }
}
