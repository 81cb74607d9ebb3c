//! What a run came to, as lines for people: the same lines for `run`, `serve` and `demo`.

use std::io::Write;

use fedflip_record::{Curve, Summary};

use crate::error::CliError;
use crate::render::{count, display_of, duration, metric_value, significant};
use crate::sparkline::{range_of, sparkline};

/// Writes a name and a value.
pub(super) fn line(output: &mut dyn Write, name: &str, value: &str) -> Result<(), CliError> {
    Ok(writeln!(output, "  {name:<17} {value}")?)
}

/// Writes time, rounds, participants and metrics; each metric with its way over time, where its curve is known.
pub(super) fn write(
    output: &mut dyn Write,
    clock: &str,
    summary: &Summary,
    curve: Option<&Curve>,
) -> Result<(), CliError> {
    let mut rounds = count(summary.rounds as usize);
    if summary.empty_rounds > 0 {
        rounds += &format!(", {} empty", count(summary.empty_rounds as usize));
    }
    if summary.biased_rounds > 0 {
        rounds +=
            &format!(", {} biased by devices that did not report", count(summary.biased_rounds as usize));
    }
    line(output, clock, &duration(3600.0 * summary.hours))?;
    line(output, "rounds", &rounds)?;
    line(output, "participants", &format!("{} a round", significant(summary.mean_participants, 3)))?;
    let mut when = match summary.evaluated_round {
        Some(round) if round < summary.rounds => format!(" after round {}", count(round as usize)),
        _ => String::new(),
    };
    for (name, last) in summary.metrics.iter() {
        let points = curve.map_or(Vec::new(), |curve| curve.of(name));
        let way = rise(&points, last, |value| metric_value(display_of(name), value));
        line(output, name, &(way + &sureness(summary, name) + &std::mem::take(&mut when)))?;
    }
    if !summary.test.is_empty() && !summary.metrics.is_empty() {
        line(output, "", "on validation samples; on test samples:")?;
    }
    // The others were looked at all the time; these only at the end.
    for (name, value) in summary.test.iter() {
        line(output, &format!("test {name}"), &metric_value(display_of(name), value))?;
    }
    Ok(())
}

/// How sure a metric is that devices estimated; nothing of one that was computed.
fn sureness(summary: &Summary, name: &str) -> String {
    let Some(estimated) = &summary.estimated else { return String::new() };
    let se = estimated.se.get(name).map(|se| format!(" ± {}", metric_value(display_of(name), se)));
    format!("{} (estimated from {} devices)", se.unwrap_or_default(), count(estimated.devices))
}

/// Where a value came from, its way over virtual time, and where it is: `10 % ▁▂▄▆▇▇█ 95 %`.
fn rise(points: &[(f64, f64)], last: f64, shown: impl Fn(f64) -> String) -> String {
    const CURVE_CHARS: usize = 24;
    let curve = sparkline(points, CURVE_CHARS, range_of(points.iter().map(|&(_, value)| value)));
    match points.first() {
        Some(&(_, first)) if !curve.is_empty() => format!("{} {curve} {}", shown(first), shown(last)),
        _ => shown(last),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_without_accuracy_shows_its_own_metrics() {
        let summary = r#"{"scheme":"exact","seed":1,"end":null,"rounds":3,"empty_rounds":1,"biased_rounds":0,"hours":0.5,
            "mean_participants":2,"metrics":{"rmse":0.75,"loss":0.5625},"evaluated_round":2}"#;
        let mut output = Vec::new();
        write(&mut output, "time", &serde_json::from_str(summary).unwrap(), None).unwrap();
        assert_eq!(
            String::from_utf8(output).unwrap(),
            "  time              30 min\n  rounds            3, 1 empty\n  participants      2 a round\n  \
             rmse              0.750 after round 2\n  loss              0.562\n"
        );
    }

    #[test]
    fn validation_is_told_from_test() {
        let summary = r#"{"scheme":"exact","seed":1,"end":null,"rounds":2,"empty_rounds":0,"biased_rounds":0,"hours":0.5,
            "mean_participants":2,"metrics":{"rmse":0.75},"evaluated_round":2,"test":{"rmse":0.5}}"#;
        let mut output = Vec::new();
        write(&mut output, "time", &serde_json::from_str(summary).unwrap(), None).unwrap();
        let text = String::from_utf8(output).unwrap();
        assert!(
            text.contains("on validation samples; on test samples:\n  test rmse         0.500\n"),
            "{text}"
        );
    }

    #[test]
    fn estimates_are_marked() {
        let summary = r#"{"scheme":"exact","seed":1,"end":null,"rounds":3,"empty_rounds":0,"biased_rounds":0,"hours":0.5,
            "mean_participants":2,"metrics":{"accuracy":0.75,"loss":0.5},"evaluated_round":3,
            "estimated":{"devices":12,"share":0.5,"se":{"accuracy":0.02}}}"#;
        let mut output = Vec::new();
        write(&mut output, "time", &serde_json::from_str(summary).unwrap(), None).unwrap();
        let text = String::from_utf8(output).unwrap();
        for expected in ["75 % ± 2 % (estimated from 12 devices)\n", "0.500 (estimated from 12 devices)\n"] {
            assert!(text.contains(expected), "{text}");
        }
    }
}
