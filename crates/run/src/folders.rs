//! Whether the folder of a comparison or of a sweep is free, or holds an earlier one: files of somebody else stay as they are.

use std::path::Path;

use fedflip_record::folder::{LOCK, PILOTS, RUN};
use fedflip_record::{FolderProblem, RecordError, others};
use serde_json::Value;

/// The result of a comparison, in its folder.
pub const COMPARE: &str = "compare.json";

/// The result of all points, in the folder of a sweep.
pub const SWEEP: &str = "sweep.json";

/// The result of a comparison under several presets, in the folder above those of the presets.
pub const PRESETS: &str = "presets.json";

/// The folder of all runs in that of a comparison.
pub const RUNS: &str = "runs";

/// Refuses a folder that is neither free nor that of a comparison.
pub fn check_comparison(folder: &Path) -> Result<(), RecordError> {
    // Another shard may have made the folder of its first run a moment ago.
    let is_ours = |name: &str| [RUNS, PILOTS].contains(&name) && is_beginning(&folder.join(name));
    check(folder, (COMPARE, &["task", "schemes"]), || holds_runs(folder), is_ours)
}

/// Refuses a folder that is neither free nor that of a sweep over these points, each with a folder of its own.
pub fn check_sweep(folder: &Path, points: &[String]) -> Result<(), RecordError> {
    check_several(folder, (SWEEP, &["task", "points"]), points)
}

/// Refuses a folder that is neither free nor that of a comparison under these presets.
pub fn check_presets(folder: &Path, presets: &[String]) -> Result<(), RecordError> {
    check_several(folder, (PRESETS, &["presets"]), presets)
}

fn check_several(folder: &Path, result: (&str, &[&str]), parts: &[String]) -> Result<(), RecordError> {
    let holds_comparison =
        |part: &String| folder.join(part).join(COMPARE).exists() || holds_runs(&folder.join(part));
    // Each part is looked at below.
    let is_part = |name: &str| parts.iter().any(|part| part == name);
    check(folder, result, || parts.iter().any(holds_comparison), is_part)?;
    parts.iter().try_for_each(|part| check_comparison(&folder.join(part)))
}

/// `result` is the name of the file with the result, and keys that such a file has.
fn check(
    folder: &Path,
    (name, keys): (&str, &[&str]),
    has_begun: impl FnOnce() -> bool,
    is_ours: impl Fn(&str) -> bool,
) -> Result<(), RecordError> {
    let result = folder.join(name);
    if result.exists() && !is_result(&result, keys) {
        return Err(RecordError::folder(folder, FolderProblem::Others { found: name.to_owned() }));
    }
    if result.exists() || has_begun() {
        return Ok(());
    }
    others::refuse(folder, is_ours)
}

/// Whether a file is a result that was written by us.
fn is_result(path: &Path, keys: &[&str]) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    keys.iter().all(|key| value.get(key).is_some())
}

/// Whether the folder of a comparison has a run or a pilot, which may have been killed at its beginning.
fn holds_runs(folder: &Path) -> bool {
    let is_run = |run: &Path| [RUN, LOCK].iter().any(|name| run.join(name).exists());
    let parts = [RUNS, PILOTS].iter().filter_map(|part| std::fs::read_dir(folder.join(part)).ok());
    parts.flatten().flatten().any(|entry| is_run(&entry.path()))
}

/// Whether nothing is in a folder but empty folders, as runs have them before their first file.
fn is_beginning(folder: &Path) -> bool {
    let is_empty = |inner: &Path| std::fs::read_dir(inner).is_ok_and(|mut inside| inside.next().is_none());
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    folder.is_dir() && entries.flatten().all(|entry| is_empty(&entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn refused(checked: Result<(), RecordError>) -> String {
        checked.unwrap_err().to_string()
    }

    #[test]
    fn a_comparison_begins_in_a_free_folder_or_in_its_own() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        check_comparison(&at("new")).unwrap();
        fs::write(at(".hidden"), "").unwrap();
        check_comparison(desk.path()).unwrap();
        fs::write(at("figure.png"), "").unwrap();
        let text = refused(check_comparison(desk.path()));
        assert!(text.contains("figure.png") && text.contains(&desk.path().display().to_string()), "{text}");
        // Folders of that name that are not ours, such as those of TensorBoard.
        fs::create_dir_all(at("runs/Jan01")).unwrap();
        assert!(refused(check_comparison(desk.path())).contains("figure.png"));
        fs::create_dir_all(at("runs/full-seed1")).unwrap();
        fs::write(at("runs/full-seed1/run.toml"), "").unwrap();
        check_comparison(desk.path()).unwrap();
        fs::write(at("compare.json"), "{\"mine\": 1}").unwrap();
        assert!(refused(check_comparison(desk.path())).contains("compare.json"));
        fs::write(at("compare.json"), "{\"task\": \"synthetic\", \"schemes\": []}").unwrap();
        check_comparison(desk.path()).unwrap();
    }

    #[test]
    fn folders_that_another_shard_has_just_made_keep_nobody_out() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        let points = ["a=1".to_owned(), "a=2".to_owned()];
        fs::create_dir_all(at("a=1/.shard-0-of-2/runs/full-seed1")).unwrap();
        fs::create_dir_all(at("a=2/runs/full-seed1")).unwrap();
        fs::create_dir_all(at("a=2/pilots")).unwrap();
        check_sweep(desk.path(), &points).unwrap();
        check_comparison(&at("a=2")).unwrap();
        // Those of somebody else have files.
        fs::write(at("a=2/runs/full-seed1/events.out"), "").unwrap();
        assert!(refused(check_comparison(&at("a=2"))).contains("runs"));
        assert!(refused(check_sweep(desk.path(), &points)).contains("runs"));
        assert!(refused(check_sweep(desk.path(), &points[..1])).contains("a=2"));
    }

    #[test]
    fn a_sweep_begins_in_a_free_folder_or_in_its_own() {
        let desk = tempfile::tempdir().unwrap();
        let at = |name: &str| desk.path().join(name);
        let points = ["a=1".to_owned(), "a=2".to_owned()];
        check_sweep(desk.path(), &points).unwrap();
        fs::write(at("notes.txt"), "").unwrap();
        assert!(refused(check_sweep(desk.path(), &points)).contains("notes.txt"));
        fs::create_dir_all(at("a=2/pilots/full-seed1")).unwrap();
        fs::write(at("a=2/pilots/full-seed1/.lock"), "").unwrap();
        check_sweep(desk.path(), &points).unwrap();
        // Each point is looked at before any is compared.
        fs::create_dir_all(at("a=1")).unwrap();
        fs::write(at("a=1/data.csv"), "").unwrap();
        assert!(refused(check_sweep(desk.path(), &points)).contains("data.csv"));
        fs::remove_file(at("a=1/data.csv")).unwrap();
        fs::write(at("sweep.json"), "[1, 2]").unwrap();
        assert!(refused(check_sweep(desk.path(), &points)).contains("sweep.json"));
        fs::write(at("presets.json"), "{}").unwrap();
        assert!(refused(check_presets(desk.path(), &points)).contains("presets.json"));
    }
}
