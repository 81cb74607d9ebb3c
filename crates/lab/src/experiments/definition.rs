//! `experiments/NAME/experiment.toml`: what an experiment shows, its commands, and what must hold.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::LabError;
use crate::files;

const FILE: &str = "experiment.toml";
/// Stands for the scenario's path in a command.
const SCENARIO: &str = "SCENARIO";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Experiment {
    /// The name of its folder.
    #[serde(skip)]
    pub(super) name: String,
    pub(super) shows: String,
    #[serde(rename = "part")]
    pub(super) parts: Vec<Part>,
    #[serde(rename = "claim")]
    pub(super) claims: Vec<Claim>,
}

/// One command of an experiment, with a folder of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Below the experiment's folder; empty where there is only one part.
    #[serde(default)]
    pub(super) folder: String,
    /// A file beside `experiment.toml`.
    #[serde(default = "usual_scenario")]
    pub(super) scenario: String,
    /// The words behind `fedflip`, with SCENARIO for the file.
    pub(super) full: String,
    /// The same on `experiments/quick.toml`, in seconds.
    pub(super) quick: String,
}

fn usual_scenario() -> String {
    "scenario.toml".to_owned()
}

/// A claim: one scheme takes at least a given multiple of another's hours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub(super) slower: Place,
    pub(super) faster: Place,
    #[serde(default)]
    pub(super) counted: Counted,
    pub(super) at_least: f64,
    pub(super) at_least_quick: f64,
}

/// Which hours a claim is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Counted {
    #[default]
    Training,
    WithPilots,
}

/// A scheme of a comparison: `SCHEME`, or `FOLDER/SCHEME` with the comparison's folder below the experiment's runs.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(super) struct Place {
    pub(super) folder: String,
    pub(super) scheme: String,
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        let (folder, scheme) = text.rsplit_once('/').unwrap_or(("", &text));
        Self { folder: folder.to_owned(), scheme: scheme.to_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        if self.folder.is_empty() { Ok(()) } else { write!(f, " ({})", self.folder) }
    }
}

impl Part {
    /// The words behind `fedflip`, as anybody would type them at the root of the repository.
    pub(super) fn words(&self, experiment: &str, quick: bool) -> Vec<String> {
        let (line, scenario) = match quick {
            false => (&self.full, format!("experiments/{experiment}/{}", self.scenario)),
            true => (&self.quick, "experiments/quick.toml".to_owned()),
        };
        let word = |word: &str| if word == SCENARIO { scenario.clone() } else { word.to_owned() };
        line.split_whitespace().map(word).collect()
    }
}

impl Experiment {
    fn read(folder: &Path) -> Result<Self, LabError> {
        let path = folder.join(FILE);
        let refused = |why: &str| LabError::Answer(format!("{}: {why}", path.display()));
        let mut experiment: Self =
            toml::from_str(&files::read(&path)?).map_err(|error| refused(error.to_string().trim_end()))?;
        experiment.name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        experiment.objection(folder).map_or(Ok(()), |why| Err(refused(&why)))?;
        Ok(experiment)
    }

    /// What the types allow and an experiment must not have.
    fn objection(&self, folder: &Path) -> Option<String> {
        if self.parts.is_empty() {
            return Some("part: there is none; an experiment has at least one command".to_owned());
        }
        if self.claims.is_empty() {
            return Some("claim: there is none; an experiment checks at least one".to_owned());
        }
        for (index, part) in self.parts.iter().enumerate() {
            let number = index + 1;
            for (key, line) in [("full", &part.full), ("quick", &part.quick)] {
                if !line.split_whitespace().any(|word| word == SCENARIO) {
                    return Some(format!(
                        "part {number}: {key}: has no word {SCENARIO} for the scenario's path"
                    ));
                }
            }
            if !folder.join(&part.scenario).is_file() {
                return Some(format!("part {number}: scenario: there is no file `{}`", part.scenario));
            }
            if self.parts[..index].iter().any(|other| other.folder == part.folder) {
                return Some(format!("part {number}: folder: an earlier part has `{}` too", part.folder));
            }
        }
        None
    }
}

/// All experiments below the folder, by name. A folder without `experiment.toml` is not one.
pub(super) fn read_all(experiments: &Path) -> Result<Vec<Experiment>, LabError> {
    let failed = |source| LabError::File { path: experiments.to_path_buf(), source };
    let mut folders = Vec::new();
    for entry in fs::read_dir(experiments).map_err(failed)? {
        folders.push(entry.map_err(failed)?.path());
    }
    folders.retain(|folder| folder.join(FILE).is_file());
    folders.sort();
    folders.iter().map(|folder| Experiment::read(folder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Bench;

    const GOOD: &str = "shows = \"that it works\"\n\n[[part]]\nfull = \"compare SCENARIO --seeds 3\"\n\
                        quick = \"compare SCENARIO\"\n\n[[claim]]\nslower = \"a/b=1/full\"\nfaster = \"paper\"\n\
                        at_least = 2\nat_least_quick = 1.5\n";

    fn read(text: &str) -> Result<Experiment, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        fs::write(folder.path().join("scenario.toml"), "").unwrap();
        Experiment::read(folder.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_fill_what_is_usual() {
        let experiment = read(GOOD).unwrap();
        let (part, claim) = (&experiment.parts[0], &experiment.claims[0]);
        assert_eq!((part.folder.as_str(), part.scenario.as_str()), ("", "scenario.toml"));
        assert_eq!((claim.counted, claim.at_least), (Counted::Training, 2.0));
        assert_eq!(claim.slower, Place { folder: "a/b=1".to_owned(), scheme: "full".to_owned() });
        assert_eq!(
            (claim.slower.to_string(), claim.faster.to_string()),
            ("full (a/b=1)".into(), "paper".into())
        );
        assert_eq!(part.words("x", false), ["compare", "experiments/x/scenario.toml", "--seeds", "3"]);
        assert_eq!(part.words("x", true), ["compare", "experiments/quick.toml"]);
    }

    #[test]
    fn a_refusal_names_the_file_and_the_key() {
        for (old, new, key) in [
            ("at_least = 2", "at_most = 2", "at_most"),
            ("at_least = 2", "at_least = \"two\"", "at_least"),
            ("at_least = 2\n", "", "at_least"),
            ("faster = \"paper\"", "faster = \"paper\"\ncounted = \"all\"", "all"),
            ("shows = ", "show = ", "show"),
            ("compare SCENARIO --seeds 3", "compare --seeds 3", "full"),
            ("[[part]]", "[[part]]\nscenario = \"other.toml\"", "other.toml"),
        ] {
            assert!(GOOD.contains(old), "{old}");
            let error = read(&GOOD.replacen(old, new, 1)).unwrap_err();
            assert!(error.contains("experiment.toml: ") && error.contains(key), "{error}");
        }
        let (start, _) = GOOD.split_once("[[claim]]").unwrap();
        assert!(read(start).unwrap_err().contains("claim"));
        assert!(read(&format!("{start}[[part]]{}", GOOD.split_once("[[part]]").unwrap().1)).is_err());
    }

    #[test]
    fn every_experiment_of_the_repository_can_be_read_and_has_a_page() {
        let folder = Bench::new(None).path("experiments");
        let all = read_all(&folder).unwrap();
        assert!(all.len() >= 14);
        for Experiment { name, .. } in &all {
            assert!(folder.join(name).join("README.md").is_file(), "{name}: no README");
        }
    }
}
