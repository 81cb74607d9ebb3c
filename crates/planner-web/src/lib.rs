//! The planner in a web page: one question in JSON gets one answer in JSON.
//!
//! The page `docs/planner.md` of the documentation embeds this crate as WebAssembly, and `cargo xtask planner` builds
//! the file. The crate has no planner of its own: it reads the fleet, plans and evaluates with the same code as
//! `fedflip plan`, so both give the same numbers. The browser test `tests/browser/planner-parity.test.mjs` compares them.
//!
//! ```
//! let question = r#"{
//!     "ask": "plan",
//!     "fleet": "device,compute_secs,comm_secs,samples\nphone,2,7,300\nlaptop,0.4,7,100\n",
//!     "bandwidth_mbps": 100,
//!     "scheme": "auto",
//!     "with_devices": true
//! }"#;
//! let answer: serde_json::Value = serde_json::from_str(&fedflip_planner_web::answer(question))?;
//! assert_eq!(answer["planned"]["names"][0], "phone");
//! # Ok::<(), serde_json::Error>(())
//! ```
//!
//! # Layout
//!
//! - `question`: what a page can ask; `refusal`: an error, with its place on the page.
//! - `planned`: a plan and its predicted outcome; `catalogue`: schemes, profiles and limits for the controls;
//!   `made_fleet`: fleets of device types, as CSV.
//! - `memory`: how a page hands over the question and gets the answer; only in WebAssembly.

#![warn(missing_docs)]

mod catalogue;
mod made_fleet;
#[cfg(target_family = "wasm")]
mod memory;
mod planned;
mod question;
mod refusal;

use serde::Serialize;

use catalogue::Catalogue;
use made_fleet::MadeFleet;
use planned::Planned;
use question::Question;
use refusal::Refusal;

/// An answer. A page looks for the one key that the object has.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    Catalogue(Catalogue),
    MadeFleet(MadeFleet),
    Planned(Box<Planned>),
    Refused(Refusal),
}

/// Answers a question. A question that cannot be answered gets an object with the key `refused`.
pub fn answer(question: &str) -> String {
    let answer = serde_json::from_str(question)
        .map_err(|error| Refusal::of_question(&error))
        .and_then(answer_to)
        .unwrap_or_else(Answer::Refused);
    // Text keys and finite trees always serialise.
    serde_json::to_string(&answer).unwrap_or_default()
}

fn answer_to(question: Question) -> Result<Answer, Refusal> {
    match question {
        Question::Catalogue => Ok(Answer::Catalogue(Catalogue::new())),
        Question::Fleet(question) => MadeFleet::new(&question).map(Answer::MadeFleet),
        Question::Plan(question) => Planned::new(&question).map(Box::new).map(Answer::Planned),
    }
}

#[cfg(test)]
mod tests;
