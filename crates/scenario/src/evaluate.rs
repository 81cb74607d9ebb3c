//! Whether devices can evaluate models.

use super::Scenario;
use super::error::{KeyError, Place, Refusal};
use super::resolve::Keys;
use super::sections::{Evaluator, Where};

/// Only devices that keep their samples can hold some out; and a server without samples cannot make a trial update.
pub(super) fn check(scenario: &Scenario, given: &Keys<'_>, whole_file: &Place) -> Result<(), KeyError> {
    let refuse = |section: &str, name: &str, problem: &str, hint: &str| {
        let refusal = Refusal { problem: problem.to_owned(), hint: hint.to_owned() };
        Err(refusal.at(given.place(section, name, whole_file), &format!("{section}.{name}")))
    };
    if scenario.evaluate.place == Evaluator::Server {
        if scenario.data.own.place == Where::Devices && scenario.data.validation > 0.0 {
            return refuse(
                "data",
                "validation",
                "is set, but the server does not have the samples that devices hold out",
                "leave data.validation out, or set evaluate.where = \"devices\" and evaluate.holdout",
            );
        }
        return Ok(());
    }
    if scenario.data.own.place != Where::Devices {
        return refuse(
            "evaluate",
            "where",
            "\"devices\" evaluate models on their own samples, and data.where is \"here\"",
            "set data.where = \"devices\", or evaluate on the \"server\"",
        );
    }
    if scenario.data.validation > 0.0 {
        return refuse(
            "data",
            "validation",
            "is set, and devices hold samples out by evaluate.holdout already",
            "leave data.validation out",
        );
    }
    if scenario.data.own.test.is_empty() && scenario.server.update_norm_max.is_none() {
        return refuse(
            "server",
            "update_norm_max",
            "is missing, and a server without test files cannot make a trial update",
            match scenario.data.own.train.is_empty() {
                true => {
                    "to serve it, write update_norm_max = NUMBER below [server], the largest norm of an honest \
                     update; without data.train there is nothing to simulate, so run refuses it in any case"
                }
                false => {
                    "write update_norm_max = NUMBER below [server]: the largest norm of an honest update"
                }
            },
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "[task]\nname = 'own'\nshape = [4]\nvalues = 'floats'\nclasses = 3\n";

    fn read(rest: &str) -> Result<Scenario, String> {
        Scenario::from_toml(&format!("{OWN}{rest}")).map_err(|error| error.to_string())
    }

    #[test]
    fn devices_evaluate_on_what_they_hold_out() {
        let text = "[data]\nwhere = 'devices'\n[evaluate]\nwhere = 'devices'\nholdout = 0.2\nprobability = 0.25\n\
                    [server]\nupdate_norm_max = 10\n";
        let scenario = read(text).unwrap();
        assert_eq!((scenario.device_evaluation(), scenario.task_settings().validation), (Some(0.25), 0.2));
        assert_eq!(Scenario::from_toml(&scenario.to_toml()).unwrap(), scenario);
        let by_default = read("[data]\nwhere = 'devices'\n").unwrap();
        assert_eq!((by_default.device_evaluation(), by_default.task_settings().validation), (None, 0.0));
    }

    #[test]
    fn what_devices_cannot_evaluate_is_refused() {
        let on_devices = "[data]\nwhere = 'devices'\n";
        for (rest, says) in [
            ("[evaluate]\nwhere = 'devices'\n".to_owned(), "evaluate.where"),
            (format!("{on_devices}[evaluate]\nwhere = 'devices'\n"), "server.update_norm_max"),
            (format!("{on_devices}validation = 0.1\n[evaluate]\nwhere = 'devices'\n"), "data.validation"),
            (
                format!("{on_devices}validation = 0.1\n"),
                "the server does not have the samples that devices hold out",
            ),
            (format!("{on_devices}[evaluate]\nholdout = 0.6\n"), "evaluate.holdout"),
            (format!("{on_devices}[evaluate]\nprobability = 0\n"), "evaluate.probability"),
            (format!("{on_devices}[evaluate]\nwhere = 'nowhere'\n"), "evaluate.where"),
        ] {
            let refused = read(&rest).unwrap_err();
            assert!(refused.contains(says), "{refused}");
        }
        let bare = Scenario::from_toml(&format!("{OWN}{on_devices}[evaluate]\nwhere = 'devices'\n"));
        assert!(bare.unwrap_err().hint().contains("nothing to simulate"));
        let other = Scenario::from_toml("[task]\nname = 'synthetic'\n[evaluate]\nwhere = 'devices'\n");
        assert!(other.unwrap_err().to_string().contains("where"));
    }
}
