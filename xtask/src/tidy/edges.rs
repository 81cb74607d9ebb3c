//! Dependencies between crates go down only, and the layers that must stay free of the outside
//! world stay free of it.
//!
//! This reads what each manifest asks for; `deny.toml` bans the same crates from arriving by way
//! of others.

use super::Problem;
use super::manifest::{Dependency, Manifest};
use super::tree::Tree;

/// Each crate's height. A crate may depend on lower ones only; two of the same height do not know
/// each other. Crates of later work have their place already.
const HEIGHTS: &[(&str, u32)] = &[
    ("fedflip-fleet", 0),
    ("fedflip-datasets", 1),
    ("fedflip-plan", 1),
    ("fedflip-record", 1),
    ("fedflip-samples", 1),
    ("fedflip-learn", 2),
    ("fedflip-engine", 3),
    ("fedflip-scenario", 4),
    ("fedflip-sim", 5),
    ("fedflip-net", 5),
    ("fedflip-agent", 6),
    ("fedflip-dashboard", 6),
    ("fedflip-report", 6),
    ("fedflip-run", 7),
    ("fedflip", 8),
    ("fedflip-lab", 8),
    ("fedflip-planner-web", 8),
    ("fedflip-py", 9),
];

/// The crates that compute: values in, values out, so that a run can be repeated to the bit.
const PURE: &[&str] = &["fedflip-fleet", "fedflip-plan", "fedflip-learn", "fedflip-engine"];

/// What a pure crate must not ask for, and why. Its tests and benchmarks may.
const OUTSIDE: &[(&str, &str)] = &[
    ("anyhow", "a library's errors are one enum, not a string"),
    ("async-std", "async stays in fedflip-net"),
    ("axum", "the network stays in fedflip-net"),
    ("clap", "only the fedflip binary has a command line"),
    ("chrono", "time is an argument"),
    ("futures", "async stays in fedflip-net"),
    ("getrandom", "randomness is an argument: take a keyed stream"),
    ("hyper", "the network stays in fedflip-net"),
    ("indicatif", "only the fedflip binary prints"),
    ("miette", "a library's errors are one enum, not a report"),
    ("reqwest", "the network stays in fedflip-net"),
    ("time", "time is an argument"),
    ("tokio", "async stays in fedflip-net"),
    ("tonic", "the network stays in fedflip-net"),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.packages() {
        let path = format!("{folder}/Cargo.toml");
        let manifest = Manifest::parse(tree.text(&path).unwrap_or_default());
        if folder != "xtask" && height(&manifest.name).is_none() {
            let message =
                format!("`{}` has no height yet: give it one in xtask/src/tidy/edges.rs", manifest.name);
            problems.push(Problem::in_file(&path, message));
        }
        for dependency in &manifest.dependencies {
            if let Some(message) = objection(&manifest.name, dependency) {
                problems.push(Problem::at(&path, dependency.line, message));
            }
        }
    }
    problems
}

fn objection(from: &str, dependency: &Dependency) -> Option<String> {
    let to = dependency.package.as_str();
    if to == "xtask" {
        return Some("nothing may depend on `xtask`".to_owned());
    }
    // A crate may turn on its own features for its tests.
    if to == from && dependency.dev {
        return None;
    }
    if let Some(below) = height(to) {
        return match height(from) {
            Some(above) if above > below => None,
            Some(_) => Some(format!("`{from}` must not depend on `{to}`: edges only go down")),
            None => Some(format!("`{from}` must not depend on `{to}`: it is no layer of the product")),
        };
    }
    if !PURE.contains(&from) || dependency.dev {
        return None;
    }
    let (_, reason) = OUTSIDE.iter().find(|(name, _)| *name == to)?;
    Some(format!("`{from}` must not depend on `{to}`: {reason}"))
}

fn height(name: &str) -> Option<u32> {
    let (_, height) = HEIGHTS.iter().find(|(known, _)| *known == name)?;
    Some(*height)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages for one crate whose manifest ends in the given lines.
    fn messages(name: &str, lines: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"{name}\"\n\n{lines}");
        let tree = Tree::of(&[("crates/one/Cargo.toml", &manifest)]);
        let messages = check(&tree).into_iter().map(|problem| problem.message);
        messages.collect()
    }

    #[test]
    fn edges_go_down() {
        assert_eq!(
            messages("fedflip-plan", "[dependencies]\nfedflip-fleet.workspace = true\n"),
            Vec::<String>::new()
        );
        let upward = messages("fedflip-fleet", "[dependencies]\nfedflip-plan.workspace = true\n");
        assert!(upward[0].contains("edges only go down"), "{upward:?}");
    }

    #[test]
    fn the_two_worlds_do_not_know_each_other() {
        let sideways = messages("fedflip-sim", "[dependencies]\nfedflip-net = { path = \"../net\" }\n");
        assert_eq!(sideways.len(), 1);
    }

    #[test]
    fn even_a_test_must_not_look_up() {
        let itself = "[dev-dependencies]\nfedflip-plan = { path = \".\", features = [\"line-search\"] }\n";
        assert!(messages("fedflip-plan", itself).is_empty());
        let upward = messages("fedflip-plan", "[dev-dependencies]\nfedflip-engine.workspace = true\n");
        assert_eq!(upward.len(), 1);
    }

    #[test]
    fn a_pure_crate_stays_pure_outside_its_tests() {
        let impure = messages("fedflip-plan", "[dependencies]\ntokio = \"1\"\n");
        assert!(impure[0].contains("async stays in"), "{impure:?}");
        let tested = messages("fedflip-plan", "[dev-dependencies]\ntokio = \"1\"\n");
        assert_eq!(tested, Vec::<String>::new());
        let binary = messages("fedflip", "[dependencies]\nclap = \"4\"\n");
        assert_eq!(binary, Vec::<String>::new());
    }

    #[test]
    fn a_new_crate_is_asked_for_its_place() {
        assert!(messages("fedflip-new", "")[0].contains("no height yet"));
    }
}
