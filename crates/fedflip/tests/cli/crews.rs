//! Workers elsewhere, which only the Python package has, and parts of comparisons.

use super::Desk;
use super::refusals::assert_refused;

#[test]
fn crews_need_the_python_package() {
    let desk = Desk::new();
    for crew in ["ray", "mpi", "process"] {
        let line = format!("compare --crew {crew} --workers 2 --out out");
        assert_refused(&desk, &line, b"", &["--crew", "Python package", "python -m fedflip", "--threads"]);
    }
    assert!(!desk.folder.path().join("out").exists());
}

/// Runs of other shards have not failed.
#[test]
fn a_shard_counts_its_own_runs() {
    let desk = Desk::new();
    let line = "compare --schemes full,uniform --seeds 3 --no-pilot --give-up none --reference full --quiet \
                --set preset=paper --set fleet.devices=20 --set task.hidden=8 --set stop.target_accuracy=0.4 \
                --set data.test_samples_max=200";
    let reached = |table: &str| -> Vec<String> {
        let rows =
            table.lines().filter(|line| ["  full ", "  uniform "].iter().any(|name| line.starts_with(name)));
        rows.map(|row| row[row.find(" of ").unwrap() - 1..][..11].trim_end().to_owned()).collect()
    };
    // Runs 0, 2 and 4 of six: seeds 1 and 3 of full, and seed 2 of uniform.
    let table = desk.stdout(&format!("{line} --out part --shard 0/2"));
    assert_eq!(reached(&table), ["2 of 2 here", "1 of 1 here"], "{table}");
    let part = desk.json(&format!("{line} --out part --resume --shard 0/2"));
    let scheme = &part["schemes"][0];
    assert_eq!(
        (&scheme["seeds"], &scheme["seeds_here"], &scheme["reached"]),
        (&3.into(), &2.into(), &2.into())
    );
    let table = desk.stdout(&format!("{line} --out part --resume"));
    assert!(table.contains("3 of 3") && !table.contains("here"), "{table}");
}

#[test]
fn shards_are_refused_that_do_not_exist_or_keep_nothing() {
    let desk = Desk::new();
    assert_refused(&desk, "compare --out out --shard 3/3", b"", &["--shard", "3/3", "counts from 0"]);
    assert_refused(&desk, "compare --shard 0/3", b"", &["--out"]);
    assert_refused(&desk, "run s.toml --address auto", b"", &["--crew"]);
}
