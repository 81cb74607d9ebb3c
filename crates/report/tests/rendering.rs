//! Pages and figures: whole, safe, small, and the same each time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod rendered;

use std::fs;

use common::{Run, Runs};
use fedflip_report::{Collection, FORMATS, OutputFile};
use rendered::{files, html};

/// Something of every kind.
fn varied() -> Runs {
    let runs = Runs::new();
    for scheme in ["exact", "full", "fixed=0.2"] {
        for seed in 1..=2 {
            runs.add(&format!("runs/{scheme}-seed{seed}"), &Run { scheme, seed, ..Run::default() });
        }
    }
    runs
}

/// Elements that are opened and closed as they should be: enough to see that nothing broke out of its place.
fn check_markup(text: &str) {
    const VOID: &[&str] = &["meta", "br", "!DOCTYPE", "?xml"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let end = start + rest[start..].find('>').expect("a tag that ends");
        let tag = &rest[start + 1..end];
        rest = &rest[end + 1..];
        let name: String =
            tag.trim_start_matches('/').chars().take_while(|c| !c.is_whitespace() && *c != '/').collect();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name.as_str()), "closed out of order");
        } else if !tag.ends_with('/') && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
            if name == "script" || name == "style" {
                rest = &rest[rest.find(&format!("</{name}>")).expect("an end")..];
            }
        }
    }
    assert_eq!(open, Vec::<String>::new());
}

#[test]
fn a_page_is_whole_and_asks_for_nothing() {
    let html = html(&varied().read(), None);
    check_markup(&html);
    for outside in ["src=", "@import", "url(http", "<link", "href=\"http"] {
        assert!(!html.contains(outside), "{outside}");
    }
    for (id, what) in [
        ("table-0", "Time to 90 %"),
        ("curves-0", "<clipPath"),
        ("participation-0", "phone-0"),
        ("round-0", "did not report"),
    ] {
        assert!(html.contains(&format!("id=\"{id}\"")) && html.contains(what), "{id} {what}");
    }
}

#[test]
fn equal_records_give_equal_bytes() {
    let runs = varied();
    let read = || Collection::read(&[runs.path().to_owned()], None, None).unwrap();
    for format in FORMATS.iter().map(|format| format.name) {
        assert_eq!(files(&read(), format), files(&read(), format), "{format:?}");
    }
}

#[test]
fn names_in_records_are_never_markup_nor_paths() {
    let evil = "</script><script>alert(1)</script>\"'../../../evil";
    let runs = Runs::new();
    let folder = runs.add("run", &Run { scheme: evil, ..Run::default() });
    let fleet = fs::read_to_string(folder.join("fleet.csv")).unwrap();
    fs::write(folder.join("fleet.csv"), fleet.replace("phone-0", "<img onerror=x>")).unwrap();
    let collection = Collection::read(&[runs.path().to_owned()], None, None).unwrap();
    let html = html(&collection, Some("<b>title</b>"));
    check_markup(&html);
    assert!(!html.contains("<script>alert") && !html.contains("<img"));
    for OutputFile { path, bytes } in files(&collection, "svg") {
        let plain = |part| matches!(part, std::path::Component::Normal(_));
        assert!(std::path::Path::new(&path).components().all(plain), "{path}");
        check_markup(&String::from_utf8(bytes).unwrap());
    }
}

#[test]
fn figures_are_drawn_with_letters_of_our_own() {
    let collection = varied().read();
    let files = files(&collection, "png");
    let accuracy = files.iter().find(|file| file.path == "accuracy.png").unwrap();
    assert!(accuracy.bytes.starts_with(b"\x89PNG"));
    // Three pixels for each of the drawing: 440 × 340.
    let size = |from: usize| u32::from_be_bytes(accuracy.bytes[from..from + 4].try_into().unwrap());
    assert_eq!((size(16), size(20)), (1320, 1020));
    // Without its font the same figure would be a good deal smaller.
    assert!(accuracy.bytes.len() > 30_000, "{}", accuracy.bytes.len());
}

#[test]
fn a_chosen_round_is_shown_first() {
    let runs = varied();
    let collection = Collection::read(&[runs.path().to_owned()], Some(5), None).unwrap();
    let names: Vec<String> = files(&collection, "svg").into_iter().map(|file| file.path).collect();
    assert!(names.contains(&"timeline-exact-round-5.svg".to_owned()), "{names:?}");
}

/// The promise: 8 schemes × 5 seeds × 5,000 rounds stay under 3 MB. How fast is measured by `cargo xtask speed`.
#[test]
fn a_large_comparison_stays_small() {
    let runs = Runs::new();
    for scheme in ["exact", "paper", "tight", "sampled", "weighted", "uniform", "fixed=0.2", "full"] {
        for seed in 1..=5 {
            runs.add(&format!("{scheme}-{seed}"), &Run { scheme, seed, rounds: 5_000, ..Run::default() });
        }
    }
    let html = html(&runs.read(), None);
    assert!(html.len() < 1_000_000, "{} bytes", html.len());
}

/// Whatever a foreign run holds, no format has anything that a terminal obeys or a spreadsheet computes.
#[test]
fn foreign_runs_reach_no_terminal_and_no_spreadsheet_as_commands() {
    let runs = Runs::new();
    let escape = "\u{1b}]0;owned\u{7}\u{9b}2J";
    let scheme = format!("=cmd|'{escape}'!A1<script>[x](http://x)");
    let run = Run { scheme: &scheme, ..Run::default() };
    let folder = runs.add(&format!("=1+1{escape}"), &run);
    let scenario = "seed = 1\n[plan]\nscheme = \"=a\\u001b[31m\"\n\"x\\u001b[2J\" = \"+1\\u0007\"\n";
    fs::write(folder.join("run.toml"), scenario).unwrap();
    // A second one of which a line is no record, and quotes what it found.
    let broken = runs.add(&format!("b{escape}"), &Run::default());
    let records = fs::read_to_string(broken.join("records.jsonl")).unwrap();
    let foreign = "{\"type\":\"\\u001b[31mred\"}\n";
    let first = records.lines().next().unwrap();
    fs::write(broken.join("records.jsonl"), format!("{first}\n{foreign}")).unwrap();

    let collection = runs.read();
    let problems: Vec<String> = collection.problems.iter().map(ToString::to_string).collect();
    assert!(problems.iter().any(|problem| problem.contains("not a record")), "{problems:?}");
    let obeyed = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    assert!(!problems.iter().any(|problem| obeyed(problem) || problem.contains('\n')), "{problems:?}");
    for format in ["html", "md", "text", "latex", "json", "csv", "svg"] {
        for OutputFile { path, bytes } in files(&collection, format) {
            let text = String::from_utf8(bytes).unwrap();
            assert!(!obeyed(&text) && !obeyed(&path), "{format:?} {path}: {text:?}");
            let is_formula = |cell: &str| cell.trim_matches('"').starts_with(['=', '+', '@']);
            if format == "csv" {
                assert!(!text.split([',', '\n']).any(is_formula), "{path}: {text}");
            }
            if format == "html" || format == "svg" {
                assert!(!text.contains("A1<script>"), "{path}");
            }
            if format == "md" {
                assert!(!text.contains("A1<script>") && !text.contains("](http"), "{text}");
            }
        }
    }
}

#[test]
fn a_biased_sum_is_said_to_be_one() {
    let runs = Runs::new();
    let folder = runs.add("a", &Run::default());
    let said = |runs: &Runs| {
        let of = |format| String::from_utf8(files(&runs.read(), format).remove(0).bytes).unwrap();
        [of("md"), of("html")].map(|text| text.contains("Aggregation: trimmed (biased)"))
    };
    assert_eq!(said(&runs), [false; 2]);
    let scenario =
        fs::read_to_string(folder.join("run.toml")).unwrap() + "[round]\naggregation = \"trimmed\"\n";
    fs::write(folder.join("run.toml"), scenario).unwrap();
    assert_eq!(said(&runs), [true; 2]);
}
