//! All sections of one group of runs.

use maud::{Markup, html};

use super::parts;
use crate::collection::{Group, SchemeRuns};
use crate::curve::Measure;
use crate::explain::{Explained, measured};
use crate::figures;
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
            p .soft { "Seeds: " (seeds(group)) "." }
        }
    }
}

fn plan(group: &Group, explained: &[Explained], number: usize) -> Markup {
    let measured = measured(group);
    html! {
        section id={ "plan-" (number) } {
            h2 { "The plan, explained" }
            @if let Some(measured) = &measured {
                p { (tables::constants_line(measured))
                    @if measured.fit.is_none() { ", as the scenario gives them" }
                    @else { ", fitted to " (group.pilots.len()) " pilots" }
                    "." }
                @if let Some(problem) = &measured.problem { p .note { "The pilots here do not give them: " (problem) "." } }
            } @else {
                p { "α and β are not known here." }
            }
            @if !explained.is_empty() { (parts::table(&tables::plan_table(explained))) }
            @if !group.pilots.is_empty() {
                details {
                    summary { "The pilots" }
                    (parts::table(&tables::pilot_table(group)))
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

fn seeds(group: &Group) -> String {
    let mut seeds: Vec<u64> = group.runs().map(|run| run.header.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}
