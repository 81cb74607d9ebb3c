//! A report as GitHub's Markdown: texts and tables, without figures.

use crate::model::{Block, Report};
use crate::table::Table;

pub(super) fn render(report: &Report) -> String {
    let mut text = format!("# {}\n\n", escaped(&report.title));
    text += &format!("{}\n\n", report.overview);
    for group in &report.groups {
        let of = if group.title.is_empty() { String::new() } else { format!("{}: ", group.title) };
        text += &group
            .finding
            .as_ref()
            .map_or(String::new(), |finding| escaped(&format!("{of}{finding}")) + "\n\n");
    }
    for (group, section) in report.sections() {
        let of = group.filter(|group| !group.title.is_empty());
        let title = of.map_or(String::new(), |group| escaped(&group.title));
        section.blocks.iter().for_each(|block| add(block, &title, &mut text));
    }
    for problem in &report.problems {
        text += &format!("- not read: {}\n", escaped(problem));
    }
    text.trim_end().to_owned() + "\n"
}

fn add(block: &Block, group: &str, text: &mut String) {
    match block {
        Block::Text(words) => {
            let of = if group.is_empty() { String::new() } else { format!("{group}: ") };
            *text += &format!("{of}{}\n\n", escaped(words));
        }
        Block::Table(of) => {
            let in_group = if group.is_empty() { String::new() } else { format!(" ({group})") };
            *text += &format!("## {}{in_group}\n\n{}\n", escaped(&of.title), table(of));
            if !of.note.is_empty() {
                *text += &format!("{}\n\n", escaped(&of.note));
            }
        }
        Block::Beside(within) | Block::Details { blocks: within, .. } => {
            within.iter().for_each(|block| add(block, group, text));
        }
        Block::Figure(_) | Block::Data(_) | Block::Tiles(_) | Block::Choice(_) => {}
    }
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
    use crate::table::{Cell, Column};

    #[test]
    fn cells_stay_text() {
        let columns = vec![Column::words("scheme", "scheme"), Column::number("time", "hours")];
        let mut of = Table { columns, ..Table::default() };
        of.row([Cell::text("a|b,c"), Cell::hours(Some(0.5))]);
        of.row([Cell::text("none"), Cell::hours(None)]);
        assert_eq!(table(&of), "| scheme | time |\n| --- | ---: |\n| a\\|b,c | 30 min |\n| none | – |\n");
        of.row([Cell::text("=1+1\u{1b}[2J"), Cell::text("[a](b)<c>")]);
        assert!(table(&of).ends_with("| =1+1\u{fffd}[2J | [a]\\(b)\\<c> |\n"), "{}", table(&of));
    }
}
