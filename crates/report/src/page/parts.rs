//! Tables and figures as HTML.

use maud::{Markup, PreEscaped, html};

use crate::chart::figure::Figure;
use crate::chart::palette::Look;
use crate::table::{Cell, Column, Table};

/// A figure with its title and caption.
pub(super) fn figure(figure: &Figure, prefix: &str) -> Markup {
    html! {
        figure {
            h3 { (figure.title) }
            (PreEscaped(figure.inline(prefix)))
            figcaption { (figure.caption) }
        }
    }
}

/// A table that can be sorted, with how to read it below.
pub(super) fn table(table: &Table) -> Markup {
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
    let swatch = (column.key == "scheme").then(|| Look::of_scheme(&cell.text));
    let wraps = matches!(column.key.as_str(), "folder" | "value" | "end" | "reason") && !column.numeric;
    html! {
        td .n[column.numeric] .wrap[wraps] data-value=[&cell.value] {
            @if let Some(look) = swatch {
                svg .swatch viewBox="0 0 28 10" aria-hidden="true" { path class=(look.line_class()) d="M1 6H27" {} }
            }
            (cell.text)
        }
    }
}
