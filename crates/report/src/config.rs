//! A run's scenario as a list of keys and values, and which of them make two runs comparable.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use fedflip_fleet::printable;
use fedflip_record::UsedConstants;

use crate::problem::Problem;

/// Keys by section, such as `fleet.devices`, with their values as TOML.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Config {
    keys: BTreeMap<String, String>,
    /// Whether it was run on real devices: such a run has no equal among simulated ones, whatever its keys.
    on_devices: bool,
}

/// In what runs of one comparison may differ: seed, scheme, and where they stop or save.
const FREE: &[&str] =
    &["seed", "plan.scheme", "stop.rounds_max", "stop.virtual_hours_max", "record.checkpoint_secs"];

/// What planned schemes are planned with, and baselines are not.
const CONSTANTS: &[&str] = &["plan.alpha", "plan.beta"];

/// In what a pilot differs from the run that it is for, beyond [`FREE`].
const FREE_FOR_PILOTS: &[&str] =
    &["stop.target_loss", "record.evaluate_every", "pilot.keep", "plan.quiet_every", "plan.quiet_noise"];

/// What concerns the scheme that has it, and nobody else; quiet rounds where they are what it brings.
pub(crate) const NOISES: &[&str] = &["plan.noise", "plan.quiet_every", "plan.quiet_noise"];

/// What a scheme may bring besides its q: who is compared with it may differ in that.
pub const BROUGHT: &[&str] = &[
    "fleet.payload_mbit",
    "plan.noise",
    "plan.quiet_every",
    "plan.quiet_noise",
    "server.averaging",
    "server.epsilon",
    "server.momentum",
    "server.optimiser",
    "server.second_moment",
    "server.step",
    "update.encoding",
];

/// Without it there are no quiet rounds to count.
const QUIET_NOISE: &str = "plan.quiet_noise";
/// Which these are.
const QUIET_EVERY: &str = "plan.quiet_every";

/// The scheme that does.
pub(crate) const BRINGS: &str = "auto";

/// How much a payload may differ from another in what it takes for a bit: encodings have scales to send too.
const FOLLOWS_WITHIN: f64 = 0.1;

/// Keys that are left out of a scenario at these values: it was written so before there were the keys.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("pilot.keep", "false"),
    ("plan.quiet_noise", "none"),
    ("round.aggregation", "unbiased"),
    ("round.deadline_margin", "0.1"),
    ("server.averaging", "0"),
    ("server.optimiser", "none"),
    ("update.encoding", "f32"),
];

impl Config {
    pub(crate) fn read(path: &Path) -> Result<Self, Problem> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Problem::new(path, &format!("the scenario cannot be read: {error}")))?;
        Self::parse(&text).map_err(|error| Problem::new(path, &format!("is no scenario: {error}")))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
        let mut keys = BTreeMap::new();
        for (section, value) in table {
            match value {
                toml::Value::Table(table) => {
                    keys.extend(table.into_iter().map(|(key, value)| {
                        (printable(&format!("{section}.{key}")).into_owned(), show(&value))
                    }));
                }
                value => {
                    keys.insert(printable(&section).into_owned(), show(&value));
                }
            }
        }
        // How long a machine had time for a run is no property of it, though folders of before have it.
        keys.remove("stop.real_hours_max");
        // What was taken back is as it was before there was anything to take back.
        if keys.get(QUIET_NOISE).is_some_and(|noise| noise == "none") {
            keys.remove(QUIET_NOISE);
        }
        Ok(Self { keys, on_devices: false })
    }

    /// All keys with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.keys.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// Whether there is no scenario.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        let left_out = || LEFT_OUT.iter().find(|(known, _)| *known == key).map(|(_, value)| *value);
        self.keys.get(key).map(String::as_str).or_else(left_out)
    }

    /// Whether planned schemes went on from their pilots, and have that time on their clocks.
    pub(crate) fn keeps_pilots(&self) -> bool {
        self.get("pilot.keep") == Some("true")
    }

    /// Whether its scheme brings more than its q.
    pub(crate) fn brings_its_own(&self) -> bool {
        self.get("plan.scheme") == Some(BRINGS)
    }

    /// Whether some rounds have a noise of their own.
    pub(crate) fn has_quiet_rounds(&self) -> bool {
        self.keys.contains_key(QUIET_NOISE)
    }

    /// Whether they are the same in another one.
    pub(crate) fn has_quiet_rounds_of(&self, other: &Self) -> bool {
        [QUIET_NOISE, QUIET_EVERY].iter().all(|key| self.keys.get(*key) == other.keys.get(*key))
    }

    /// The same, run on real devices or in a simulation.
    pub(crate) fn run_on(self, on_devices: bool) -> Self {
        Self { on_devices, ..self }
    }

    /// Whether it was run on real devices.
    pub fn on_devices(&self) -> bool {
        self.on_devices
    }

    /// A key's value as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }

    /// What runs have to share to be compared.
    pub(crate) fn setting(&self) -> Self {
        self.without(FREE).without(CONSTANTS)
    }

    /// The same, for runs whose plans differ by their constants: those that were used.
    pub(crate) fn setting_with_constants(&self, used: Option<UsedConstants>) -> Self {
        let mut config = self.without(FREE);
        if let Some(used) = used {
            let values = CONSTANTS.iter().zip([used.alpha, used.beta]);
            config.keys.extend(values.map(|(key, value)| ((*key).to_owned(), value.to_string())));
        }
        config
    }

    /// The keys of these.
    pub(crate) fn constants() -> BTreeSet<String> {
        CONSTANTS.iter().map(|key| (*key).to_owned()).collect()
    }

    /// Whether a key says where a run stops.
    pub(crate) fn is_cap(key: &str) -> bool {
        key.starts_with("stop.") && FREE.contains(&key)
    }

    /// With some keys as they are in another one: what is not there is here no longer.
    pub(crate) fn with(&self, other: &Self, keys: &BTreeSet<String>) -> Self {
        let mut config = self.clone();
        config.keys.retain(|key, _| !keys.contains(key));
        let more = other.keys.iter().filter(|(key, _)| keys.contains(*key));
        config.keys.extend(more.map(|(key, value)| (key.clone(), value.clone())));
        config
    }

    /// What a pilot shares with its runs.
    pub(crate) fn pilot_setting(&self) -> Self {
        self.setting().without(FREE_FOR_PILOTS)
    }

    /// Without some keys.
    pub(crate) fn without(&self, free: &[&str]) -> Self {
        let keys = self.keys.iter().filter(|(key, _)| !free.contains(&key.as_str()));
        let keys = keys.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { keys, ..*self }
    }

    /// The keys in which any two differ, in order.
    pub(crate) fn differences(configs: &[&Self]) -> Vec<String> {
        let mut names: Vec<&String> = configs.iter().flat_map(|config| config.keys.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let differs = |name: &&String| {
            let mut values = configs.iter().map(|config| config.get(name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        names.into_iter().filter(differs).cloned().collect()
    }

    /// The same without those that follow from others: where encodings differ so do payloads, and that says nothing
    /// more.
    pub(crate) fn deciding_differences(configs: &[&Self]) -> Vec<String> {
        let follows = |key: &String| {
            let mut by_scale: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
            for config in configs {
                let (Some(value), Some(scale)) = (config.number(key), config.default_scale(key)) else {
                    return false;
                };
                // Where it is all that sets two apart it does not follow.
                if by_scale.insert(scale.to_bits(), (value, scale)).is_some_and(|(other, _)| other != value) {
                    return false;
                }
            }
            let per_scale = || by_scale.values().map(|(value, scale)| value / scale);
            let (least, most) = (per_scale().fold(f64::INFINITY, f64::min), per_scale().fold(0.0, f64::max));
            by_scale.len() > 1 && most / least < 1.0 + FOLLOWS_WITHIN
        };
        let mut keys = Self::differences(configs);
        let has_noises = keys.iter().any(|key| key == QUIET_NOISE);
        // Where some have quiet rounds and others have none, only the former count them.
        let counts = |key: &str| {
            let mut values: Vec<&str> = configs.iter().filter_map(|config| config.get(key)).collect();
            values.dedup();
            key == QUIET_EVERY && has_noises && values.len() < 2
        };
        keys.retain(|key| !follows(key) && !counts(key));
        keys
    }

    /// What the default of a key is proportional to: an update's to its bits, a round's work to its samples.
    fn default_scale(&self, key: &str) -> Option<f64> {
        match key {
            "fleet.payload_mbit" => {
                self.get("update.encoding")?.trim_start_matches(char::is_alphabetic).parse().ok()
            }
            "fleet.work_gflop" => Some(self.number("train.batch")? * self.number("train.iterations")?),
            _ => None,
        }
    }
}

/// As TOML has it, but for text, which stands alone.
fn show(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => printable(text).into_owned(),
        toml::Value::Array(values) => values.iter().map(show).collect::<Vec<_>>().join(", "),
        toml::Value::Float(number) => number.to_string(),
        toml::Value::Integer(number) => number.to_string(),
        toml::Value::Boolean(yes) => yes.to_string(),
        // A scenario has neither dates nor tables within sections.
        toml::Value::Datetime(_) | toml::Value::Table(_) => "…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(text).unwrap()
    }

    #[test]
    fn settings_leave_out_what_may_differ() {
        let one = config(
            "seed = 1\n[plan]\nscheme = \"exact\"\n[fleet]\nbandwidth_mbps = 100\ntypes = [\"a\", \"b\"]",
        );
        let other = config(
            "seed = 2\n[plan]\nscheme = \"full\"\n[fleet]\nbandwidth_mbps = 200.5\ntypes = [\"a\", \"b\"]",
        );
        assert_eq!(one.get("fleet.types"), Some("a, b"));
        assert_eq!(other.number("fleet.bandwidth_mbps"), Some(200.5));
        let settings = [one.setting(), other.setting()];
        assert_eq!(Config::differences(&settings.each_ref()), ["fleet.bandwidth_mbps"]);
        let pilot = config("[stop]\ntarget_loss = 0.6\n[record]\nevaluate_every = 1");
        assert_eq!(pilot.pilot_setting(), config("").pilot_setting());
        assert_ne!(pilot.setting(), config("").setting());
    }

    #[test]
    fn what_is_left_out_has_its_value() {
        let before = config("[plan]\nscheme = \"exact\"");
        let after = config("[plan]\nscheme = \"exact\"\n[update]\nencoding = \"int8\"");
        assert_eq!(
            (before.get("update.encoding"), after.get("update.encoding")),
            (Some("f32"), Some("int8"))
        );
        assert_eq!(Config::differences(&[&before, &after]), ["update.encoding"]);
        assert_eq!(before.without(BROUGHT), after.without(BROUGHT));
        assert!(!before.brings_its_own() && config("[plan]\nscheme = \"auto\"").brings_its_own());
    }

    #[test]
    fn what_follows_from_others_is_no_difference_of_its_own() {
        let sent = |encoding: &str, payload: f64, mbps: u32| {
            config(&format!(
                "[update]\nencoding = \"{encoding}\"\n[fleet]\npayload_mbit = {payload}\nbandwidth_mbps = {mbps}"
            ))
        };
        let [f16, int8, wide] = [sent("f16", 2.0, 100), sent("int8", 1.02, 100), sent("int8", 1.02, 200)];
        assert_eq!(Config::deciding_differences(&[&f16, &int8]), ["update.encoding"]);
        let both = ["fleet.bandwidth_mbps", "update.encoding"];
        assert_eq!(Config::deciding_differences(&[&f16, &int8, &wide]), both);
        // Given by hand it does not follow, whether the encoding is another or the same.
        let own = sent("int8", 50.0, 100);
        let both = ["fleet.payload_mbit", "update.encoding"];
        assert_eq!(Config::deciding_differences(&[&f16, &own]), both);
        assert_eq!(Config::deciding_differences(&[&int8, &own]), ["fleet.payload_mbit"]);
        // Nor by a little, which would leave two groups with one name.
        assert_eq!(Config::deciding_differences(&[&f16, &int8, &sent("int8", 1.03, 100)]), both);

        let work = |batch: u32, rate: f64, work: f64| {
            config(&format!(
                "[train]\nbatch = {batch}\niterations = 10\nlearning_rate = {rate}\n[fleet]\nwork_gflop = {work}"
            ))
        };
        let quiet = |text: &str| config(&format!("[plan]\nscheme = \"auto\"\n{text}"));
        let none = quiet("quiet_noise = \"none\"");
        assert_eq!(none, quiet(""), "as it was written before there were any");
        let [some, less] = ["0.3", "0.1"].map(|n| quiet(&format!("quiet_noise = {n}\nquiet_every = 20")));
        assert_eq!(Config::deciding_differences(&[&none, &some, &less]), ["plan.quiet_noise"]);
        let often = quiet("quiet_noise = 0.3\nquiet_every = 5");
        assert_eq!(Config::deciding_differences(&[&some, &often]), ["plan.quiet_every"]);
        let both = ["plan.quiet_every", "plan.quiet_noise"];
        assert_eq!(Config::deciding_differences(&[&none, &some, &often]), both);

        let short = work(8, 0.1, 1.5);
        assert_eq!(Config::deciding_differences(&[&short, &work(16, 0.1, 3.0)]), ["train.batch"]);
        let both = ["fleet.work_gflop", "train.learning_rate"];
        assert_eq!(Config::deciding_differences(&[&short, &work(8, 0.2, 3.0)]), both);
    }

    #[test]
    fn what_is_no_scenario_is_refused() {
        assert!(Config::parse("seed = ").is_err());
    }
}
