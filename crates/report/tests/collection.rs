//! Folders of all kinds, as a user has them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altered;
mod common;
mod rendered;

use std::fs;

use altered::{alter, problems};
use common::{Run, Runs};
use fedflip_record::EndReason;
use fedflip_record::schema::VERSION;
use fedflip_report::explain::Explained;
use fedflip_report::pilots::{Measured, pilot_hours};
use fedflip_report::sections::sweep::{self, Sweep};
use fedflip_report::sections::{curves, time_to_target};
use fedflip_report::standing::Spread;
use fedflip_report::{Collection, FORMATS, ReportError};
use rendered::{files, html};

#[test]
fn schemes_are_compared_over_their_seeds() {
    let runs = Runs::new();
    for (seed, secs) in [(1, 1.0), (2, 3.0)] {
        runs.add(&format!("runs/exact-seed{seed}"), &Run { seed, secs, ..Run::default() });
    }
    runs.add("runs/full-seed1", &Run { scheme: "full", secs: 9.0, ..Run::default() });
    let short = Run { scheme: "uniform", secs: 1.0, end: Some(EndReason::VirtualTimeMax), ..Run::default() };
    runs.add("runs/uniform-seed1", &short);
    let collection = runs.read();
    assert_eq!(problems(&collection), Vec::<String>::new());
    let [group] = collection.groups.as_slice() else { panic!("{:?}", collection.groups) };
    // The lower bound last, however short.
    let order: Vec<&str> = group.schemes.iter().map(|scheme| scheme.scheme.as_str()).collect();
    assert_eq!(order, ["exact", "full", "uniform"]);
    let hours = group.schemes[0].standing.hours.unwrap();
    assert!((hours.mean - 40.0 / 3600.0).abs() < 1e-12);
    assert!((hours.std.unwrap() - 20.0 * 2.0_f64.sqrt() / 3600.0).abs() < 1e-12);
    let table = time_to_target::table(group, None).unwrap();
    let texts: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(fedflip_report::Cell::shown).collect()).collect();
    assert_eq!(texts[0][..4], ["exact", "40 s", "28.3 s", "1.00×"]);
    assert_eq!(texts[1][..4], ["full", "180 s", "–", "4.50×"]);
    assert_eq!(texts[2][..4], ["uniform", "> 20 s", "–", "> 0.50×"]);
    assert_eq!(texts[0][8..], ["2 of 2", "2"]);
    // Everybody 6 times and the laptop alone 7 times, in 20 rounds.
    assert_eq!([0, 1, 2].map(|device| group.schemes[1].runs[0].participations(device)), [6, 6, 13]);
    assert_eq!(group.schemes[1].runs[0].lost, [0, 1]);
}

/// Of schemes that need no constants, what was predicted says by which.
#[test]
fn rounds_are_predicted_with_what_the_scenario_has() {
    let runs = Runs::new();
    let auto = runs.add("runs/auto-seed1", &Run { scheme: "auto", ..Run::default() });
    let said = |runs: &Runs| Measured::of(&runs.read().groups[0]).sentences();
    let one = "No run here is planned with α and β. Rounds are predicted with α = 20, β = 3.";
    assert_eq!(said(&runs), one);
    runs.add("runs/uniform-seed1", &Run { scheme: "uniform", ..Run::default() });
    assert_eq!(said(&runs), one);
    alter(&auto, "run.toml", "alpha = 20.0", "alpha = 21.0");
    assert!(said(&runs).ends_with("Rounds are predicted with the constants of each run's scenario."));
}

#[test]
fn what_a_plan_expected_stands_beside_what_came() {
    let runs = Runs::new();
    runs.add("runs/exact-seed1", &Run::default());
    for (scheme, seed, rounds) in
        [("uniform", 101, 40), ("full", 101, 12), ("uniform", 102, 44), ("full", 102, 11)]
    {
        let end = Some(EndReason::Target);
        let pilot = Run { scheme, seed, rounds, end, target_loss: Some(0.5), secs: 1.0, ..Run::default() };
        runs.add(&format!("pilots/{scheme}-seed{seed}"), &pilot);
    }
    let collection = runs.read();
    let [group] = collection.groups.as_slice() else { panic!("{:?}", problems(&collection)) };
    assert_eq!(group.pilots.len(), 4);
    // (40 + 12 + 44 + 11) rounds of a second, over two seeds.
    assert!((pilot_hours(group).unwrap() - 107.0 / 2.0 / 3600.0).abs() < 1e-12);
    let measured = Measured::of(group);
    assert_eq!(measured.constants().unwrap().alpha(), 20.0, "what the run was planned with");
    let said = measured.sentences();
    assert!(said.starts_with("Planned with α = 20, β = 3. The 4 pilots at hand give α = "), "{said}");
    let interval = measured.fit.unwrap().unwrap().alpha_interval.unwrap();
    assert!(interval.low > 0.0 && interval.high > interval.low, "{interval:?}");
    let explained = Explained::of(&group.schemes[0]).unwrap();
    assert_eq!(explained.scheme.standing.rounds, Some(Spread { mean: 20.0, std: None }));
    // 0.3²/0.5 + 0.3²/0.5 + 0.4²/0.8.
    assert!((explained.sampling_variance.unwrap() - 0.56).abs() < 1e-12);
    let model = explained.round_model.unwrap();
    assert!(model.mean_secs <= model.theorem2_secs && model.theorem2_secs <= model.linear_secs, "{model:?}");
    assert_eq!(explained.empty_share, 7.0 / 20.0);
}

/// Also of a scheme that never got to the target.
#[test]
fn times_on_the_way_are_those_of_the_first_evaluation_that_is_good_enough() {
    let runs = Runs::new();
    runs.add("exact", &Run::default());
    runs.add("full", &Run { scheme: "full", secs: 6.0, end: None, rounds: 10, ..Run::default() });
    let collection = runs.read();
    let group = &collection.groups[0];
    let json: serde_json::Value = serde_json::from_slice(&files(&collection, "json")[0].bytes).unwrap();
    let rows = |name: &str| json["groups"][0][name].as_array().unwrap().clone();
    let by_hand = |scheme: &str, level: f64| {
        let run = &group.scheme(scheme).unwrap().runs[0];
        let accuracy = run.fold.curve.of("accuracy");
        accuracy.into_iter().find(|at| at.1 >= level).map(|at| at.0 / 3600.0)
    };
    let mut known = 0;
    for row in &rows("milestones") {
        let scheme = row["scheme"].as_str().unwrap();
        for level in [65, 70, 75, 80, 85] {
            let expected = by_hand(scheme, f64::from(level) / 100.0);
            known += usize::from(expected.is_some());
            assert_eq!(row[format!("hours_to_{level}")].as_f64(), expected, "{scheme} to {level} %");
        }
    }
    assert!(known > 0, "nobody got anywhere");
    // Accuracy grows, so that its mean gets nowhere sooner.
    for (once, mean) in rows("milestones").iter().zip(&rows("milestones_mean")) {
        for level in [65, 70, 75, 80, 85] {
            let hours = |row: &serde_json::Value| row[format!("hours_to_{level}")].as_f64();
            assert!(hours(mean).is_none_or(|mean| hours(once).unwrap() < mean), "{once} {mean}");
        }
    }
}

#[test]
fn folders_that_differ_in_one_key_are_a_sweep() {
    let runs = Runs::new();
    for (band, slow) in [(400.0, 4.0), (100.0, 8.0)] {
        runs.add(&format!("{band}/exact"), &Run { bandwidth_mbps: band, ..Run::default() });
        let full = Run { scheme: "full", secs: slow, bandwidth_mbps: band, ..Run::default() };
        runs.add(&format!("{band}/full"), &full);
    }
    let collection = runs.read();
    let sweep = Sweep::of(&collection, None).unwrap();
    assert_eq!((sweep.title().as_str(), sweep.reference), ("fleet.bandwidth_mbps", Some("full")));
    assert_eq!(sweep.axis().unwrap(), ["100", "400"]);
    let exact: Vec<f64> = sweep
        .points
        .iter()
        .filter(|point| point.scheme.scheme == "exact")
        .filter_map(|point| Some(point.speed_up?.ratio))
        .collect();
    assert_eq!(exact, [4.0, 2.0]);
    let names: Vec<String> = files(&collection, "svg").into_iter().map(|file| file.path).collect();
    assert!(names.contains(&"speed-up.svg".to_owned()), "{names:?}");
    assert!(names.contains(&"fleet.bandwidth_mbps=100/accuracy.svg".to_owned()), "{names:?}");
    let html = html(&collection, None);
    assert!(html.contains("Speed-up over full against fleet.bandwidth_mbps"));
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_shown() {
    let runs = Runs::new();
    runs.add("good", &Run::default());
    // Cut in the middle of its last line, as while it is being written.
    let running = runs.add("running", &Run { seed: 2, end: None, ..Run::default() });
    let text = fs::read_to_string(running.join("records.jsonl")).unwrap();
    fs::write(running.join("records.jsonl"), &text[..text.len() - 30]).unwrap();
    // A line of it is rubbish.
    let broken = runs.add("broken", &Run { seed: 3, ..Run::default() });
    let text = fs::read_to_string(broken.join("records.jsonl")).unwrap();
    fs::write(broken.join("records.jsonl"), text.replacen("\"round\":7,", "\"round\":xx,", 1)).unwrap();
    // Of a version to come.
    let newer = runs.add("newer", &Run { seed: 4, ..Run::default() });
    let text = fs::read_to_string(newer.join("records.jsonl")).unwrap();
    fs::write(
        newer.join("records.jsonl"),
        text.replacen(&format!("\"version\":{VERSION}"), "\"version\":9", 1),
    )
    .unwrap();
    // Nothing yet; and no scenario, fleet or plan.
    let empty = runs.add("empty", &Run::default());
    fs::write(empty.join("records.jsonl"), "").unwrap();
    let bare = runs.add("bare", &Run { scheme: "bare", ..Run::default() });
    for name in ["run.toml", "fleet.csv", "plan.csv"] {
        fs::remove_file(bare.join(name)).unwrap();
    }
    let collection = runs.read();
    let problems = problems(&collection);
    let has =
        |folder: &str, what: &str| problems.iter().any(|line| line.contains(folder) && line.contains(what));
    assert!(has("broken/records.jsonl, line 8", "the 6 rounds before it are shown"), "{problems:#?}");
    assert!(has("newer/records.jsonl", "version 9"), "{problems:#?}");
    assert!(has("empty/records.jsonl", "is empty"), "{problems:#?}");
    assert!(has("bare/run.toml", "cannot be read"), "{problems:#?}");
    assert!(has("bare/fleet.csv", "cannot be read"), "{problems:#?}");
    assert!(!problems.iter().any(|line| line.contains("good") || line.contains("running")), "{problems:#?}");
    let exact =
        collection.groups.iter().flat_map(|group| &group.schemes).find(|scheme| scheme.scheme == "exact");
    let rounds: Vec<u64> = exact.unwrap().runs.iter().map(|run| run.summary().rounds).collect();
    assert_eq!(rounds, [20, 19, 6]);
    assert_eq!((exact.unwrap().standing.reached, exact.unwrap().standing.going_on), (1, 2));
    // And all of it renders, in every format.
    for format in FORMATS {
        assert!(!files(&collection, format.name).is_empty(), "{format:?}");
    }
    assert!(html(&collection, None).contains("version 9"));
}

#[test]
fn nothing_to_show_is_an_error_with_a_reason() {
    let runs = Runs::new();
    let error = Collection::read(&[runs.path().join("gone")], None, None).unwrap_err();
    let said = |error: &ReportError, what: &str| {
        let ReportError::NoRuns { problems, .. } = error else { panic!("{error}") };
        assert!(problems[0].contains(what), "{problems:?}");
    };
    said(&error, "gone: does not exist");
    said(&Collection::read(&[runs.path().to_owned()], None, None).unwrap_err(), "holds no run");
}

#[test]
fn a_record_cannot_ask_for_all_memory() {
    let runs = Runs::new();
    let folder = runs.add("run", &Run::default());
    alter(&folder, "records.jsonl", "\"devices\":3", "\"devices\":1000000000000");
    alter(&folder, "records.jsonl", "\"cohort\":[0,1,2]", "\"cohort\":[0,1,300000000000]");
    let collection = runs.read();
    assert!(problems(&collection)[0].contains("names devices that its header does not have"));
    let run = &collection.groups[0].schemes[0].runs[0];
    assert_eq!([0, 1, 2, 3].map(|device| run.participations(device)), [6, 6, 7, 0]);
    // A thousand plans of twenty million devices each would take 160 GB if each had counts of its own.
    let folder = runs.add("plans", &Run { seed: 2, ..Run::default() });
    let text = fs::read_to_string(folder.join("records.jsonl")).unwrap();
    let text = text.replace("\"devices\":3", "\"devices\":20000000");
    let mut lines: Vec<String> = text.lines().take(1).map(ToOwned::to_owned).collect();
    for round in 1..=1000 {
        lines.push(format!(
            r#"{{"type":"round","round":{round},"start_secs":0.0,"round_secs":1.0,"cohort":[19999999],"mbps":[1.0],"train_loss":null}}"#
        ));
        lines.push(format!(
            r#"{{"type":"replan","after_round":{round},"secs":1.0,"changed":1,"reason":"","devices":20000000,"expected_participants":1.0,"expected_rounds":null,"expected_round_secs":null}}"#
        ));
    }
    fs::write(folder.join("records.jsonl"), lines.join("\n") + "\n").unwrap();
    let read = runs.read();
    let planned = read.all_runs().find(|run| run.plans.len() > 1).unwrap();
    assert_eq!((planned.plans.len(), planned.participations(19_999_999)), (1001, 1000));
    assert_eq!(planned.participations_of_plan(19_999_999), 0);
    assert!(!files(&collection, "svg").is_empty());
}

#[test]
fn files_have_names_of_their_own_below_their_folder() {
    let runs = Runs::new();
    // Nothing but the task tells them apart.
    for (name, task) in [("a", "one"), ("b", "../../two"), ("c", "/three")] {
        let folder = runs.add(name, &Run::default());
        alter(&folder, "records.jsonl", "\"task\":\"synthetic\"", &format!("\"task\":\"{task}\""));
        fs::remove_file(folder.join("run.toml")).unwrap();
    }
    // Schemes that look the same as names of files.
    runs.add("d", &Run { scheme: "x/y", ..Run::default() });
    runs.add("e", &Run { scheme: "x-y", ..Run::default() });
    let collection = runs.read();
    assert!(Sweep::of(&collection, None).is_none(), "what has no scenario is no point of a sweep");
    for format in ["svg", "csv", "png", "pdf", "latex"] {
        let mut seen = std::collections::BTreeSet::new();
        for file in files(&collection, format) {
            let path = std::path::Path::new(&file.path);
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            assert!(path.components().all(plain), "{}", file.path);
            assert!(seen.insert(file.path.clone()), "{} twice", file.path);
        }
    }
}

#[test]
fn the_model_of_a_round_says_what_it_does_not_know() {
    let runs = Runs::new();
    let folder = runs.add("run", &Run::default());
    let of = || {
        let collection = runs.read();
        let explained = Explained::of(&collection.groups[0].schemes[0]).unwrap();
        (explained.round_model, explained.left_out)
    };
    let plain = of().0.unwrap();
    alter(&folder, "run.toml", "[stop]", "[round]\n[world]\ndropout = 0.1\n[stop]");
    alter(&folder, "records.jsonl", "\"metrics\":[", "\"costs\":{\"overhead_secs\":5.0},\"metrics\":[");
    let (model, left_out) = of();
    assert!((model.unwrap().mean_secs - plain.mean_secs - 5.0).abs() < 1e-12);
    assert_eq!(left_out, ["world.dropout"]);
    let html = html(&runs.read(), None);
    assert!(html.contains("ignore world.dropout") && html.contains("count as 5 s in both means"));
    assert!(html.contains("rounds cost an overhead of 5 s") && html.contains("without overhead"));
    alter(&folder, "run.toml", "[round]", "[round]\nallocation = \"equal\"");
    assert_eq!(of().0, None, "E[T̂] is of rounds in which all finish together");
}

#[test]
fn a_reference_that_gave_up_makes_a_lower_bound() {
    let runs = Runs::new();
    for band in [100.0, 200.0] {
        runs.add(&format!("{band}/exact"), &Run { bandwidth_mbps: band, ..Run::default() });
        let end = Some(EndReason::VirtualTimeMax);
        runs.add(
            &format!("{band}/full"),
            &Run { scheme: "full", secs: 6.0, bandwidth_mbps: band, end, ..Run::default() },
        );
    }
    let collection = runs.read();
    let sweep = Sweep::of(&collection, None).unwrap();
    let texts: Vec<String> = sweep::table(&sweep).unwrap().rows.iter().map(|row| row[3].shown()).collect();
    assert_eq!(texts, ["> 3.00×", "–", "> 3.00×", "–"]);
    let svg = String::from_utf8(files(&collection, "svg").remove(0).bytes).unwrap();
    assert!(svg.contains("exact at 100: &gt; 3.00×"), "{svg}");
}

#[test]
fn the_headline_knows_noise_and_pilots() {
    let runs = Runs::new();
    for (scheme, secs) in [("exact", 1.0), ("paper", 1.2), ("full", 9.0)] {
        for (seed, more) in [(1, 0.0), (2, 0.6)] {
            runs.add(
                &format!("runs/{scheme}-{seed}"),
                &Run { scheme, seed, secs: secs + more, ..Run::default() },
            );
        }
    }
    let html = html(&runs.read(), None);
    assert!(html.contains("exact took the least virtual time: 26 s ± 8.49 s."), "{html}");
    assert!(
        html.contains("paper is no more than one standard deviation away. full takes 7.15 times as long.")
    );
}

#[test]
fn a_figure_ends_where_the_last_curve_arrives_unless_that_squeezes_the_others() {
    let beyond = |slow: f64, end: EndReason, slower: Option<f64>| {
        let runs = Runs::new();
        for scheme in ["exact", "tight", "weighted"] {
            runs.add(scheme, &Run { scheme, ..Run::default() });
        }
        runs.add("paper", &Run { scheme: "paper", secs: 2.0 * slow, end: Some(end), ..Run::default() });
        if let Some(slower) = slower {
            runs.add("full", &Run { scheme: "full", secs: 2.0 * slower, ..Run::default() });
        }
        let collection = runs.read();
        let group = &collection.groups[0];
        let caption = curves::figure(group, &group.metrics()[0]).caption;
        ["paper", "full"].map(|scheme| caption.contains(&format!("{scheme} continues to")))
    };
    let reached = EndReason::Target;
    assert_eq!(beyond(5.0, reached, None), [false, false], "it arrives, and the figure shows where");
    assert_eq!(beyond(5.0, EndReason::RoundsMax, None), [true, false], "it arrives nowhere");
    assert_eq!(beyond(7.0, reached, None), [true, false], "it would squeeze the others");
    assert_eq!(beyond(5.0, reached, Some(7.0)), [false, true], "the last one that does not");
}

#[test]
fn one_wild_curve_does_not_flatten_the_others() {
    let runs = Runs::new();
    for scheme in ["exact", "paper", "tight"] {
        runs.add(scheme, &Run { scheme, ..Run::default() });
    }
    let wild = runs.add("wild", &Run { scheme: "full", ..Run::default() });
    alter(&wild, "records.jsonl", "\"loss\":1.0}", "\"loss\":1000000.0}");
    let collection = runs.read();
    let group = &collection.groups[0];
    let loss = curves::figure(group, &group.metrics()[1]);
    assert!(loss.caption.contains("Above it at times: full."), "{}", loss.caption);
    // Ticks end where half of the curves do.
    assert!(loss.standalone().contains(">2.0<") && !loss.standalone().contains(">500000<"));
}
