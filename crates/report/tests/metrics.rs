//! Tasks whose metrics are not accuracy: every format follows what the records declare.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altered;
mod common;
mod rendered;

use altered::{alter, problems};
use common::{Run, Runs};
use fedflip_record::EndReason;
use fedflip_report::{Collection, FORMATS, Format, Options, Report, ReportError};
use rendered::{files, html};
use serde_json::{Value, json};

/// A regression to an RMSE of at most 0.5, under two schemes of which one gives up.
fn regression(metric: &str) -> Collection {
    let runs = Runs::new();
    for seed in 1..=2 {
        runs.add(&format!("exact-{seed}"), &Run { metric, seed, ..Run::default() });
    }
    let end = Some(EndReason::VirtualTimeMax);
    runs.add("full", &Run { metric, scheme: "full", secs: 6.0, rounds: 5, end, ..Run::default() });
    let pilot = Run { metric, scheme: "full", target_loss: Some(0.5), ..Run::default() };
    runs.add("pilots/full", &pilot);
    runs.add("pilots/uniform", &Run { scheme: "uniform", rounds: 40, ..pilot });
    runs.read()
}

fn file(collection: &Collection, format: &str, path: &str) -> String {
    let files = files(collection, format);
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let found = files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("{path}: {paths:?}"));
    String::from_utf8(found.bytes.clone()).unwrap()
}

/// The cells of a CSV file by their heads, a map a row.
fn rows(csv: &str) -> Vec<std::collections::BTreeMap<&str, &str>> {
    let mut lines = csv.lines().map(|line| line.split(','));
    let heads: Vec<&str> = lines.next().unwrap().collect();
    lines.map(|cells| heads.iter().copied().zip(cells).collect()).collect()
}

#[test]
fn a_task_without_accuracy_has_a_whole_report_in_every_format() {
    let collection = regression("rmse");
    for format in FORMATS {
        for file in files(&collection, format.name) {
            assert!(!file.bytes.is_empty(), "{}: {}", format.name, file.path);
            if let Ok(text) = String::from_utf8(file.bytes) {
                assert!(!text.to_lowercase().contains("accura"), "{}: {}", format.name, file.path);
            }
        }
    }
    for path in ["rmse.svg", "loss.svg"] {
        assert!(file(&collection, "svg", path).contains("</svg>"));
    }
    let figure = file(&collection, "svg", "rmse.svg");
    assert!(figure.contains("Rmse on synthetic against virtual time") && figure.contains(">test rmse<"));
    assert!(figure.contains(">target<") && !file(&collection, "svg", "loss.svg").contains(">target<"));
    for (format, path) in [("png", "rmse.png"), ("pdf", "rmse.pdf")] {
        assert!(files(&collection, format).iter().any(|file| file.path == path), "{path}");
    }
    for format in ["html", "md", "text"] {
        let text = file(&collection, format, "");
        for said in
            ["synthetic to rmse 0.5", "Time to rmse 0.5", "rmse at the end", "Times to intermediate values"]
        {
            assert!(text.contains(said), "{format}: {said}");
        }
    }
    assert!(html(&collection, None).contains("<h2>Rmse and loss</h2>"));
    assert!(file(&collection, "latex", "table1.tex").contains("\\caption{Time to rmse 0.500}"));
}

#[test]
fn tables_for_programs_name_the_metrics() {
    let collection = regression("rmse");
    let table1 = file(&collection, "csv", "table1.csv");
    let [exact, full] = &rows(&table1)[..] else { panic!("{table1}") };
    assert_eq!((exact["scheme"], exact["rmse"], exact["reached"]), ("exact", "0.48000000000000004", "2"));
    assert_eq!((full["scheme"], full["hours_bound"], full["rmse"]), ("full", "at_least", "0.72"));
    let runs = file(&collection, "csv", "runs.csv");
    assert_eq!((rows(&runs)[0]["rmse"], rows(&runs)[0]["loss"]), ("0.48000000000000004", "0.1"));
    let curves = file(&collection, "csv", "curves.csv");
    let measures: Vec<&str> = rows(&curves).iter().map(|row| row["measure"]).collect();
    assert!(measures.contains(&"rmse") && measures.contains(&"loss"));
    let json: Value = serde_json::from_str(&file(&collection, "json", "")).unwrap();
    assert_eq!(json["groups"][0]["target"], json!({ "metric": "rmse", "at": 0.5, "mode": "min" }));
    assert_eq!(json["groups"][0]["metrics"][0]["better"], "smaller");
}

/// A metric may have the name of a column: each keeps its own values.
#[test]
fn a_metric_that_is_called_like_a_column_has_a_key_of_its_own() {
    for name in ["rounds", "hours_bound", "scheme"] {
        let collection = regression(name);
        let json: Value = serde_json::from_str(&file(&collection, "json", "")).unwrap();
        let row = &json["groups"][0]["table1"][0];
        assert_eq!((&row["scheme"], &row["rounds"]), (&json!("exact"), &json!(20.0)), "{row}");
        assert_eq!(row[format!("metric_{name}")], json!(0.48000000000000004), "{row}");
        let runs = file(&collection, "csv", "runs.csv");
        let heads: Vec<&str> = runs.lines().next().unwrap().split(',').collect();
        assert_eq!(heads.iter().filter(|head| **head == name).count(), 1, "{runs}");
    }
}

/// 0.4 + 1.6/round falls to 1.4 after 2 rounds of 2 s, and to 0.6 after 8.
#[test]
fn milestones_lie_between_the_first_value_and_the_target() {
    let collection = regression("rmse");
    let once = file(&collection, "csv", "milestones.csv");
    assert!(
        once.starts_with("scheme,hours_to_1.4,hours_to_1.2,hours_to_1.0,hours_to_0.8,hours_to_0.6\n"),
        "{once}"
    );
    let secs = |cell: &str| (cell.parse::<f64>().unwrap() * 3600.0).round();
    let [exact, full] = &rows(&once)[..] else { panic!("{once}") };
    let levels = ["1.4", "1.2", "1.0", "0.8", "0.6"].map(|level| format!("hours_to_{level}"));
    assert_eq!(levels.each_ref().map(|level| secs(exact[level.as_str()])), [4.0, 4.0, 6.0, 8.0, 16.0]);
    assert_eq!((secs(full["hours_to_0.8"]), full["hours_to_0.6"]), (24.0, ""));
}

/// Where no run came to the target, the values are those that were reached: a table of dashes says nothing.
#[test]
fn milestones_end_where_the_best_scheme_ended() {
    let of_rounds = |schemes: [(&str, u64); 2]| {
        let runs = Runs::new();
        for (scheme, rounds) in schemes {
            let end = Some(EndReason::VirtualTimeMax);
            runs.add(scheme, &Run { metric: "rmse", scheme, rounds, end, ..Run::default() });
        }
        runs.read()
    };
    // 0.4 + 1.6/round falls from 2.0 to 0.8 in four rounds.
    let collection = of_rounds([("exact", 4), ("full", 2)]);
    let once = file(&collection, "csv", "milestones.csv");
    let heads = "scheme,hours_to_1.6,hours_to_1.4,hours_to_1.2,hours_to_1.0,hours_to_0.8\n";
    assert!(once.starts_with(heads), "{once}");
    let [full, exact] = &rows(&once)[..] else { panic!("{once}") };
    assert!(exact.values().all(|cell| !cell.is_empty()), "{once}");
    assert_eq!((full["hours_to_1.4"].is_empty(), full["hours_to_1.0"]), (false, ""));
    // Four evaluations have no mean of ten, and means of twelve lie above the best evaluation.
    assert!(files(&collection, "csv").iter().all(|file| file.path != "milestones-mean.csv"));
    let collection = of_rounds([("exact", 12), ("full", 11)]);
    let [once, on_average] =
        ["milestones.csv", "milestones-mean.csv"].map(|path| file(&collection, "csv", path));
    for table in [&once, &on_average] {
        assert!(rows(table).iter().any(|row| row.values().all(|cell| !cell.is_empty())), "{table}");
    }
    assert_ne!(once.lines().next(), on_average.lines().next());
}

#[test]
fn the_name_of_a_metric_is_no_path() {
    let collection = regression("../top/5 error");
    assert!(files(&collection, "svg").iter().any(|file| file.path == "-top-5-error.svg"));
    for format in FORMATS {
        for file in files(&collection, format.name) {
            assert!(!file.path.contains(".."), "{}", file.path);
        }
    }
}

#[test]
fn ratios_are_to_the_reference_and_keep_their_bounds() {
    let runs = Runs::new();
    let cut = Some(EndReason::VirtualTimeMax);
    for (scheme, secs, end) in
        [("paper", 4.0, Some(EndReason::Target)), ("exact", 2.0, Some(EndReason::Target)), ("full", 9.0, cut)]
    {
        runs.add(scheme, &Run { scheme, secs, end, ..Run::default() });
    }
    let collection = runs.read();
    let table_to = |reference: Option<&str>| {
        let report = Report::of(&collection, &Options { title: None, reference }).unwrap();
        let of = |format: &str| {
            let mut files = Format::named(format).unwrap().files(&report).unwrap();
            let place =
                files.iter().position(|file| file.path.is_empty() || file.path.starts_with("table1."));
            String::from_utf8(files.swap_remove(place.unwrap()).bytes).unwrap()
        };
        ["csv", "md", "latex", "text", "html", "json"].map(of)
    };
    let [csv, md, latex, text, html, json] = table_to(None);
    let ratios: Vec<_> = rows(&csv)
        .iter()
        .map(|row| [row["scheme"], row["ratio_to_reference"], row["ratio_to_reference_bound"]].join(" "))
        .collect();
    assert_eq!(ratios, ["exact 0.5 exact", "paper 1.0 exact", "full 2.25 at_least"]);
    assert!(md.contains("| ratio to paper |") && md.contains("| > 4.50× | > 2.25× |"), "{md}");
    assert!(latex.contains("$>$ 4.50$\\times$ & $>$ 2.25$\\times$"), "{latex}");
    assert!(text.contains("> 2.25×") && html.contains("&gt; 2.25×"));
    assert!(
        json.contains("\"ratio_to_reference_bound\": \"at_least\"")
            && json.contains("\"reference\": \"paper\"")
    );
    // Where the reference gave up, the others take at most this multiple of its time.
    let [csv, md, ..] = table_to(Some("full"));
    let ratios: Vec<_> = rows(&csv).iter().map(|row| row["ratio_to_reference_bound"]).collect();
    assert_eq!(ratios, ["at_most", "at_most", ""]);
    assert!(md.contains("| ratio to full |") && md.contains("| \\< 0.22× |"), "{md}");
}

#[test]
fn a_reference_that_was_not_run_is_refused_with_the_nearest_one() {
    let collection = regression("rmse");
    assert!(!file(&collection, "csv", "table1.csv").contains("ratio_to_reference"), "paper was not run");
    let refused = Report::of(&collection, &Options { title: None, reference: Some("exat") }).unwrap_err();
    let ReportError::NoSuchScheme { nearest, known, .. } = refused else { panic!("{refused}") };
    assert_eq!((nearest.as_deref(), known.join(" ")), (Some("exact"), "exact full".to_owned()));
}

/// A run that looked at validation samples, and one whose devices evaluated it.
#[test]
fn test_metrics_and_estimates_are_told_in_every_format() {
    let runs = Runs::new();
    let validated = runs.add("validated", &Run::default());
    alter(&validated, "records.jsonl", "\"type\":\"end\"", "\"test\":{\"accuracy\":0.625},\"type\":\"end\"");
    let estimated = runs.add("estimated", &Run { scheme: "full", ..Run::default() });
    let records = std::fs::read_to_string(estimated.join("records.jsonl")).unwrap();
    let last = records.lines().rfind(|line| line.contains("\"accuracy\"")).unwrap();
    let sure =
        last.replacen('{', "{\"estimated\":{\"devices\":2,\"share\":0.5,\"se\":{\"accuracy\":0.03125}},", 1);
    alter(&estimated, "records.jsonl", last, &sure);
    let collection = runs.read();
    assert!(problems(&collection).is_empty(), "{:?}", problems(&collection));
    let table = file(&collection, "csv", "table1.csv");
    let found = rows(&table);
    let of = |scheme: &str| found.iter().find(|row| row["scheme"] == scheme).unwrap()["test_accuracy"];
    assert_eq!((of("exact"), of("full")), ("0.625", ""), "{table}");
    let list = file(&collection, "csv", "runs.csv");
    let errors: Vec<_> = rows(&list).iter().map(|row| row["accuracy_se"].to_owned()).collect();
    assert!(errors.contains(&"0.03125".to_owned()), "{list}");
    for format in ["md", "html", "text"] {
        let text: String = files(&collection, format)
            .iter()
            .map(|file| String::from_utf8_lossy(&file.bytes).into_owned())
            .collect();
        assert!(text.contains("on validation samples") && text.contains("estimates"), "{format}");
    }
}
