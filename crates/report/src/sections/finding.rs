//! What a reader in a hurry wants to know, in sentences that the table below bears out.

use crate::collection::{Group, SchemeRuns};
use crate::numbers::{duration, significant};
use crate::pilots::hours_before;
use crate::standing::{Spread, best_hours};

/// None if there is nothing to compare, or no scheme reached the target.
pub(super) fn sentences(group: &Group) -> Option<String> {
    let best = best_hours(group.schemes.iter().map(|scheme| &scheme.standing));
    // The best stands first.
    let (Some(_), [first, others @ ..]) = (best, group.schemes.as_slice()) else { return None };
    let best = first.standing.hours.filter(|_| !others.is_empty())?;
    let hours = |scheme: &SchemeRuns| scheme.standing.hours;
    let is_near = |scheme: &&SchemeRuns| {
        scheme.standing.is_whole() && hours(scheme).is_some_and(|hours| within_spread(best, hours))
    };
    let near: Vec<&str> = others.iter().filter(is_near).map(|scheme| scheme.scheme.as_str()).collect();
    // A lower bound below the best says nothing.
    let says = |scheme: &&SchemeRuns| {
        !scheme.standing.is_lower_bound() || hours(scheme).is_some_and(|hours| hours.mean > best.mean)
    };
    let slower = others.iter().filter(|scheme| !is_near(scheme)).filter(says).filter_map(|scheme| {
        let least = if scheme.standing.is_lower_bound() { "more than " } else { "" };
        let ratio = Some(hours(scheme)?.mean / best.mean).filter(|ratio| ratio.is_finite())?;
        Some(format!("{} takes {least}{} times as long", scheme.scheme, significant(ratio, 3)))
    });
    let slower: Vec<String> = slower.collect();
    let silent = others.iter().filter(|scheme| !is_near(scheme) && !says(scheme));
    let silent: Vec<&str> = silent.map(|scheme| scheme.scheme.as_str()).collect();
    let spread = best.std.map_or(String::new(), |std| format!(" ± {}", duration(3600.0 * std)));
    let mut text = format!(
        "{} took the least {}: {}{spread}.",
        first.scheme,
        group.time(),
        duration(3600.0 * best.mean)
    );
    if !near.is_empty() {
        let verb = if near.len() == 1 { "is" } else { "are" };
        text += &format!(" {} {verb} no more than one standard deviation away.", near.join(", "));
    }
    if !slower.is_empty() {
        text += &format!(" {}.", slower.join(", "));
    }
    if !silent.is_empty() {
        text += &format!(" {} did not run for as long.", silent.join(", "));
    }
    Some(text + &with_pilots(group, first))
}

/// Which scheme is first when the pilots are counted, if that is another one.
fn with_pilots(group: &Group, first: &SchemeRuns) -> String {
    let whole = group.schemes.iter().filter(|scheme| scheme.standing.is_whole());
    let counted = whole.filter_map(|scheme| {
        Some((scheme, scheme.standing.hours?.mean + hours_before(group, &scheme.scheme)))
    });
    let best = counted.min_by(|a, b| a.1.total_cmp(&b.1));
    best.filter(|(scheme, _)| scheme.scheme != first.scheme).map_or(String::new(), |(scheme, hours)| {
        let time = duration(3600.0 * hours);
        format!(" With a pair of pilots counted, {} did: {time}.", scheme.scheme)
    })
}

/// Whether two means lie within one standard deviation of their difference.
fn within_spread(a: Spread, b: Spread) -> bool {
    let std = a.std.zip(b.std).map_or(0.0, |(a, b)| a.hypot(b));
    (a.mean - b.mean).abs() <= std
}
