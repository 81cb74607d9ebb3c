//! Which runs and pilots stand together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altered;
mod common;

use std::fs;

use altered::{alter, problems};
use common::{Run, Runs};
use fedflip_record::EndReason;
use fedflip_report::Collection;
use fedflip_report::pilots::pilot_hours;
use fedflip_report::sections::sweep::Sweep;

#[test]
fn the_same_run_twice_counts_once() {
    let runs = Runs::new();
    runs.add("a", &Run::default());
    runs.add("copy", &Run { rounds: 7, end: None, ..Run::default() });
    let collection = runs.read();
    assert_eq!(collection.groups[0].schemes[0].standing.seeds, 1);
    assert_eq!(collection.groups[0].schemes[0].standing.reached, 1);
    assert!(
        problems(&collection)[0].contains("copy: left out: the same run as"),
        "{:?}",
        problems(&collection)
    );
}

#[test]
fn other_constants_make_other_plans_but_not_other_baselines() {
    let runs = Runs::new();
    let change = |folder: std::path::PathBuf| {
        let scenario = fs::read_to_string(folder.join("run.toml")).unwrap();
        fs::write(folder.join("run.toml"), scenario.replace("alpha = 20.0", "alpha = 40.0")).unwrap();
    };
    runs.add("a/exact", &Run::default());
    change(runs.add("b/full", &Run { scheme: "full", ..Run::default() }));
    assert_eq!(runs.read().groups.len(), 1, "a baseline has no use for α");
    change(runs.add("b/exact", &Run::default()));
    let collection = runs.read();
    let titles: Vec<String> = collection.groups.iter().map(fedflip_report::Group::title).collect();
    assert_eq!(titles, ["plan.alpha = 20", "plan.alpha = 40"]);
}

fn titles(collection: &Collection) -> Vec<(String, usize)> {
    collection.groups.iter().map(|group| (group.title(), group.schemes.len())).collect()
}

/// Schemes are compared under equal settings, whatever their names.
#[test]
fn runs_that_differ_in_any_other_key_stand_apart_and_are_named_by_it() {
    for (line, key) in [
        ("[update]\nencoding = \"int4\"", "update.encoding"),
        ("[server]\noptimiser = \"adam\"", "server.optimiser"),
        ("[world]\ndropout = 0.1", "world.dropout"),
    ] {
        let runs = Runs::new();
        runs.add("a/exact", &Run::default());
        runs.add("a/auto", &Run { scheme: "auto", ..Run::default() });
        let auto = runs.add("b/auto", &Run { scheme: "auto", ..Run::default() });
        alter(&auto, "run.toml", "[stop]", &format!("{line}\n[stop]"));
        let collection = runs.read();
        let mut sizes: Vec<usize> = titles(&collection).into_iter().map(|(_, schemes)| schemes).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 2], "{key}");
        assert!(
            collection.groups.iter().all(|group| group.title().starts_with(&format!("{key} = "))),
            "{key}"
        );
        assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
    }
}

/// At every point of a sweep there is a whole comparison, also over keys that only one scheme uses.
#[test]
fn a_sweep_over_the_sampling_variance_has_every_scheme_at_every_point() {
    let runs = Runs::new();
    for (point, variance, rounds) in [("a", "0.35", 7), ("b", "1.4", 20)] {
        for scheme in ["auto", "paper", "weighted"] {
            let run = Run { scheme, rounds, ..Run::default() };
            let folder = runs.add(&format!("{point}/runs/{scheme}"), &run);
            alter(&folder, "run.toml", "alpha", &format!("variance = {variance}\nalpha"));
        }
        let pilot =
            Run { scheme: "full", end: Some(EndReason::Target), target_loss: Some(0.5), ..Run::default() };
        let folder = runs.add(&format!("{point}/pilots/full"), &pilot);
        alter(&folder, "run.toml", "alpha", &format!("variance = {variance}\nalpha"));
    }
    let collection = runs.read();
    let expected = ["0.35", "1.4"].map(|variance| (format!("plan.variance = {variance}"), 3));
    assert_eq!(titles(&collection), expected);
    assert!(collection.groups.iter().all(|group| group.pilots.len() == 1));
    assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
}

/// Quiet rounds are settings like all others, but pilots have none.
#[test]
fn runs_with_and_without_quiet_rounds_are_two_groups_of_the_same_pilots() {
    let runs = Runs::new();
    for (folder, quiet) in [("a", "0.1"), ("b", "\"none\"")] {
        let run = runs.add(folder, &Run { scheme: "auto", ..Run::default() });
        alter(&run, "run.toml", "alpha", &format!("quiet_variance = {quiet}\nquiet_every = 20\nalpha"));
    }
    let end = Some(EndReason::Target);
    runs.add("pilots/full", &Run { scheme: "full", end, target_loss: Some(0.5), ..Run::default() });
    let collection = runs.read();
    let expected = ["0.1", "none"].map(|quiet| (format!("plan.quiet_variance = {quiet}"), 1));
    assert_eq!(titles(&collection), expected);
    assert!(collection.groups.iter().all(|group| group.pilots.len() == 1));
    assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
}

#[test]
fn pilots_belong_to_the_runs_they_lie_beside_and_count_once() {
    let runs = Runs::new();
    for (point, band) in [("p1", 100.0), ("p2", 200.0)] {
        runs.add(&format!("{point}/runs/exact"), &Run { bandwidth_mbps: band, ..Run::default() });
        for (scheme, rounds) in [("uniform", 40), ("full", 12)] {
            let end = Some(EndReason::Target);
            let pilot = Run {
                scheme,
                rounds,
                end,
                target_loss: Some(0.5),
                secs: 1.0,
                bandwidth_mbps: band,
                ..Run::default()
            };
            runs.add(&format!("{point}/pilots/{scheme}"), &pilot);
            // Somebody has a copy of it.
            runs.add(&format!("copies/{point}/{scheme}"), &pilot);
        }
    }
    let collection = runs.read();
    for group in &collection.groups {
        assert_eq!(group.pilots.len(), 2, "{}", group.title());
        assert!((pilot_hours(group).unwrap() - 52.0 / 3600.0).abs() < 1e-12);
    }
    assert_eq!(problems(&collection).len(), 4);
}

#[test]
fn a_run_to_a_loss_is_no_pilot_unless_its_header_says_so() {
    let runs = Runs::new();
    let folder =
        runs.add("run", &Run { target_loss: Some(0.5), end: Some(EndReason::Target), ..Run::default() });
    assert_eq!(runs.read().groups[0].pilots.len(), 1);
    alter(&folder, "records.jsonl", "\"pilot\":true,", "");
    let collection = runs.read();
    assert_eq!(collection.groups[0].pilots.len(), 0);
    assert_eq!(collection.groups[0].target_words(), "loss 0.500");
}

#[test]
fn another_cap_is_another_point_and_a_copy_is_not() {
    let runs = Runs::new();
    for (name, cap) in [("a", 10), ("b", 20)] {
        let folder = runs.add(name, &Run::default());
        alter(&folder, "run.toml", "[stop]", &format!("[stop]\nrounds_max = {cap}"));
        // A comparison gives up on other schemes at other times: that is no difference.
        let folder = runs.add(&format!("{name}-full"), &Run { scheme: "full", ..Run::default() });
        alter(&folder, "run.toml", "[stop]", &format!("[stop]\nrounds_max = {cap}\nvirtual_hours_max = 3.5"));
    }
    let collection = runs.read();
    assert_eq!(Sweep::of(&collection, None).unwrap().axis().unwrap(), ["10", "20"]);
    assert!(collection.groups.iter().all(|group| group.schemes.len() == 2));
}

/// Somebody wrote the file again between two runs.
#[test]
fn two_plans_of_one_file_name_are_two_schemes() {
    let runs = Runs::new();
    let given = Run { scheme: "file=q.csv", ..Run::default() };
    runs.add("a", &given);
    runs.add("again", &Run { seed: 2, ..Run { scheme: "file=q.csv", ..Run::default() } });
    let other = runs.add("b", &given);
    alter(&other, "plan.csv", "laptop-0,0.8,0.5", "laptop-0,0.4,1.0");
    let collection = runs.read();
    let schemes: Vec<(&str, usize)> = collection.groups[0]
        .schemes
        .iter()
        .map(|scheme| (scheme.scheme.as_str(), scheme.standing.seeds))
        .collect();
    assert_eq!(schemes.len(), 2, "{schemes:?}");
    assert!(schemes.iter().all(|(name, _)| name.starts_with("file=q.csv")), "{schemes:?}");
    assert_eq!(schemes.iter().map(|(_, seeds)| seeds).sum::<usize>(), 3);
    assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
}

#[test]
fn files_may_move_if_their_digests_stay() {
    let runs = Runs::new();
    for (name, folder, digest) in [("a", "/x", "1"), ("b", "/y", "1"), ("c", "/y", "2")] {
        let scheme = ["exact", "full", "auto"][usize::from(name.as_bytes()[0] - b'a')];
        let run = runs.add(name, &Run { scheme, ..Run::default() });
        let data = format!("[data]\ntrain = \"{folder}/t.csv\"\ntrain_digest = \"{digest}\"\n[stop]");
        alter(&run, "run.toml", "[stop]", &data);
    }
    let mut sizes: Vec<usize> = titles(&runs.read()).into_iter().map(|(_, schemes)| schemes).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 2]);
}
