//! Devices that work without rounds: `fedbuff=K` in runs, comparisons, sweeps and reports.

use serde_json::Value;

use super::training::{QUICK, desk, file, results};

/// The world does all it can, and the run is interrupted with other numbers of workers: not a byte changes.
#[test]
fn steps_without_rounds_are_run_and_resumed() {
    let desk = desk();
    let adverse = "--set world.fading_db=2 --set round.overhead_secs=0.1 --set round.downlink=unicast \
                   --set server.optimiser=adam --set update.encoding=int8 --set record.checkpoint_secs=0";
    let line = format!("run s.toml {QUICK} --scheme fedbuff=3 {adverse} --set round.concurrency=8");
    desk.stdout(&format!("{line} --out whole --threads 1"));
    for steps in [1, 17, 63] {
        let parts = format!("parts-{steps}");
        desk.stdout(&format!("{line} --out {parts} --threads 2 --set stop.rounds_max={steps}"));
        desk.stdout(&format!("{line} --out {parts} --threads 3 --resume"));
        assert_eq!(results(&desk, &parts), results(&desk, "whole"), "{steps}");
    }
    let records = String::from_utf8(file(&desk, "whole/records.jsonl")).unwrap();
    let lines = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let steps: Vec<Value> = lines.filter(|line| line["type"] == "round").collect();
    assert_eq!(steps.len(), 120);
    let count = |step: &Value, key: &str| step[key].as_array().map_or(0, Vec::len);
    for step in &steps {
        assert_eq!(count(step, "cohort"), 3 + count(step, "lost"), "{step}");
        assert_eq!(count(step, "lags"), count(step, "cohort"));
        assert_eq!(count(step, "upload_secs"), count(step, "cohort"));
    }
    assert!(steps.iter().any(|step| count(step, "lost") > 0));
    let lags =
        steps.iter().flat_map(|step| step["lags"].as_array().unwrap().iter().filter_map(Value::as_u64));
    assert!(lags.clone().any(|lag| lag == 0) && lags.clone().any(|lag| lag > 2));
}

#[test]
fn steps_without_rounds_are_compared_swept_and_reported() {
    let desk = desk();
    let rest = format!("{QUICK} --set stop.rounds_max=30 --seeds 1 --no-pilot");
    let schemes = "--schemes fedbuff=3,fedavg=3 --reference fedavg=3";
    let table = desk.stdout(&format!("compare s.toml {rest} {schemes} --out compared"));
    assert!(table.contains("the sums of fedbuff=3, fedavg=3 are biased"), "{table}");
    desk.stdout("report compared --format md --out compared.md");
    let report = String::from_utf8(file(&desk, "compared.md")).unwrap();
    assert!(report.contains("fedbuff=3"), "{report}");
    // There is no q to compare with, and no round in which everybody begins at the same time.
    desk.stdout("report compared --format svg --out figures");
    let figures: Vec<String> = std::fs::read_dir(desk.folder.path().join("figures"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    let drawn = |start: &str, scheme: &str| {
        figures.iter().any(|name| name.starts_with(start) && name.contains(scheme))
    };
    for start in ["participation", "timeline"] {
        assert!(drawn(start, "fedavg") && !drawn(start, "fedbuff"), "{figures:?}");
    }
    assert!(drawn("round-times", "fedbuff"), "{figures:?}");
    let over = "--over round.concurrency=3,9";
    let swept = desk
        .stdout(&format!("sweep s.toml {rest} --schemes fedbuff=3 --reference fedbuff=3 {over} --out swept"));
    assert!(swept.contains("fedbuff=3"), "{swept}");
    desk.stdout("export compared/runs/fedbuff=3-seed5 --format csv --out exported");
}

#[test]
fn what_only_rounds_can_have_is_refused() {
    let desk = desk();
    let run = format!("run s.toml {QUICK} --set stop.rounds_max=5");
    desk.stdout(&format!("{run} --scheme fedbuff=3 --out done"));
    for (line, wanted) in [
        (format!("{run} --scheme fedbuff=0"), "a number of devices, such as 10"),
        (format!("{run} --scheme fedbuff=21"), "waits for as many different devices, and the fleet has 20"),
        (format!("{run} --scheme fedbuff=3 --set round.concurrency=0"), "round.concurrency"),
        (format!("{run} --scheme fedbuff=3 --set round.concurrency=21"), "from 1 to 20"),
        (
            format!("{run} --scheme fedbuff=3 --set round.deadline_secs=9"),
            "round.deadline_secs: fedbuff=3 has no rounds",
        ),
        (format!("{run} --scheme fedbuff=3 --set round.aggregation=cohort-mean"), "use another aggregation"),
        ("plan fleet.csv --bandwidth 100 --scheme fedbuff=3".to_owned(), "there is no q to choose"),
        ("retime done --bandwidth 10 --out other".to_owned(), "devices work without rounds"),
        (
            "serve s.toml --insecure --listen 127.0.0.1:0 --scheme fedbuff=3 --out served".to_owned(),
            "works in rounds",
        ),
    ] {
        let refused = desk.run(&line);
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(wanted), "{line}: {said}");
    }
}
