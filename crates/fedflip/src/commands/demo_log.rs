//! The lines of a server's log that `fedflip demo` shows.

use serde_json::Value;

use crate::dashboard;
use crate::render::{display_of, duration, metric_value};

/// A line of the server's log, as somebody who watches the demo needs it.
pub(super) enum LogLine {
    Listening(String),
    /// A line for people to read.
    Shown(String),
    Nothing,
}

impl LogLine {
    pub(super) fn of(line: &str) -> Self {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            // Why it cannot continue is for people.
            return Self::Shown(line.to_owned());
        };
        let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
        let number = |key: &str| event[key].as_f64().unwrap_or_default();
        match event["message"].as_str() {
            Some("listening") => Self::Listening(text("address")),
            Some("a device enrols") => Self::Shown(format!(
                "{} enrols: {} samples, {} a round to compute",
                text("device"),
                event["samples"],
                duration(number("compute_secs"))
            )),
            Some(dashboard::SERVED) => Self::Shown(format!("dashboard: {}", text("url"))),
            Some(dashboard::STAYS) => Self::Shown(dashboard::STAYS.to_owned()),
            Some("a new plan") => Self::Shown(format!("a new plan: {}", text("reason"))),
            Some("a round is committed") => Self::Shown(format!(
                "round {}: {} took part, {}{}",
                event["round"],
                event["cohort"],
                duration(number("secs")),
                headline(&event)
            )),
            _ => Self::Nothing,
        }
    }
}

/// The first metric, if the round was evaluated.
fn headline(event: &Value) -> String {
    let Some((name, value)) = event["metric"].as_str().zip(event["value"].as_f64()) else {
        return String::new();
    };
    format!(", {name} {}", metric_value(display_of(name), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        match LogLine::of(line) {
            LogLine::Shown(text) => text,
            _ => String::new(),
        }
    }

    #[test]
    fn a_round_is_shown_with_the_headline_of_its_task() {
        let round = r#"{"message":"a round is committed","round":3,"cohort":2,"secs":0.5"#;
        assert_eq!(shown(&format!("{round}}}")), "round 3: 2 took part, 500 ms");
        assert_eq!(
            shown(&format!(r#"{round},"metric":"accuracy","value":0.5}}"#)),
            "round 3: 2 took part, 500 ms, accuracy 50 %"
        );
        assert_eq!(
            shown(&format!(r#"{round},"metric":"rmse","value":0.75}}"#)),
            "round 3: 2 took part, 500 ms, rmse 0.750"
        );
    }
}
