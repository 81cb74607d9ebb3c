//! The report as one HTML file that needs nothing else.

mod group;
mod parts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::figure::{STYLE, page_colours};
use crate::collection::{Collection, Group};
use crate::figures;
use crate::numbers::{count, duration, percent, significant};
use crate::standing::best_hours;
use crate::sweep::Sweep;
use crate::tables;

const PAGE_STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
/// The page asks for nothing from anywhere, and browsers are told to hold it to that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole page. The same collection gives the same bytes.
pub fn render(collection: &Collection, title: Option<&str>) -> String {
    let title = title.map_or_else(|| title_of(collection), ToOwned::to_owned);
    let sweep = Sweep::of(collection);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "fedflip " (env!("CARGO_PKG_VERSION")) };
                title { (title) }
                style { (PreEscaped(page_colours())) (PreEscaped(STYLE)) (PreEscaped(PAGE_STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    (overview(collection))
                    (contents(collection, sweep.as_ref()))
                }
                main {
                    (problems(collection))
                    @if let Some(sweep) = &sweep { (sweep_section(sweep)) }
                    @for (number, group) in collection.groups.iter().enumerate() {
                        (group_section(group, number, collection.groups.len()))
                    }
                    section #runs {
                        h2 { "All runs" }
                        details {
                            summary { (count(run_count(collection))) " runs: folders, seeds and how they ended" }
                            (parts::table(&tables::runs_table(collection)))
                        }
                    }
                }
                footer .soft {
                    p { "Made by fedflip " (env!("CARGO_PKG_VERSION")) " from records of fedflip " (collection.versions().join(", ")) "." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn title_of(collection: &Collection) -> String {
    let mut tasks: Vec<&str> =
        collection.groups.iter().map(Group::task).filter(|task| !task.is_empty()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let target = collection.groups.first().and_then(Group::target_accuracy);
    match (tasks.as_slice(), target) {
        ([task], Some(target)) => format!("{task} to {} accuracy", percent(target)),
        ([], _) => "Pilots".to_owned(),
        (tasks, _) => tasks.join(", "),
    }
}

fn run_count(collection: &Collection) -> usize {
    collection.groups.iter().map(|group| group.runs().count() + group.pilots.len()).sum()
}

fn overview(collection: &Collection) -> Markup {
    let runs: usize = collection.groups.iter().map(|group| group.runs().count()).sum();
    let pilots: usize = collection.groups.iter().map(|group| group.pilots.len()).sum();
    let first = collection.groups.iter().flat_map(Group::runs).next();
    html! {
        p .soft {
            (count(runs)) @if runs == 1 { " run" } @else { " runs" }
            @if pilots > 0 { " and " (count(pilots)) @if pilots == 1 { " pilot" } @else { " pilots" } }
            @if let Some(run) = first {
                ", " (count(run.header.devices)) " devices, a model of " (count(run.header.parameters)) " parameters"
            }
            "."
        }
        @if let [group] = collection.groups.as_slice() { (finding(group)) }
    }
}

/// What a reader in a hurry wants to know.
fn finding(group: &Group) -> Markup {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    let hours = |name: &str| {
        let scheme = group.schemes.iter().find(|scheme| scheme.scheme == name)?;
        Some((scheme.standing.hours?.mean, scheme.standing.is_lower_bound()))
    };
    let Some((best, first)) = best.zip(group.schemes.first()) else { return html! {} };
    let others: Vec<String> = ["paper", "weighted", "uniform", "full"]
        .into_iter()
        .filter(|name| first.scheme != *name)
        .filter_map(|name| {
            let (hours, bound) = hours(name)?;
            let least = if bound { "more than " } else { "" };
            Some(format!("{name} takes {least}{} times as long", significant(hours / best, 3)))
        })
        .collect();
    html! {
        p .finding {
            b { (first.scheme) } " is fastest: " (duration(3600.0 * best)) " of virtual time"
            @if !others.is_empty() { "; " (others.join(", ")) }
            "."
        }
    }
}

fn contents(collection: &Collection, sweep: Option<&Sweep>) -> Markup {
    let links: &[(&str, &str)] = &[
        ("table", "Time to target"),
        ("curves", "Curves"),
        ("plan", "The plan"),
        ("participation", "Participation"),
        ("times", "Round times"),
        ("round", "One round"),
        ("configuration", "Configuration"),
    ];
    html! {
        nav aria-label="Contents" { ul {
            @if let Some(sweep) = sweep { li { a href="#sweep" { "Over " (sweep.key) } } }
            @if collection.groups.len() == 1 {
                @for (id, text) in links { li { a href={ "#" (id) "-0" } { (text) } } }
            } @else {
                @for (number, group) in collection.groups.iter().enumerate() {
                    li { a href={ "#group-" (number) } { (group.title()) } }
                }
            }
            li { a href="#runs" { "All runs" } }
        } }
    }
}

fn problems(collection: &Collection) -> Markup {
    html! {
        @if !collection.problems.is_empty() {
            div .problems role="note" {
                b { "Not everything could be read" }
                ul { @for problem in &collection.problems { li { (problem) } } }
            }
        }
    }
}

fn sweep_section(sweep: &Sweep) -> Markup {
    html! {
        section #sweep {
            h2 { "Over " (sweep.key) }
            div .pair {
                (parts::figure(&figures::sweep(sweep), ""))
                (parts::table(&tables::sweep_table(sweep)))
            }
        }
    }
}

fn group_section(group: &Group, number: usize, groups: usize) -> Markup {
    html! {
        @if groups == 1 {
            (group::sections(group, number))
        } @else {
            details .group id={ "group-" (number) } open[number == 0] {
                summary { (group.title()) }
                (finding(group))
                (group::sections(group, number))
            }
        }
    }
}
