//! What follows from files of the user's own: the parameters of the task, and whose samples they are.

use std::sync::Arc;

use fedflip_learn::own::OwnData;
use fedflip_learn::task::{ParamValue, Sharing, Sizes, Source};
use fedflip_samples::files;
use fedflip_samples::{Features, Labels, Table};

use super::error::{KeyError, Place, Refusal};
use super::resolve::Keys;
use super::{FleetSource, Scenario};

/// The parameters that describe samples; those that a scenario leaves out are taken from its files.
const DECLARED: [&str; 4] = ["shape", "values", "loss", "classes"];

impl Scenario {
    /// The files and the numbers that normalise them, for a learner.
    pub(crate) fn own_data(&self) -> OwnData {
        let own = &self.data.own;
        let found = |names: &[String]| files::found(&own.folder, names);
        let as_f32 = |numbers: &[f64]| numbers.iter().map(|number| *number as f32).collect();
        // A name without a file is refused when the file is read.
        let paths = |names: &[String]| {
            found(names).unwrap_or_else(|_| names.iter().map(|name| own.folder.join(name)).collect())
        };
        OwnData {
            train: paths(&own.train),
            test: paths(&own.test),
            mean: as_f32(&own.mean),
            std: as_f32(&own.std),
        }
    }

    /// How samples are shared, with the counts of the fleet file where they decide.
    pub(crate) fn sharing(&self) -> Sharing {
        match (&self.data.sharing, &self.fleet) {
            (Sharing::Fleet(_), FleetSource::File { fleet, .. }) => {
                let counts: Vec<u64> = fleet.samples().iter().map(|samples| *samples as u64).collect();
                Sharing::Fleet(Arc::from(counts))
            }
            (sharing, _) => sharing.clone(),
        }
    }
}

/// Sets the parameters that describe samples and are not given, from the training files.
pub(super) fn declare(scenario: &mut Scenario, given: &Keys<'_>) -> Result<(), KeyError> {
    let missing: Vec<&str> = DECLARED.into_iter().filter(|name| !given.has("task", name)).collect();
    let is_own = matches!(scenario.task.source(), Source::Own);
    let Some(entry) = given.entry("data", "train").filter(|_| is_own && !missing.is_empty()) else {
        return Ok(());
    };
    let own = &scenario.data.own;
    let refuse = |error: fedflip_samples::SamplesError| {
        Refusal { problem: error.to_string(), hint: error.hint() }.at(entry.place.clone(), "data.train")
    };
    let paths = files::found(&own.folder, &own.train).map_err(refuse)?;
    // Whatever does not fit in the end is refused when a learner checks all samples.
    let described = match files::are_texts(&paths) {
        true => described_text(),
        false => described(&files::read(&paths).map_err(refuse)?),
    };
    for (name, value) in described.into_iter().filter(|(name, _)| missing.contains(name)) {
        scenario.task.set(name, value).map_err(|error| {
            Refusal { problem: error.to_string(), hint: error.hint() }.at(entry.place.clone(), "data.train")
        })?;
    }
    Ok(())
}

/// The parameters that a table of samples has.
pub(super) fn described(table: &Table) -> Vec<(&'static str, ParamValue<'static>)> {
    let shape = Sizes::new(&table.sample_shape()).unwrap_or(Sizes::one(1));
    let values = match table.features {
        Features::Bytes(_) => "bytes",
        Features::Floats(_) => "floats",
    };
    let (loss, classes) = match &table.labels {
        Labels::Classes(classes) => {
            ("cross-entropy", classes.iter().max().map_or(2, |most| (*most as usize + 1).max(2)))
        }
        Labels::Numbers(_) => ("squared-error", 1),
    };
    vec![
        ("shape", ParamValue::Sizes(shape)),
        ("values", ParamValue::Choice(values)),
        ("loss", ParamValue::Choice(loss)),
        ("classes", ParamValue::Count(classes)),
    ]
}

/// The parameters of a text, whose windows are as long as those of Shakespeare.
pub(super) fn described_text() -> Vec<(&'static str, ParamValue<'static>)> {
    let symbols = fedflip_learn::models::lstm::SYMBOLS;
    vec![
        ("shape", ParamValue::Sizes(Sizes::one(fedflip_learn::models::lstm::STEPS))),
        ("values", ParamValue::Choice("bytes")),
        ("loss", ParamValue::Choice("cross-entropy")),
        ("classes", ParamValue::Count(symbols)),
    ]
}

/// Counts can only follow a fleet file, and only whole ones.
pub(super) fn check_sharing(
    scenario: &Scenario,
    given: &Keys<'_>,
    whole_file: &Place,
) -> Result<(), KeyError> {
    if !matches!(scenario.data.sharing, Sharing::Fleet(_)) {
        return Ok(());
    }
    let refuse = |problem: String, hint: &str| {
        let place = given.place("data", "sharing", whole_file);
        Err(Refusal { problem, hint: hint.to_owned() }.at(place, "data.sharing"))
    };
    let FleetSource::File { name, fleet } = &scenario.fleet else {
        return refuse(
            "\"fleet\" takes the sample counts of a fleet file, and there is none".to_owned(),
            "set fleet.file, or share by \"dirichlet\" or \"iid\"",
        );
    };
    let wrong = fleet.samples().iter().position(|samples| samples.fract() != 0.0);
    match wrong {
        Some(device) => refuse(
            format!("{name}: device {} holds {} samples", fleet.name(device), fleet.samples()[device]),
            "give every device a whole number of samples",
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(files: &[(&str, &str)], keys: &str) -> Result<Scenario, String> {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).unwrap());
        let path = folder.path().join("s.toml");
        std::fs::write(&path, format!("task.name = \"own\"\n{keys}")).unwrap();
        Scenario::read(&path, &[]).map_err(|error| error.to_string())
    }

    fn declared(scenario: &Scenario) -> (Vec<usize>, &'static str, &'static str, usize) {
        let params = scenario.task.params();
        let shape = params.sizes("shape").as_slice().to_vec();
        (shape, params.choice("values"), params.choice("loss"), params.count("classes"))
    }

    const TRAIN: &str = "[data]\ntrain = \"train.csv\"\n";

    #[test]
    fn what_samples_are_follows_from_the_files() {
        let classes = [("train.csv", "a,b,c,label\n1,2,3,0\n4,5,6,4\n")];
        let found = resolved(&classes, TRAIN).unwrap();
        assert_eq!(declared(&found), (vec![3], "floats", "cross-entropy", 5));
        let numbers = [("train.csv", "a,label\n1,0.5\n2,1.5\n")];
        assert_eq!(
            declared(
                &resolved(
                    &numbers,
                    &format!("task.model = \"mlp\"\nstop.metric = \"rmse\"\nstop.at = 1\n{TRAIN}")
                )
                .unwrap()
            ),
            (vec![1], "floats", "squared-error", 1)
        );
        // One class only: a classifier has two at least.
        let one = [("train.csv", "a,label\n1,0\n2,0\n")];
        assert_eq!(declared(&resolved(&one, TRAIN).unwrap()).3, 2);
    }

    #[test]
    fn what_a_scenario_declares_holds() {
        let files = [("train.csv", "a,b,label\n1,2,0\n4,5,1\n")];
        let found = resolved(&files, &format!("task.classes = 7\n{TRAIN}")).unwrap();
        assert_eq!(declared(&found), (vec![2], "floats", "cross-entropy", 7));
        // Files are not even read if nothing is left to find out.
        let all =
            "task.shape = [9]\ntask.values = \"bytes\"\ntask.loss = \"cross-entropy\"\ntask.classes = 3\n";
        let found = resolved(&[], &format!("{all}{TRAIN}")).unwrap();
        assert_eq!(declared(&found), (vec![9], "bytes", "cross-entropy", 3));
        let missing = resolved(&[], TRAIN).unwrap_err();
        assert!(missing.contains("data.train") && missing.contains("train.csv"), "{missing}");
    }
}
