//! Scenarios as TOML.

use std::sync::LazyLock;

use fedflip_scenario::{Scenario, ScenarioError};

use crate::{memory, scratch};

/// So that a scenario can name one.
static FLEET: LazyLock<()> = LazyLock::new(|| {
    scratch::file("fleet.csv", b"device,compute_secs,comm_secs,samples\na,1,2,3\n");
});

/// A scenario that reads back the same to the byte, or a refusal that names a line of the file.
pub fn check(bytes: &[u8]) {
    // Not for the fuzzer to read: a device may have no end.
    if bytes.windows(4).any(|four| four == b"/dev" || four == b"/pro" || four == b"/sys") {
        return;
    }
    LazyLock::force(&FLEET);
    let path = scratch::file("fuzz.toml", bytes);
    // TOML's parser keeps places of everything.
    match memory::within((1 << 20) + 512 * bytes.len(), || Scenario::read(&path, &[])) {
        Ok(scenario) => {
            let text = scenario.to_toml();
            let path = scratch::file("again.toml", text.as_bytes());
            let again = Scenario::read(&path, &[]).expect("what is printed reads back");
            assert_eq!(again, scenario);
            assert_eq!(again.to_toml(), text);
            serde_json::to_string(&scenario).expect("every scenario is JSON too");
        }
        Err(ScenarioError::Key(error)) => {
            assert!(!error.hint.is_empty());
            let text = error.to_string();
            let line = text.strip_prefix(&format!("{}, line ", path.display()));
            let line = line.and_then(|rest| rest.split(':').next()).and_then(|line| line.parse::<u64>().ok());
            assert!(line.is_none_or(|line| (1..=scratch::lines(bytes)).contains(&line)), "{text}");
        }
        Err(_) => {}
    }
}
