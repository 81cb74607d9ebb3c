//! What every format must say: which numbers are bounds, and which settings runs do not share.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod altered;
mod common;
mod rendered;

use altered::{alter, problems};
use common::{Run, Runs};
use fedflip_record::EndReason;
use fedflip_report::sections::configuration;
use fedflip_report::{Collection, FORMATS};
use proptest::prelude::*;
use rendered::{files, html};

/// All text of a format; what is drawn is read as SVG, from which the other drawings are made.
fn text_of(collection: &Collection, format: &str) -> String {
    if format == "html" {
        return html(collection, None);
    }
    let drawn = ["png", "pdf"].contains(&format);
    let files = files(collection, if drawn { "svg" } else { format });
    files.into_iter().map(|file| String::from_utf8(file.bytes).unwrap() + "\n").collect()
}

/// Two bandwidths; `full` ends before the target at both, where `cut` says so.
fn compared(secs: f64, cut: bool) -> Collection {
    let runs = Runs::new();
    for band in [100.0, 200.0] {
        runs.add(&format!("{band}/exact"), &Run { bandwidth_mbps: band, ..Run::default() });
        let end = Some(if cut { EndReason::VirtualTimeMax } else { EndReason::Target });
        let full = Run { scheme: "full", secs, bandwidth_mbps: band, end, ..Run::default() };
        runs.add(&format!("{band}/full"), &full);
    }
    runs.read()
}

/// What a format writes in front of, or beside, a lower bound.
fn marks(format: &str) -> &'static [&'static str] {
    match format {
        "html" => &["</svg>full</td><td class=\"n\" data-value=", ">&gt; ", "&gt; "],
        "svg" | "pdf" | "png" => &[": &gt; "],
        "md" => &["| full | > ", "| > "],
        "text" => &["> "],
        "latex" => &["full & $>$ ", "& $>$ "],
        "csv" => &["hours_bound", "at_least"],
        "json" => &["\"hours_bound\": \"at_least\"", "\"speed_up_bound\": \"at_least\""],
        other => panic!("{other}: how does this format mark a lower bound?"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_lower_bound_is_one_in_every_format(secs in 2.5..5_000.0_f64) {
        let (cut, whole) = (compared(secs, true), compared(secs, false));
        for format in FORMATS {
            let (bounded, exact) = (text_of(&cut, format.name), text_of(&whole, format.name));
            for mark in marks(format.name) {
                prop_assert!(bounded.contains(mark), "{}: {mark}\n{bounded}", format.name);
            }
            let last = marks(format.name).last().unwrap();
            // The note below a table explains the sign, in quotation marks.
            let exact = exact.replace("“>”", "").replace("“&gt;”", "").replace("``$>$''", "");
            prop_assert!(!exact.contains(last), "{}: {last}\n{exact}", format.name);
        }
    }
}

#[test]
fn bounds_stand_beside_their_values_in_formats_for_programs() {
    let collection = compared(6.0, true);
    let json: serde_json::Value = serde_json::from_str(&text_of(&collection, "json")).unwrap();
    let rows = json["sweep"].as_array().unwrap();
    let of = |scheme: &str| rows.iter().find(|row| row["scheme"] == scheme).unwrap();
    assert_eq!(
        (of("full")["hours_bound"].as_str(), of("exact")["hours_bound"].as_str()),
        (Some("at_least"), Some("exact"))
    );
    assert_eq!(of("exact")["speed_up_bound"], "at_least");
    assert!(of("full")["speed_up"].is_null() && of("full")["speed_up_bound"].is_null());
    assert_eq!(json["sweep_reference"], "full");
    let csv = files(&collection, "csv").into_iter().find(|file| file.path == "sweep.csv").unwrap();
    let csv = String::from_utf8(csv.bytes).unwrap();
    let heads = "fleet.bandwidth_mbps,scheme,hours,hours_bound,speed_up,speed_up_bound,speed_up_std";
    assert!(csv.starts_with(heads), "{csv}");
    assert!(csv.contains(",full,0.03333333333333333,at_least,,,"), "{csv}");
}

/// A pilot that ended before its loss took more rounds than were counted.
#[test]
fn a_pilot_that_did_not_arrive_is_a_lower_bound() {
    let runs = Runs::new();
    runs.add("runs/exact", &Run::default());
    let end = Some(EndReason::RoundsMax);
    runs.add("pilots/full", &Run { scheme: "full", end, target_loss: Some(0.5), ..Run::default() });
    let json: serde_json::Value = serde_json::from_str(&text_of(&runs.read(), "json")).unwrap();
    assert_eq!(json["groups"][0]["pilots"][0]["rounds_bound"], "at_least");
}

#[test]
fn a_setting_that_some_runs_have_is_not_shown_as_that_of_all() {
    let runs = Runs::new();
    runs.add("runs/exact", &Run::default());
    let capped = runs.add("runs/full", &Run { scheme: "full", ..Run::default() });
    alter(&capped, "run.toml", "[stop]", "[stop]\nrounds_max = 17");
    let collection = runs.read();
    assert_eq!(problems(&collection), Vec::<String>::new());
    let table = configuration::table(&collection.groups[0]).unwrap();
    let row = |key: &str| -> [String; 2] {
        let row = table.rows.iter().find(|row| row[0].text == key).unwrap();
        [row[1].text.clone(), row[2].text.clone()]
    };
    assert_eq!(row("stop.rounds_max"), ["not set | 17", "no"]);
    assert_eq!(row("plan.scheme"), ["exact | full", "no"]);
    assert_eq!(row("fleet.bandwidth_mbps"), ["100", "yes"]);
    for format in ["html", "md", "text", "latex", "csv", "json"] {
        let text = text_of(&collection, format);
        let line = text.lines().find(|line| line.contains("not set")).unwrap_or_else(|| panic!("{format}"));
        assert!(line.contains("17"), "{format}: {line}");
    }
}

/// Nothing of a date, a machine or a random name is in a PDF, and readers find every object.
#[test]
fn a_pdf_is_whole() {
    for file in files(&compared(6.0, true), "pdf") {
        assert!(file.bytes.starts_with(b"%PDF-1.7") && file.bytes.ends_with(b"%%EOF\n"), "{}", file.path);
        let text = String::from_utf8_lossy(&file.bytes);
        assert!(!text.contains("CreationDate") && !text.contains("/ID"), "{}", file.path);
        let start = text.rsplit("startxref\n").next().unwrap().lines().next().unwrap();
        let start: usize = start.parse().unwrap();
        let table = std::str::from_utf8(&file.bytes[start..]).unwrap();
        for (number, line) in (1..).zip(table.lines().skip(3).take(4)) {
            let offset: usize = line[..10].parse().unwrap();
            assert!(file.bytes[offset..].starts_with(format!("{number} 0 obj").as_bytes()), "{}", file.path);
        }
    }
}
