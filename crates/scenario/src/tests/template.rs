//! The commented file that `fedflip scenario new` prints.

use fedflip_learn::task::Task;
use tempfile::TempDir;

use super::parse_in;
use crate::{Preset, Scenario};

/// What is commented out in a new scenario is right, too, once the comment sign is gone.
#[test]
fn commented_lines_are_ready_to_use() {
    let template = Scenario::template("mnist-cnn".parse().unwrap(), Preset::Tuned).unwrap();
    let folder = TempDir::new().unwrap();
    let csv = "device,compute_secs,comm_secs,samples\na,1,2,30\n";
    std::fs::write(folder.path().join("fleet.csv"), csv).unwrap();
    let params = Task::by_name("mnist-cnn").unwrap().network().unwrap().params();
    let zeros = vec![0.0; params.iter().map(|(_, spec)| spec.len()).sum()];
    let model = fedflip_learn::model_file::write(&params, &zeros).unwrap();
    std::fs::write(folder.path().join("init.safetensors"), model).unwrap();
    let mut commented = 0;
    for line in template.lines().filter_map(|line| line.strip_prefix("# ")) {
        let (key, _) = line.split_once(" = ").unwrap_or_default();
        if !key.is_empty() && !key.contains(' ') {
            commented += 1;
            let mut set = template.replace(&format!("# {line}"), line);
            if key == "epochs" {
                set = set.replace("\niterations = ", "\n# iterations = ");
            }
            parse_in(folder.path(), &set, &[]).unwrap();
        }
    }
    assert_eq!(commented, 22);
}

#[test]
fn every_key_of_server_update_and_plan_with_a_default_is_printed() {
    let template = Scenario::template("synthetic".parse().unwrap(), Preset::Paper).unwrap();
    let has_default = |key: &&crate::keys::Key| !matches!(key.shown, crate::keys::Shown::Example(_));
    let keys = crate::keys::all().filter(|key| ["server", "update", "plan"].contains(&key.section));
    for key in keys.filter(has_default) {
        assert!(template.lines().any(|line| line.starts_with(&format!("{} = ", key.name))), "{}", key.path());
    }
}
