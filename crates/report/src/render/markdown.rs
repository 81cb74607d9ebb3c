//! A report as GitHub's Markdown: texts and tables, without figures.

use crate::model::{Block, Report};
use crate::table::Table;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("# {}\n\n{}\n\n", escaped(&report.title), report.overview);
    let before = |title: &str| if title.is_empty() { String::new() } else { format!("{title}: ") };
    for group in &report.groups {
        if let Some(finding) = &group.finding {
            text += &(escaped(&format!("{}{finding}", before(&group.title))) + "\n\n");
        }
    }
    for (group, section) in report.sections() {
        let of = group.map_or("", |group| &group.title);
        for block in section.blocks() {
            match block {
                Block::Text(words) => text += &(escaped(&format!("{}{words}", before(of))) + "\n\n"),
                Block::Table(table) => {
                    let of = if of.is_empty() { String::new() } else { format!(" ({of})") };
                    let title = escaped(&format!("{}{of}", table.title));
                    text += &format!("## {title}\n\n{}\n", self::table(table));
                    if !table.note.is_empty() {
                        text += &format!("{}\n\n", escaped(&table.note));
                    }
                }
                _ => {}
            }
        }
    }
    for problem in &report.problems {
        text += &format!("- Note: {}\n", escaped(problem));
    }
    text.trim_end().to_owned() + "\n"
}

fn table(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.columns.iter().map(|column| escaped(&column.title)).collect());
    let rule = |numeric: bool| if numeric { "---:" } else { "---" }.to_owned();
    text += &line(table.columns.iter().map(|column| rule(column.numeric)).collect());
    for row in &table.rows {
        text += &line(row.iter().map(|cell| escaped(&cell.shown())).collect());
    }
    text
}

/// Text that stays text: no column, tag or link begins in it.
fn escaped(text: &str) -> String {
    let on_one_line = text.replace(['\n', '\r'], " ");
    on_one_line.replace('\\', "\\\\").replace('|', "\\|").replace('<', "\\<").replace("](", "]\\(")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Cell;

    #[test]
    fn cells_stay_text() {
        let mut of = Table::new(&["scheme", "time"]);
        of.row([Cell::text("a|b,c"), Cell::hours(Some(0.5))]);
        of.row([Cell::text("none"), Cell::hours(None)]);
        assert_eq!(table(&of), "| scheme | time |\n| --- | ---: |\n| a\\|b,c | 30 min |\n| none | – |\n");
        of.row([Cell::text("=1+1\u{1b}[2J"), Cell::text("[a](b)<c>")]);
        assert!(table(&of).ends_with("| =1+1\u{fffd}[2J | [a]\\(b)\\<c> |\n"), "{}", table(&of));
    }
}
