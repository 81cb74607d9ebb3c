//! The blocks of a report as HTML.

use maud::{Markup, PreEscaped, html};

use crate::chart::figure::Figure;
use crate::chart::palette::SchemeStyle;
use crate::model::{Block, Choice, Layout, Section};
use crate::table::{Cell, Column, Table};

/// A section; `number` keeps apart what has the same name in other groups.
pub(super) fn section(section: &Section, number: Option<usize>) -> Markup {
    let suffix = number.map_or(String::new(), |number| format!("-{number}"));
    html! {
        section id={ (section.id) (suffix) } {
            h2 { (section.title) }
            @for block in &section.blocks { (self::block(block, number)) }
        }
    }
}

fn block(block: &Block, number: Option<usize>) -> Markup {
    match block {
        Block::Text(text) => html! { p { (text) } },
        Block::Figure(of) => figure(of, number),
        Block::Table(of) => table(of),
        Block::Data(_) => html! {},
        Block::Choice(choices) => choice(choices, number),
        Block::Together(layout, blocks) => {
            let within = html! { @for of in blocks { (self::block(of, number)) } };
            match layout {
                Layout::Beside => html! { div .pair { (within) } },
                Layout::Tiles => html! { div .tiles { (within) } },
                Layout::Details { summary, open } => {
                    html! { details open[*open] { summary { (summary) } (within) } }
                }
            }
        }
    }
}

fn choice(choices: &[Choice], number: Option<usize>) -> Markup {
    let number_text = number.unwrap_or_default();
    let (shown, select) = (format!("rounds-{number_text}"), format!("round-select-{number_text}"));
    html! {
        label for=(select) { "Round: "
            select id=(select) data-shows=(shown) autocomplete="off" {
                @for of_heading in choices.chunk_by(|a, b| a.heading == b.heading) {
                    optgroup label=(of_heading[0].heading) {
                        @for choice in of_heading { option { (choice.text) } }
                    }
                }
            }
        }
        div .wide id=(shown) {
            @for (place, choice) in choices.iter().enumerate() {
                div hidden[place > 0] { (figure(&choice.figure, number)) }
            }
        }
    }
}

/// A figure with its title and caption.
fn figure(figure: &Figure, number: Option<usize>) -> Markup {
    let prefix = number.map_or(String::new(), |number| format!("g{number}-"));
    html! {
        figure {
            h3 { (figure.title) }
            (PreEscaped(figure.inline(&prefix)))
            figcaption { (figure.caption) }
        }
    }
}

/// A table that can be sorted, with how to read it below.
fn table(table: &Table) -> Markup {
    html! {
        div {
            div .scroll tabindex="0" role="region" aria-label=(table.title) {
                table .sortable {
                    caption { (table.title) }
                    thead { tr {
                        @for column in &table.columns {
                            th scope="col" .n[column.numeric] { button type="button" { (column.title) } }
                        }
                    } }
                    tbody {
                        @for row in &table.rows {
                            tr { @for (cell, column) in row.iter().zip(&table.columns) { (cell_of(cell, column)) } }
                        }
                    }
                }
            }
            @if !table.note.is_empty() { p .note { (table.note) } }
        }
    }
}

fn cell_of(cell: &Cell, column: &Column) -> Markup {
    let swatch = (column.key == "scheme").then(|| SchemeStyle::of(&cell.text));
    let wraps = matches!(column.key.as_ref(), "folder" | "value" | "end" | "reason") && !column.numeric;
    html! {
        td .n[column.numeric] .wrap[wraps] data-value=[&cell.value] {
            @if let Some(style) = swatch {
                svg .swatch viewBox="0 0 28 10" aria-hidden="true" { path class=(style.line_class()) d="M1 6H27" {} }
            }
            (cell.shown())
        }
    }
}
