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

#[test]
fn shards_are_refused_that_do_not_exist_or_keep_nothing() {
    let desk = Desk::new();
    assert_refused(&desk, "compare --out out --shard 3/3", b"", &["--shard", "3/3", "counts from 0"]);
    assert_refused(&desk, "compare --shard 0/3", b"", &["--out"]);
    assert_refused(&desk, "run s.toml --address auto", b"", &["--crew"]);
}
