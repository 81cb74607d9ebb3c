//! What programs learn from an error about a key.

use std::path::Path;

use super::parse_in;
use crate::error::ScenarioError;

/// Programs find the wrong key without reading the message.
#[test]
fn errors_have_the_path_of_the_key() {
    let text = "task.name = 'synthetic'";
    for (overrides, key) in [
        (&["seed=-1"][..], "seed"),
        (&["train.batch=0"], "train.batch"),
        (&["train.batsh=3"], "train.batsh"),
        (&["data.concentration=0.5"], "data.concentration"),
        (&["train.iterations=3", "train.epochs=2"], "train.epochs"),
        (&["trian.batch=3"], "trian.batch"),
        (&["train=3"], "train"),
        (&["no equals sign"], ""),
    ] {
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        let error = parse_in(Path::new(""), text, &overrides).unwrap_err();
        let ScenarioError::Key(error) = error else { panic!("{error:?}") };
        assert_eq!(error.key, key, "{error}");
    }
}
