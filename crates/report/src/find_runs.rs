//! Which folders hold runs.

use std::fs;
use std::path::{Path, PathBuf};

use fedflip_record::folder::RECORDS;

use crate::problem;

/// How deep below a named folder runs may lie: sweep, point, `runs`, run, and room for the user's own order.
const DEPTH_MAX: usize = 8;
/// More runs than anybody looks at in one page.
pub(crate) const RUNS_MAX: usize = 10_000;

/// Where a run on real devices keeps its pilots.
const PILOTS: &str = "pilots";

/// All folders with records, at or below the named ones, each once, in the order of their names.
pub(crate) fn run_folders(named: &[PathBuf], problems: &mut Vec<String>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in named {
        let before = found.len();
        if !folder.is_dir() {
            let what = if folder.exists() { "is not a folder" } else { "does not exist" };
            problems.push(problem::about(folder, what));
            continue;
        }
        walk(folder, 0, &mut found, problems);
        if found.len() == before {
            problems.push(problem::about(folder, "holds no run, not even in a folder below"));
        }
    }
    // One that was named twice, or is below another, is one run.
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|folder| seen.insert(fs::canonicalize(folder).unwrap_or_else(|_| folder.clone())));
    if found.len() > RUNS_MAX {
        let more = found.len() - RUNS_MAX;
        problems.push(problem::about(&found[RUNS_MAX], &format!("left out, with {} more runs", more - 1)));
        found.truncate(RUNS_MAX);
    }
    found
}

fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>, problems: &mut Vec<String>) {
    if folder.join(RECORDS).is_file() {
        found.push(folder.to_owned());
        // A run on real devices has its own pilots within.
        let pilots = folder.join(PILOTS);
        if pilots.is_dir() && depth < DEPTH_MAX {
            walk(&pilots, depth + 1, found, problems);
        }
        return;
    }
    if depth == DEPTH_MAX || found.len() > RUNS_MAX {
        return;
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            problems.push(problem::about(folder, &format!("cannot be read: {error}")));
            return;
        }
    };
    // Links are not followed: they may lead in circles.
    let mut below: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .collect();
    below.sort_unstable();
    for path in below {
        walk(&path, depth + 1, found, problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_below_and_counted_once() {
        let root = tempfile::tempdir().unwrap();
        for run in ["c/runs/b", "c/runs/a", "c/.hidden/x", "alone"] {
            fs::create_dir_all(root.path().join(run)).unwrap();
            fs::write(root.path().join(run).join(RECORDS), "").unwrap();
        }
        fs::create_dir_all(root.path().join("nothing/in/it")).unwrap();
        let mut problems = Vec::new();
        let named = ["c", "c/runs/a", "alone", "nothing", "gone"].map(|name| root.path().join(name));
        let found = run_folders(&named, &mut problems);
        let expected = ["c/runs/a", "c/runs/b", "alone"].map(|name| root.path().join(name));
        assert_eq!(found, expected);
        let sentences: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(sentences[0].ends_with("nothing: holds no run, not even in a folder below"), "{sentences:?}");
        assert!(sentences[1].ends_with("gone: does not exist"), "{sentences:?}");
    }
}
