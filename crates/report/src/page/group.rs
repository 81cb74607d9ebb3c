//! All sections of one group of runs.

use maud::{Markup, html};

use super::parts;
use crate::collection::{Group, SchemeRuns};
use crate::curve::Measure;
use crate::deployed;
use crate::explain::Explained;
use crate::figures;
use crate::fits::fits_table;
use crate::milestones::milestones_tables;
use crate::pilots::Measured;
use crate::tables;

pub(super) fn sections(group: &Group, number: usize) -> Markup {
    let prefix = format!("g{number}-");
    let explained: Vec<Explained> = group.schemes.iter().filter_map(Explained::of).collect();
    html! {
        @if !group.schemes.is_empty() {
            section id={ "table-" (number) } {
                h2 { "Time to target" }
                (parts::table(&tables::table_one(group)))
            }
            section id={ "curves-" (number) } {
                h2 { "Accuracy and loss" }
                div .pair {
                    (parts::figure(&figures::curves(group, Measure::Accuracy), &prefix))
                    (parts::figure(&figures::curves(group, Measure::Loss), &prefix))
                }
                @for table in milestones_tables(group).iter().flatten() { (parts::table(table)) }
            }
        }
        (plan(group, &explained, number))
        (participation(group, &prefix, number))
        @if !explained.is_empty() {
            section id={ "times-" (number) } {
                h2 { "Round times" }
                div .tiles {
                    @for (scheme, explained) in group.schemes.iter().zip(&explained) {
                        (parts::figure(&figures::round_times(scheme, explained), &prefix))
                    }
                }
            }
        }
        (timelines(group, &prefix, number))
        section id={ "configuration-" (number) } {
            h2 { "Configuration" }
            (parts::table(&tables::config_table(group)))
        }
    }
}

fn plan(group: &Group, explained: &[Explained], number: usize) -> Markup {
    html! {
        section id={ "plan-" (number) } {
            h2 { "The plan, explained" }
            p { (Measured::of(group).sentences()) }
            @if !explained.is_empty() { (parts::table(&tables::plan_table(explained))) }
            @if let Some(plans) = deployed::plans_table(group) { (parts::table(&plans)) }
            @if !group.pilots.is_empty() {
                details open[group.schemes.is_empty()] {
                    summary { "The pilots" }
                    (parts::table(&tables::pilot_table(group)))
                    @if let Some(fits) = fits_table(group) { (parts::table(&fits)) }
                }
            }
        }
    }
}

fn participation(group: &Group, prefix: &str, number: usize) -> Markup {
    let drawn: Vec<_> = group.schemes.iter().filter_map(figures::participation).collect();
    html! {
        @if !drawn.is_empty() {
            section id={ "participation-" (number) } {
                h2 { "Participation" }
                div .tiles { @for figure in &drawn { (parts::figure(figure, prefix)) } }
                @if let Some(devices) = deployed::devices_table(group) { (parts::table(&devices)) }
            }
        }
    }
}

fn timelines(group: &Group, prefix: &str, number: usize) -> Markup {
    let by_scheme: Vec<(&SchemeRuns, Vec<_>)> =
        group.schemes.iter().map(|scheme| (scheme, figures::timelines(scheme))).collect();
    if by_scheme.iter().all(|(_, rounds)| rounds.is_empty()) {
        return html! {};
    }
    let shown = format!("rounds-{number}");
    let select = format!("round-select-{number}");
    html! {
        section id={ "round-" (number) } {
            h2 { "One round" }
            label for=(select) { "Round: "
                select id=(select) data-shows=(shown) autocomplete="off" {
                    @for (scheme, rounds) in &by_scheme {
                        optgroup label=(scheme.scheme) {
                            @for (text, _) in rounds { option { (scheme.scheme) ", " (text) } }
                        }
                    }
                }
            }
            div .wide id=(shown) {
                @for (place, (_, figure)) in by_scheme.iter().flat_map(|(_, rounds)| rounds).enumerate() {
                    div hidden[place > 0] { (parts::figure(figure, prefix)) }
                }
            }
        }
    }
}
