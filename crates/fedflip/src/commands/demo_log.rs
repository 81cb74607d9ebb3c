//! The lines of a server's log that `fedflip demo` shows.

use serde_json::Value;

use crate::dashboard;
use crate::render::{duration, percent};

/// A line of the server's log, as somebody who watches the demo needs it.
pub(super) enum LogLine {
    Listening(String),
    /// For people.
    Shown(String),
    Nothing,
}

impl LogLine {
    pub(super) fn of(line: &str) -> Self {
        let Ok(event) = serde_json::from_str::<Value>(line) else {
            // Why it cannot go on is for people.
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
                event["accuracy"]
                    .as_f64()
                    .map_or(String::new(), |accuracy| format!(", accuracy {}", percent(accuracy)))
            )),
            _ => Self::Nothing,
        }
    }
}
