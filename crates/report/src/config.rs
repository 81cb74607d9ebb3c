//! A run's scenario as a list of keys and values, and which of them make two runs comparable.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use fedflip_fleet::printable;
use fedflip_record::UsedConstants;

use crate::problem;

/// The most bytes of a scenario that are read: many times what one can need.
const SCENARIO_BYTES_MAX: u64 = 1 << 20;

/// Keys by section, such as `fleet.devices`, with their values as TOML.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Config {
    keys: BTreeMap<String, String>,
    /// Whether the run was on real devices: such a run has no equal among simulated ones, whatever its keys.
    on_devices: bool,
}

/// Keys in which runs of one comparison may differ: seed, scheme, and where they stop or save.
const FREE: &[&str] =
    &["seed", "plan.scheme", "stop.rounds_max", "stop.virtual_hours_max", "record.checkpoint_secs"];

/// The target of a run.
const TARGET: &[&str] = &["stop.metric", "stop.at", "stop.mode"];

/// Keys that name the user's own files, and the keys of their digests.
const FILES: &[(&str, &str)] = &[("data.train", "data.train_digest"), ("data.test", "data.test_digest")];

/// Keys that planned schemes are planned with; baselines do not use them.
const CONSTANTS: &[&str] = &["plan.alpha", "plan.beta"];

/// Keys in which a pilot differs from the run that it is for, beyond [`FREE`] and where it stops.
const FREE_FOR_PILOTS: &[&str] =
    &["record.evaluate_every", "pilot.keep", "plan.quiet_every", "plan.quiet_variance"];

/// Keys whose defaults are computed from other keys. Where those differ, these say nothing more.
const COMPUTED: &[(&str, &[&str])] = &[
    ("fleet.payload_mbit", &["update.encoding"]),
    ("downlink.bandwidth_mbps", &["fleet.bandwidth_mbps"]),
    ("downlink.payload_mbit", &["downlink.encoding"]),
    ("fleet.work_gflop", &["train.batch", "train.iterations", "train.epochs"]),
    ("fleet.sample_work_gflop", &["train.batch", "train.iterations", "train.epochs"]),
];

impl Config {
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let mut text = String::new();
        let read = std::fs::File::open(path)
            .and_then(|file| file.take(SCENARIO_BYTES_MAX).read_to_string(&mut text));
        read.map_err(|error| problem::about(path, &format!("the scenario cannot be read: {error}")))?;
        Self::parse(&text).map_err(|error| problem::about(path, &format!("is not a scenario: {error}")))
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
        self.keys.get(key).map(String::as_str)
    }

    /// A key's value as a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        self.get(key)?.parse().ok()
    }

    /// Whether planned schemes continue the runs of their pilots, whose time is then on their clocks.
    pub(crate) fn keeps_pilots(&self) -> bool {
        self.get("pilot.keep") == Some("true")
    }

    /// The same, run on real devices or in a simulation.
    pub(crate) fn run_on(self, on_devices: bool) -> Self {
        Self { on_devices, ..self }
    }

    /// Whether the run was on real devices.
    pub fn on_devices(&self) -> bool {
        self.on_devices
    }

    /// The keys that runs have to share to be compared, and some more.
    pub(crate) fn setting(&self, more: &[String]) -> Self {
        // Files may move: a digest tells whether their samples are the same.
        let is_moved =
            |key: &str| FILES.iter().any(|(files, digest)| *files == key && self.get(digest).is_some());
        let is_free = |key: &str| FREE.contains(&key) || Self::is_constant(key) || is_moved(key);
        self.only(|key| !is_free(key) || more.iter().any(|more| more == key))
    }

    /// The same without the target.
    pub(crate) fn without_target(&self) -> Self {
        self.only(|key| !TARGET.contains(&key))
    }

    /// The keys that a pilot shares with its runs.
    pub(crate) fn pilot_setting(&self) -> Self {
        self.setting(&[]).only(|key| !FREE_FOR_PILOTS.contains(&key) && !key.starts_with("stop."))
    }

    fn only(&self, holds: impl Fn(&str) -> bool) -> Self {
        let mut config = self.clone();
        config.keys.retain(|key, _| holds(key));
        config
    }

    /// The same with the constants that a plan was made with.
    pub(crate) fn planned_with(mut self, used: UsedConstants) -> Self {
        let values = CONSTANTS.iter().zip([used.alpha, used.beta]);
        self.keys.extend(values.map(|(key, value)| ((*key).to_owned(), value.to_string())));
        self
    }

    pub(crate) fn is_constant(key: &str) -> bool {
        CONSTANTS.contains(&key)
    }

    /// Whether a key says where a run stops at the latest.
    pub(crate) fn is_cap(key: &str) -> bool {
        key.starts_with("stop.") && FREE.contains(&key)
    }

    /// The keys in which any two differ, in order.
    pub(crate) fn differences(configs: &[&Self]) -> Vec<String> {
        let names: BTreeSet<&String> = configs.iter().flat_map(|config| config.keys.keys()).collect();
        let differs = |name: &&String| {
            let mut values = configs.iter().map(|config| config.get(name));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        names.into_iter().filter(differs).cloned().collect()
    }

    /// The same without computed keys that follow from others in which they differ.
    pub(crate) fn deciding_differences(configs: &[&Self]) -> Vec<String> {
        let mut keys = Self::differences(configs);
        keys.retain(|key| {
            let computed = COMPUTED.iter().find(|(computed, _)| computed == key);
            !computed.is_some_and(|(_, sources)| is_function_of(configs, key, sources))
        });
        keys
    }
}

/// Whether configs with equal sources have equal values of a key.
fn is_function_of(configs: &[&Config], key: &str, sources: &[&str]) -> bool {
    let mut known: BTreeMap<Vec<Option<&str>>, Option<&str>> = BTreeMap::new();
    configs.iter().all(|config| {
        let at = sources.iter().map(|source| config.get(source)).collect();
        *known.entry(at).or_insert(config.get(key)) == config.get(key)
    })
}

/// A value as TOML writes it, but text without quotation marks.
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
        let settings = [one.setting(&[]), other.setting(&[])];
        assert_eq!(Config::differences(&settings.each_ref()), ["fleet.bandwidth_mbps"]);
        let pilot = config("[stop]\nmetric = \"loss\"\nat = 0.6\n[record]\nevaluate_every = 1");
        assert_eq!(pilot.pilot_setting(), config("").pilot_setting());
        assert_ne!(pilot.setting(&[]), config("").setting(&[]));
    }

    #[test]
    fn a_computed_key_is_no_difference_of_its_own_where_its_sources_differ() {
        let sent = |encoding: &str, payload: f64, mbps: u32| {
            config(&format!(
                "[update]\nencoding = \"{encoding}\"\n[fleet]\npayload_mbit = {payload}\nbandwidth_mbps = {mbps}"
            ))
        };
        let [f16, int8, wide] = [sent("f16", 2.0, 100), sent("int8", 1.02, 100), sent("int8", 1.02, 200)];
        assert_eq!(Config::deciding_differences(&[&f16, &int8]), ["update.encoding"]);
        let both = ["fleet.bandwidth_mbps", "update.encoding"];
        assert_eq!(Config::deciding_differences(&[&f16, &int8, &wide]), both);
        // The bandwidth of downloads follows that of uploads, even where nothing is downloaded.
        let shared = |mbps: u32| {
            config(&format!("[fleet]\nbandwidth_mbps = {mbps}\n[downlink]\nbandwidth_mbps = {mbps}"))
        };
        assert_eq!(Config::deciding_differences(&[&shared(100), &shared(200)]), ["fleet.bandwidth_mbps"]);
        // Under one encoding a payload was given by hand, and tells two groups apart.
        let own = sent("int8", 50.0, 100);
        assert_eq!(Config::deciding_differences(&[&int8, &own]), ["fleet.payload_mbit"]);
        let both = ["fleet.payload_mbit", "update.encoding"];
        assert_eq!(Config::deciding_differences(&[&f16, &int8, &own]), both);
        let work = |batch: u32, rate: f64, work: f64| {
            config(&format!(
                "[train]\nbatch = {batch}\niterations = 10\nlearning_rate = {rate}\n[fleet]\nwork_gflop = {work}"
            ))
        };
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
