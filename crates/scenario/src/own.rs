//! What follows from files of the user's own: the parameters of the task, and whose samples they are.

use std::sync::Arc;

use fedflip_learn::loss::Loss;
use fedflip_learn::own::{OwnData, SYMBOLS_MAX, reads_codes, symbols_of};
use fedflip_learn::task::{ParamValue, Sharing, Sizes, Source};
use fedflip_samples::inspect::Channels;
use fedflip_samples::{CLASSES_MAX, Features, Labels, SamplesError, Table, files};

use super::error::{KeyError, Place, Refusal};
use super::keys;
use super::resolve::Keys;
use super::suggest;
use super::value::{Given, Value};
use super::{FleetSource, OwnFiles, Scenario};

/// What files say of their samples.
pub(super) struct Described {
    /// The parameters of the task.
    pub params: Vec<(&'static str, ParamValue<'static>)>,
    /// The names of features, if the files have them.
    pub columns: Vec<String>,
    /// How the samples are shared if nobody says it.
    pub sharing: Vec<(&'static str, Value)>,
}

/// What a scenario has decided about its samples, whatever the files say.
#[derive(Clone, Copy, Default)]
pub(super) struct Decided<'a> {
    pub loss: Option<&'a str>,
    /// Whether the network reads codes of symbols.
    pub reads_codes: bool,
    pub alphabet: &'a str,
}

impl Scenario {
    /// The files and the numbers that normalise them, for a learner.
    pub(crate) fn own_data(&self) -> OwnData {
        let own = &self.data.own;
        let as_f32 = |numbers: &[f64]| numbers.iter().map(|number| *number as f32).collect();
        // The learner finds out which files patterns stand for.
        let paths = |names: &[String]| names.iter().map(|name| own.folder.join(name)).collect();
        OwnData {
            train: paths(&own.train),
            test: paths(&own.test),
            mean: as_f32(&own.mean),
            std: as_f32(&own.std),
            columns: own.columns.clone(),
            alphabet: own.alphabet.clone(),
            fleet: match &self.fleet {
                FleetSource::File { fleet, .. } if matches!(self.data.sharing, Sharing::ByDevice) => {
                    (0..fleet.len()).map(|position| fleet.name(position).to_owned()).collect()
                }
                _ => Vec::new(),
            },
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
    let model = scenario.task.params().get("model").map(|_| scenario.task.params().choice("model"));
    let Some(model) = model.filter(|_| matches!(scenario.task.source(), Source::Own)) else { return Ok(()) };
    let reads_codes = reads_codes(model);
    // Channels are guessed from the shape, and symbols are those of a network that reads codes.
    let counts = |name: &str| match name {
        "channels" => !given.has("task", "shape"),
        "symbols" => reads_codes,
        _ => true,
    };
    let missing: Vec<&str> =
        DECLARED.into_iter().filter(|name| !given.has("task", name) && counts(name)).collect();
    // A scenario that has a key of one way of sharing has chosen it.
    let is_shared = ["sharing", "concentration", "min_samples"].iter().any(|name| given.has("data", name));
    let has_fleet = given.has("fleet", "devices") || given.has("fleet", "file");
    let is_whole = missing.is_empty() && is_shared && has_fleet;
    let Some(entry) = given.entry("data", "train").filter(|_| !is_whole) else { return Ok(()) };
    let own = &scenario.data.own;
    let refuse =
        |problem: String, hint: String| Refusal { problem, hint }.at(entry.place.clone(), "data.train");
    let unusable = |error: SamplesError| refuse(error.to_string(), error.hint());
    // Whatever does not fit in the end is refused when a learner checks all samples.
    let loss = given.has("task", "loss").then(|| scenario.task.params().choice("loss"));
    let decided = Decided { loss, reads_codes, alphabet: &own.alphabet };
    let Described { params, columns, sharing } = match read(own, decided) {
        Ok(described) => described,
        // Samples that are declared may be elsewhere, and a server that leaves them to devices shares nothing.
        Err(_) if missing.is_empty() => return Ok(()),
        Err(error) => return Err(unusable(error)),
    };
    if !given.has("task", "columns") {
        scenario.data.own.columns = columns;
    }
    for (name, value) in params.into_iter().filter(|(name, _)| missing.contains(name)) {
        scenario.task.set(name, value).map_err(|error| refuse(error.to_string(), error.hint()))?;
    }
    for (path, value) in sharing.into_iter().filter(|(path, _)| !(is_shared && path.starts_with("data."))) {
        let Some(key) = keys::all().find(|key| key.path() == path) else { continue };
        let value = Given::plain(&value);
        key.set(scenario, &value).map_err(|refusal| refusal.at(entry.place.clone(), path))?;
    }
    Ok(())
}

/// What the training files say.
fn read(own: &OwnFiles, decided: Decided<'_>) -> Result<Described, SamplesError> {
    let paths = files::found(&own.folder, &own.train)?;
    Ok(match files::are_texts(&paths) {
        true => described_text(decided.alphabet, &files::read_texts(&paths)?),
        false => described(&files::read(&paths)?, decided),
    })
}

/// The parameters that describe samples; those that a scenario leaves out are taken from its files.
const DECLARED: [&str; 6] = ["shape", "channels", "values", "loss", "classes", "symbols"];

/// What a table says of its samples.
pub(super) fn described(table: &Table, decided: Decided<'_>) -> Described {
    // Readers refuse samples with more dimensions.
    let shape = Sizes::new(&table.sample_shape()).unwrap_or(Sizes::one(1));
    let channels = match Channels::guess(&table.shape) {
        Some(Channels::First) => "first",
        Some(Channels::Last) | None => "last",
    };
    let values = match table.features {
        Features::Bytes(_) => "bytes",
        Features::Floats(_) => "floats",
    };
    let most = match &table.labels {
        Labels::Classes(classes) => classes.iter().max().copied(),
        Labels::Numbers(numbers) => {
            let most = numbers.iter().copied().fold(0.0, f32::max);
            decided.loss.map(|_| most as u32)
        }
    };
    let loss = match (decided.loss.and_then(Loss::by_name), most) {
        (Some(loss), _) => loss,
        (None, Some(_)) => Loss::CrossEntropy,
        (None, None) => Loss::SquaredError,
    };
    let classes = match loss.row().classifies {
        true => (most.unwrap_or(1) as usize + 1).clamp(2, CLASSES_MAX),
        false => 1,
    };
    let mut params = vec![
        ("shape", ParamValue::Sizes(shape)),
        ("channels", ParamValue::Choice(channels)),
        ("values", ParamValue::Choice(values)),
        ("loss", ParamValue::Choice(loss.row().name)),
        ("classes", ParamValue::Count(classes)),
    ];
    if decided.reads_codes {
        params.push(("symbols", ParamValue::Count(symbols(&table.features))));
    }
    let holders = table.devices.as_ref().map(|devices| devices.names.len());
    let sharing = suggest::sharing(table.len(), holders, loss.row().classifies);
    Described { params, columns: table.columns.clone(), sharing }
}

/// One more than the largest code.
fn symbols(features: &Features) -> usize {
    let most = match features {
        Features::Bytes(codes) => codes.iter().copied().max().map_or(1, usize::from),
        Features::Floats(codes) => codes.iter().copied().fold(1.0, f32::max) as usize,
    };
    (most + 1).clamp(2, SYMBOLS_MAX)
}

/// What is said of a text, whose windows are as long as those of Shakespeare.
pub(super) fn described_text(alphabet: &str, texts: &[String]) -> Described {
    let symbols = symbols_of(alphabet);
    let characters = texts.iter().map(|text| text.chars().count()).sum();
    let sharing = suggest::sharing(characters, (texts.len() > 1).then_some(texts.len()), true);
    let params = vec![
        ("shape", ParamValue::Sizes(Sizes::one(fedflip_learn::models::lstm::STEPS))),
        ("channels", ParamValue::Choice("last")),
        ("values", ParamValue::Choice("bytes")),
        ("loss", ParamValue::Choice(Loss::CrossEntropy.row().name)),
        ("classes", ParamValue::Count(symbols)),
        ("symbols", ParamValue::Count(symbols)),
    ];
    Described { params, columns: Vec::new(), sharing }
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
    let (Some(name), FleetSource::File { fleet, .. }) = (scenario.fleet.given_name(), &scenario.fleet) else {
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
