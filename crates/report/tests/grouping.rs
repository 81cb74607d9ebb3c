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
use fedflip_report::sections::sweep_values;
use fedflip_report::sweep::Sweep;

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

#[test]
fn a_scheme_that_brings_its_own_stands_beside_the_others() {
    let runs = Runs::new();
    let auto = |name: &str, seed: u64, encoding: &str| {
        let folder = runs.add(name, &Run { scheme: "auto", seed, ..Run::default() });
        let brought = format!("[update]\nencoding = \"{encoding}\"\n[stop]");
        alter(&folder, "run.toml", "[stop]", &brought);
    };
    runs.add("exact", &Run::default());
    auto("auto-1", 1, "int4");
    auto("auto-2", 2, "int4");
    let collection = runs.read();
    let [group] = &collection.groups[..] else { panic!("{:?}", collection.groups) };
    assert_eq!(group.scheme("auto").unwrap().runs.len(), 2);
    // Of two kinds that would both fit, neither is a seed of the other.
    auto("auto-3", 1, "int8");
    let collection = runs.read();
    let titles: Vec<String> = collection.groups.iter().map(fedflip_report::Group::title).collect();
    assert_eq!(titles, ["update.encoding = f32", "update.encoding = int8"]);
    assert_eq!(collection.groups[0].scheme("auto").unwrap().runs.len(), 2);
}

/// What a scheme brings stays no difference where runs differ in their constants, or in what is brought itself.
#[test]
fn a_scheme_that_brings_its_own_stays_beside_the_others_at_every_point() {
    let runs = Runs::new();
    let add = |point: &str, scheme: &str, changes: &[(&str, &str)]| {
        let folder = runs.add(&format!("{point}/runs/{scheme}"), &Run { scheme, ..Run::default() });
        for (from, to) in changes {
            alter(&folder, "run.toml", from, to);
        }
    };
    let int4 = ("[stop]", "[update]\nencoding = \"int4\"\n[stop]");
    for (point, alpha) in [("a", "alpha = 20.0"), ("b", "alpha = 40.0")] {
        add(point, "exact", &[("alpha = 20.0", alpha)]);
        add(point, "auto", &[("alpha = 20.0", alpha), int4]);
    }
    let sizes = |collection: &Collection| -> Vec<usize> {
        collection.groups.iter().map(|group| group.schemes.len()).collect()
    };
    assert_eq!(sizes(&runs.read()), [2, 2]);

    let runs = Runs::new();
    for (point, optimiser) in [("a", "none"), ("b", "momentum")] {
        let line = format!("[server]\noptimiser = {optimiser:?}\n[stop]");
        for (scheme, more) in [("weighted", ""), ("auto", "[update]\nencoding = \"int4\"\n")] {
            let folder = runs.add(&format!("{point}/runs/{scheme}"), &Run { scheme, ..Run::default() });
            alter(&folder, "run.toml", "[stop]", &format!("{more}{line}"));
        }
    }
    let collection = runs.read();
    assert_eq!(sizes(&collection), [2, 2]);
    let sweep = sweep_values::table(&Sweep::of(&collection).unwrap());
    assert!(sweep.rows.iter().any(|row| row[0].text == "momentum"), "{:?}", sweep.rows);
}

/// The others' runs are the same at every point, but for where the comparison gave up on them.
#[test]
fn a_sweep_over_what_is_brought_has_the_others_at_every_point() {
    for (points, sooner) in [(["a/", "b/"], 7), (["a/", "b/"], 20), (["a-", "b-"], 7)] {
        let runs = Runs::new();
        for (point, noise) in points.into_iter().zip(["0.35", "1.4"]) {
            let add = |name: &str, run: Run<'_>| runs.add(&format!("{point}{name}"), &run);
            add("runs/paper", Run { scheme: "paper", ..Run::default() });
            add("runs/paper-2", Run { scheme: "paper", seed: 2, ..Run::default() });
            // Given up at one point sooner than at the other.
            let rounds = if noise == "0.35" { sooner } else { 27 - sooner };
            let end = Some(EndReason::VirtualTimeMax);
            let weighted = add("runs/weighted", Run { scheme: "weighted", rounds, end, ..Run::default() });
            alter(&weighted, "run.toml", "[stop]", &format!("[stop]\nvirtual_hours_max = {noise}"));
            let auto = add("runs/auto", Run { scheme: "auto", ..Run::default() });
            alter(&auto, "run.toml", "alpha", &format!("noise = {noise}\nalpha"));
            alter(&auto, "run.toml", "[stop]", "[server]\noptimiser = \"adam\"\n[stop]");
            for scheme in ["uniform", "full"] {
                let pilot = Run {
                    scheme,
                    seed: 1_000_001,
                    end: Some(EndReason::TargetLoss),
                    target_loss: Some(0.5),
                    ..Run::default()
                };
                add(&format!("pilots/{scheme}"), pilot);
            }
        }
        // Further seeds and schemes, beside neither: they are as good as those that are.
        for (scheme, seed) in [("paper", 3), ("uniform", 1), ("uniform", 2)] {
            runs.add(&format!("more/{scheme}-{seed}"), &Run { scheme, seed, ..Run::default() });
        }
        let collection = runs.read();
        let titles: Vec<String> = collection.groups.iter().map(fedflip_report::Group::title).collect();
        assert_eq!(titles, ["plan.noise = 0.35", "plan.noise = 1.4"]);
        for group in &collection.groups {
            let mut schemes: Vec<(&str, usize)> =
                group.schemes.iter().map(|scheme| (scheme.scheme.as_str(), scheme.runs.len())).collect();
            schemes.sort_unstable();
            assert_eq!(schemes, [("auto", 1), ("paper", 3), ("uniform", 2), ("weighted", 1)]);
            assert_eq!(group.scheme("weighted").unwrap().runs[0].summary.rounds, 20, "the longer one");
            assert_eq!(group.pilots.len(), 2, "{}", group.title());
        }
        assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
    }
}

/// How often a round is quiet concerns, where one scheme brings quiet rounds, that scheme alone.
#[test]
fn a_sweep_over_quiet_rounds_that_are_brought_has_the_others_at_every_point() {
    let runs = Runs::new();
    for (point, every) in [("a", 10), ("b", 20)] {
        runs.add(&format!("{point}/runs/paper"), &Run { scheme: "paper", ..Run::default() });
        let auto = runs.add(&format!("{point}/runs/auto"), &Run { scheme: "auto", ..Run::default() });
        let keys = format!("noise = 0.5\nquiet_noise = 0.1\nquiet_every = {every}\nalpha");
        alter(&auto, "run.toml", "alpha", &keys);
    }
    let collection = runs.read();
    let titles: Vec<String> = collection.groups.iter().map(fedflip_report::Group::title).collect();
    assert_eq!(titles, ["plan.quiet_every = 10", "plan.quiet_every = 20"]);
    assert!(collection.groups.iter().all(|group| group.schemes.len() == 2));
    assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
}

/// A scheme with quiet rounds of its own is not shown under none.
#[test]
fn others_with_quiet_rounds_are_beside_those_who_have_the_same() {
    let runs = Runs::new();
    let quiet = "quiet_noise = 0.1\nquiet_every = 20\nalpha";
    for (folder, scheme, has_quiet) in [("a", "auto", true), ("b", "auto", false), ("c", "weighted", true)] {
        let folder = runs.add(folder, &Run { scheme, ..Run::default() });
        if has_quiet {
            alter(&folder, "run.toml", "alpha", quiet);
        }
    }
    let found: Vec<(String, usize)> =
        runs.read().groups.iter().map(|group| (group.title(), group.schemes.len())).collect();
    let [quiet, none] = ["plan.quiet_noise = 0.1", "plan.quiet_noise = none"].map(str::to_owned);
    assert_eq!(found, [(quiet, 2), (none, 1)]);
}

/// What tells two runs of a scheme apart that stands beside others in one of them.
#[test]
fn no_two_groups_have_one_name() {
    let runs = Runs::new();
    runs.add("a/runs/paper", &Run { scheme: "paper", ..Run::default() });
    for (folder, encoding) in [("a/runs/auto", "[update]\nencoding = \"int4\"\n"), ("b/runs/auto", "")] {
        let folder = runs.add(folder, &Run { scheme: "auto", ..Run::default() });
        alter(&folder, "run.toml", "alpha", "noise = 1.4\nalpha");
        alter(&folder, "run.toml", "[stop]", &format!("{encoding}[stop]"));
    }
    let collection = runs.read();
    let found: Vec<(String, usize)> =
        collection.groups.iter().map(|group| (group.title(), group.schemes.len())).collect();
    assert_eq!(
        found,
        [("auto: update.encoding = f32".to_owned(), 1), ("auto: update.encoding = int4".to_owned(), 2)]
    );
}

/// A run without quiet rounds does not take over those of the run that it is put beside.
#[test]
fn runs_with_and_without_quiet_rounds_are_two_in_either_order() {
    for with_quiet in ["a", "b"] {
        let runs = Runs::new();
        for folder in ["a", "b"] {
            let auto = runs.add(folder, &Run { scheme: "auto", ..Run::default() });
            if folder == with_quiet {
                alter(&auto, "run.toml", "alpha", "quiet_noise = 0.1\nquiet_every = 20\nalpha");
            }
        }
        let collection = runs.read();
        let titles: Vec<String> = collection.groups.iter().map(fedflip_report::Group::title).collect();
        assert_eq!(titles, ["plan.quiet_noise = 0.1", "plan.quiet_noise = none"]);
        assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
    }
}

/// The same scheme in two comparisons is in both, whatever the others have there.
#[test]
fn a_scheme_that_brings_its_own_is_in_every_comparison_that_it_lies_in() {
    let runs = Runs::new();
    for (point, encoding) in [("a", "f32"), ("b", "int8")] {
        for (scheme, encoding) in [("paper", encoding), ("auto", "int4")] {
            let folder = runs.add(&format!("{point}/runs/{scheme}"), &Run { scheme, ..Run::default() });
            alter(&folder, "run.toml", "[stop]", &format!("[update]\nencoding = {encoding:?}\n[stop]"));
        }
    }
    let collection = runs.read();
    let found: Vec<(String, usize)> =
        collection.groups.iter().map(|group| (group.title(), group.schemes.len())).collect();
    assert_eq!(found, [("update.encoding = f32".to_owned(), 2), ("update.encoding = int8".to_owned(), 2)]);
}

/// Pilots come first, and `auto` may be the first to go on.
#[test]
fn pilots_are_at_home_before_anybody_who_needs_them() {
    let runs = Runs::new();
    let auto = runs.add("runs/auto", &Run { scheme: "auto", ..Run::default() });
    alter(&auto, "run.toml", "[stop]", "[update]\nencoding = \"int4\"\n[stop]");
    let end = Some(EndReason::TargetLoss);
    runs.add("pilots/full", &Run { scheme: "full", end, target_loss: Some(0.5), ..Run::default() });
    let collection = runs.read();
    assert_eq!((collection.groups[0].pilots.len(), problems(&collection)), (1, Vec::<String>::new()));
}

#[test]
fn pilots_belong_to_the_runs_they_lie_beside_and_count_once() {
    let runs = Runs::new();
    for (point, band) in [("p1", 100.0), ("p2", 200.0)] {
        runs.add(&format!("{point}/runs/exact"), &Run { bandwidth_mbps: band, ..Run::default() });
        for (scheme, rounds) in [("uniform", 40), ("full", 12)] {
            let end = Some(EndReason::TargetLoss);
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
fn a_run_to_a_loss_is_no_pilot_unless_it_is_that_loss() {
    let runs = Runs::new();
    let folder =
        runs.add("run", &Run { target_loss: Some(0.5), end: Some(EndReason::TargetLoss), ..Run::default() });
    assert_eq!(runs.read().groups[0].pilots.len(), 1);
    alter(&folder, "run.toml", "[stop]", "[pilot]\nloss = 1.5\n[stop]");
    let collection = runs.read();
    assert_eq!(collection.groups[0].pilots.len(), 0);
    assert_eq!(collection.groups[0].target(), "a loss of 0.500");
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
    assert_eq!(Sweep::of(&collection).unwrap().axis(), ["10", "20"]);
    assert!(collection.groups.iter().all(|group| group.schemes.len() == 2));
}
