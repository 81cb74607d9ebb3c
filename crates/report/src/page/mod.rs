//! The report as one HTML file that needs nothing else.

mod finding;
mod group;
mod parts;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::chart::figure::{STYLE, page_colours};
use crate::collection::{Collection, Group};
use crate::figures;
use crate::numbers::count;
use crate::run_view::RunView;
use crate::sweep::Sweep;
use crate::tables;

const PAGE_STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
/// The page asks for nothing from anywhere, and browsers are told to hold it to that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// The whole page. The same collection gives the same bytes.
pub fn render(collection: &Collection, title: Option<&str>) -> String {
    let title = title_of(collection, title);
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
                            summary { (count(run_count(collection))) @if run_count(collection) == 1 { " run" } @else { " runs" } ": folders, seeds and how they ended" }
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

/// The title that somebody gave, or tasks and targets.
pub(crate) fn title_of(collection: &Collection, given: Option<&str>) -> String {
    if let Some(given) = given.filter(|given| !given.is_empty()) {
        return given.to_owned();
    }
    let mut titles: Vec<String> = collection
        .groups
        .iter()
        .filter(|group| !group.schemes.is_empty())
        .map(|group| format!("{} to {}", group.task(), group.target()))
        .collect();
    titles.sort_unstable();
    titles.dedup();
    if titles.is_empty() { "Pilots".to_owned() } else { titles.join(", ") }
}

fn run_count(collection: &Collection) -> usize {
    collection.groups.iter().map(|group| group.runs().count() + group.pilots.len()).sum()
}

fn overview(collection: &Collection) -> Markup {
    let runs: usize = collection.groups.iter().map(|group| group.runs().count()).sum();
    let pilots: usize = collection.groups.iter().map(|group| group.pilots.len()).sum();
    let runs_of = || collection.groups.iter().flat_map(|group| group.runs().chain(&group.pilots));
    // A number that all share, or nothing.
    let shared = |number: fn(&RunView) -> usize| {
        let first = runs_of().next().map(number)?;
        runs_of().all(|run| number(run) == first).then_some(first)
    };
    html! {
        p .soft {
            (count(runs)) @if runs == 1 { " run" } @else { " runs" }
            @if pilots > 0 { " and " (count(pilots)) @if pilots == 1 { " pilot" } @else { " pilots" } }
            @if let Some(devices) = shared(|run| run.header.devices) { ", " (count(devices)) " devices" }
            @if let Some(parameters) = shared(|run| run.header.parameters) {
                ", a model of " (count(parameters)) " parameters"
            }
            "."
        }
        @if let [group] = collection.groups.as_slice() { (finding::finding(group)) }
    }
}

fn contents(collection: &Collection, sweep: Option<&Sweep>) -> Markup {
    let has_runs = collection.groups.first().is_some_and(|group| !group.schemes.is_empty());
    let has_devices =
        collection.groups.iter().flat_map(|group| &group.schemes).any(|scheme| scheme.devices.is_some());
    let links: Vec<(&str, &str)> = [
        (has_runs, "table", "Time to target"),
        (has_runs, "curves", "Curves"),
        (true, "plan", "The plan"),
        (has_devices, "participation", "Participation"),
        (has_runs, "times", "Round times"),
        (has_runs, "round", "One round"),
        (true, "configuration", "Configuration"),
    ]
    .into_iter()
    .filter_map(|(there, id, text)| there.then_some((id, text)))
    .collect();
    html! {
        nav aria-label="Contents" { ul {
            @if let Some(sweep) = sweep { li { a href="#sweep" { "Over " (sweep.title()) } } }
            @if collection.groups.len() == 1 {
                @for (id, text) in &links { li { a href={ "#" (id) "-0" } { (text) } } }
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
            h2 { "Over " (sweep.title()) }
            div .pair {
                @if let Some(figure) = figures::sweep(sweep) { (parts::figure(&figure, "")) }
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
                (finding::finding(group))
                (group::sections(group, number))
            }
        }
    }
}
