//! What a reader in a hurry wants to know, in sentences that the table below bears out.

use maud::{Markup, html};

use crate::collection::{Group, SchemeRuns};
use crate::numbers::{duration, significant};
use crate::pilots::hours_before;
use crate::standing::{Spread, best_hours};

/// Nothing if there is nothing to compare, or nobody got there.
pub(super) fn finding(group: &Group) -> Markup {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    // The best stands first.
    let (Some(_), [first, others @ ..]) = (best, group.schemes.as_slice()) else { return html! {} };
    let Some(best) = first.standing.hours.filter(|_| !others.is_empty()) else { return html! {} };
    let hours = |scheme: &SchemeRuns| scheme.standing.hours;
    let is_near = |scheme: &&SchemeRuns| {
        scheme.standing.is_whole() && hours(scheme).is_some_and(|hours| within_noise(best, hours))
    };
    let near: Vec<&str> = others.iter().filter(is_near).map(|scheme| scheme.scheme.as_str()).collect();
    // A lower bound below the best says nothing.
    let says = |scheme: &&SchemeRuns| {
        !scheme.standing.is_lower_bound() || hours(scheme).is_some_and(|hours| hours.mean > best.mean)
    };
    let slower = others.iter().filter(|scheme| !is_near(scheme)).filter(says).filter_map(|scheme| {
        let least = if scheme.standing.is_lower_bound() { "more than " } else { "" };
        let ratio = significant(hours(scheme)?.mean / best.mean, 3);
        Some(format!("{} takes {least}{ratio} times as long", scheme.scheme))
    });
    let slower: Vec<String> = slower.collect();
    let silent = others.iter().filter(|scheme| !is_near(scheme) && !says(scheme));
    let silent: Vec<&str> = silent.map(|scheme| scheme.scheme.as_str()).collect();
    let spread = best.std.map_or(String::new(), |std| format!(" ± {}", duration(3600.0 * std)));
    html! {
        p .finding {
            b { (first.scheme) } " took the least " (group.time()) ": " (duration(3600.0 * best.mean)) (spread) "."
            @if !near.is_empty() {
                " " (near.join(", ")) @if near.len() == 1 { " is" } @else { " are" }
                " no more than one standard deviation away."
            }
            @if !slower.is_empty() { " " (sentence(&slower.join(", "))) "." }
            @if !silent.is_empty() { " " (sentence(&silent.join(", "))) " did not run for as long." }
            (with_pilots(group, first))
        }
    }
}

/// Who is first when the pilots are counted, if that is another one.
fn with_pilots(group: &Group, first: &SchemeRuns) -> Markup {
    let whole = group.schemes.iter().filter(|scheme| scheme.standing.is_whole());
    let counted = whole.filter_map(|scheme| {
        Some((scheme, scheme.standing.hours?.mean + hours_before(group, &scheme.scheme)))
    });
    let best = counted.min_by(|a, b| a.1.total_cmp(&b.1));
    html! {
        @if let Some((scheme, hours)) = best.filter(|(scheme, _)| scheme.scheme != first.scheme) {
            " With a pair of pilots counted, " (scheme.scheme) " did: " (duration(3600.0 * hours)) "."
        }
    }
}

/// Whether two means lie within one standard deviation of their difference.
fn within_noise(a: Spread, b: Spread) -> bool {
    let std = a.std.zip(b.std).map_or(0.0, |(a, b)| a.hypot(b));
    (a.mean - b.mean).abs() <= std
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}
