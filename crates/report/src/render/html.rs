//! A report as one HTML file that needs nothing else.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::html_blocks::section;
use crate::chart::figure::{STYLE, page_colours};
use crate::model::{GroupPart, Report};

const PAGE_STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
/// The page fetches nothing, and browsers are told to enforce that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub(super) fn render(report: &Report) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="generator" content={ "fedflip " (version) };
                title { (report.title) }
                style { (PreEscaped(page_colours())) (PreEscaped(STYLE)) (PreEscaped(PAGE_STYLE)) }
            }
            body {
                header {
                    h1 { (report.title) }
                    p .soft { (report.overview) }
                    @if let [only] = report.groups.as_slice() { (finding(only)) }
                    (contents(report))
                }
                main {
                    (problems(report))
                    @for of in &report.before { (section(of, None)) }
                    @for (number, group) in report.groups.iter().enumerate() { (part(report, group, number)) }
                    @for of in &report.after { (section(of, None)) }
                }
                footer .soft {
                    p { "Made by fedflip " (version) " from records of fedflip " (report.origin) "." }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn finding(group: &GroupPart) -> Markup {
    html! { @if let Some(finding) = &group.finding { p .finding { (finding) } } }
}

fn contents(report: &Report) -> Markup {
    html! {
        nav aria-label="Contents" { ul {
            @for of in &report.before { li { a href={ "#" (of.id) } { (of.title) } } }
            @if let [only] = report.groups.as_slice() {
                @for of in &only.sections { li { a href={ "#" (of.id) "-0" } { (of.title) } } }
            } @else {
                @for (number, group) in report.groups.iter().enumerate() {
                    li { a href={ "#group-" (number) } { (group.title) } }
                }
            }
            @for of in &report.after { li { a href={ "#" (of.id) } { (of.title) } } }
        } }
    }
}

fn problems(report: &Report) -> Markup {
    html! {
        @if !report.problems.is_empty() {
            div .problems role="note" {
                b { "What to know of these runs" }
                ul { @for problem in &report.problems { li { (problem) } } }
            }
        }
    }
}

fn part(report: &Report, group: &GroupPart, number: usize) -> Markup {
    let sections = html! { @for of in &group.sections { (section(of, Some(number))) } };
    html! {
        @if report.groups.len() == 1 {
            (sections)
        } @else {
            details .group id={ "group-" (number) } open[number == 0] {
                summary { (group.title) }
                (finding(group))
                (sections)
            }
        }
    }
}
