//! Folders with files that are not a run's.

use std::fs;

use super::Desk;
use super::refusals::assert_refused;
use super::training::{desk, file};

/// Runs, comparisons and sweeps neither replace files of somebody else nor spread among them.
#[test]
fn a_folder_with_other_files_is_refused_and_stays_as_it_is() {
    let desk = desk();
    let run = "run s.toml --set stop.rounds_max=3 --quiet";
    let compare = "compare s.toml --schemes full --seeds 1 --set stop.rounds_max=3 --quiet";
    let sweep = "sweep s.toml --over fleet.bandwidth_mbps=10,20 --schemes full --seeds 1 --set stop.rounds_max=3 --quiet";
    fs::create_dir(desk.folder.path().join("mine")).unwrap();
    for (line, name) in [
        (run, "fleet.csv"),
        (run, "model.safetensors"),
        (run, "photo.jpg"),
        (compare, "compare.json"),
        ("compare --presets paper,tuned --schemes full --seeds 1 --quiet", "presets.json"),
        (sweep, "sweep.json"),
    ] {
        let path = format!("mine/{name}");
        desk.write(&path, "mine");
        for resume in ["", " --resume"] {
            let words = [name, "mine: is neither empty nor a run folder", "an empty or a new --out"];
            assert_refused(&desk, &format!("{line} --out mine{resume}"), b"", &words);
        }
        assert_eq!(file_names(&desk, "mine"), [name]);
        assert_eq!(file(&desk, &path), b"mine");
        fs::remove_file(desk.folder.path().join(path)).unwrap();
    }
    // A scenario and something hidden may be there.
    desk.write("mine/s.toml", file(&desk, "s.toml"));
    desk.write("mine/.gitignore", "*");
    desk.stdout(&format!("{} --out mine", run.replace("s.toml", "mine/s.toml")));
    // A comparison of other schemes continues in the folder of an earlier one, beside its report.
    desk.stdout(&format!("{compare} --out both"));
    desk.write("both/report.html", "mine");
    desk.stdout(&format!("{} --out both", compare.replace("full", "uniform")));
    // One that has a run already is refused before another one is trained.
    let more = compare.replace("full", "weighted,full");
    assert_refused(
        &desk,
        &format!("{more} --out both"),
        b"",
        &["both/runs/full-seed1: already holds a run", "--resume"],
    );
    assert!(!desk.folder.path().join("both/runs/weighted-seed1").exists());
    desk.stdout(&format!("{sweep} --out swept"));
    desk.write("swept/report.html", "mine");
    desk.stdout(&format!("{sweep} --out swept --resume"));
}

fn file_names(desk: &Desk, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(desk.folder.path().join(folder)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}
