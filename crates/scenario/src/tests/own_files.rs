//! Scenarios for files of the user's own.

use std::path::Path;

use fedflip_learn::own::OwnDigests;
use fedflip_learn::task::Task;

use crate::{OwnTemplate, Preset, Scenario};

fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        std::fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// The scenario that is suggested for a file.
fn suggested(folder: &Path, train: &str, model: Option<&str>) -> Scenario {
    let train = [train.to_owned()];
    let wanted = OwnTemplate { train: &train, test: &train, model, loss: None, validation: None, folder };
    let found = Scenario::template_own(Task::by_name("own").unwrap(), Preset::default(), &wanted);
    let found = found.unwrap_or_else(|error| panic!("{error}"));
    let path = folder.join("s.toml");
    std::fs::write(&path, found.text).unwrap();
    Scenario::read(&path, &[]).unwrap_or_else(|error| panic!("{error}"))
}

/// A safetensors file of bytes.
fn bytes(shape: &[usize], x: &[u8], y: &[u8]) -> Vec<u8> {
    let (labels, end) = (x.len(), x.len() + y.len());
    let header = format!(
        "{{\"x\":{{\"dtype\":\"U8\",\"shape\":{shape:?},\"data_offsets\":[0,{labels}]}},\
         \"y\":{{\"dtype\":\"U8\",\"shape\":[{}],\"data_offsets\":[{labels},{end}]}}}}",
        y.len()
    );
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), x, y].concat()
}

#[test]
fn images_as_pytorch_has_them_have_channels_first() {
    let images = bytes(&[2, 3, 8, 8], &[7; 384], &[0, 1]);
    let folder = folder(&[("train.safetensors", &images)]);
    let found = suggested(folder.path(), "train.safetensors", None);
    let params = found.task.params();
    assert_eq!((params.choice("channels"), params.choice("model")), ("first", "cnn"));
    assert_eq!(found.data.own.mean.len(), 3);
    found.task_settings().learners(Path::new("")).map(drop).unwrap();
    // A scenario that declares nothing follows its files in the same way.
    let path = folder.path().join("bare.toml");
    std::fs::write(&path, "[task]\nname = 'own'\n[data]\ntrain = 'train.safetensors'\n").unwrap();
    let bare = Scenario::read(&path, &[]).unwrap();
    assert_eq!(bare.task.params().choice("channels"), "first");
}

#[test]
fn codes_of_symbols_are_not_normalised_and_are_counted() {
    let codes = bytes(&[2, 3], &[0, 199, 5, 6, 7, 8], &[0, 1]);
    let folder = folder(&[("train.safetensors", &codes)]);
    let found = suggested(folder.path(), "train.safetensors", Some("lstm"));
    assert!(found.data.own.mean.is_empty() && found.data.own.std.is_empty());
    assert_eq!(found.task.params().count("symbols"), 200);
}

#[test]
fn large_labels_are_a_regression() {
    let folder = folder(&[("train.csv", b"a,label\n1,2000000000\n2,4000000000\n3,1\n")]);
    let found = suggested(folder.path(), "train.csv", None);
    assert_eq!(found.task.params().choice("loss"), "squared-error");
    assert_eq!(found.stop.target.metric, "rmse");
    assert!(found.pilot.loss > 1e6);
    // The loss that a scenario declares decides.
    let path = folder.path().join("bare.toml");
    let keys = "[task]\nname = 'own'\nloss = 'squared-error'\n[data]\ntrain = 'whole.csv'\n[stop]\nat = 1\n";
    std::fs::write(folder.path().join("whole.csv"), "a,label\n1,3\n2,4\n").unwrap();
    std::fs::write(&path, keys).unwrap();
    assert_eq!(Scenario::read(&path, &[]).unwrap().task.params().count("classes"), 1);
}

#[test]
fn a_text_brings_its_alphabet_and_targets_that_can_be_reached() {
    let folder = folder(&[("train.txt", "été ".repeat(60).as_bytes())]);
    let found = suggested(folder.path(), "train.txt", None);
    assert_eq!(found.data.own.alphabet, "é t");
    assert_eq!((found.task.params().count("classes"), found.task.params().count("symbols")), (4, 4));
    assert_eq!((found.stop.target.at, found.pilot.loss), (0.4, 2.6));
    assert_eq!(Scenario::from_toml(&found.to_toml()).unwrap().data.own.alphabet, "é t");
}

#[test]
fn columns_are_declared() {
    let folder = folder(&[("train.csv", b"age,pulse,label\n1,2,0\n3,4,1\n")]);
    let found = suggested(folder.path(), "train.csv", None);
    assert_eq!(found.data.own.columns, ["age", "pulse"]);
    assert_eq!(found.task_settings().own.columns, ["age", "pulse"]);
    let twice = Scenario::from_toml("[task]\nname = 'own'\ncolumns = ['a', 'a']\n").unwrap_err().to_string();
    assert!(twice.contains("names a column twice"), "{twice}");
}

/// A run folder may be anywhere: its scenario names files by absolute paths, and its samples by digests.
#[test]
fn a_stored_scenario_finds_its_files_from_anywhere() {
    let folder = folder(&[("train.csv", b"age,pulse,label\n1,2,0\n3,4,1\n")]);
    let found = suggested(folder.path(), "train.csv", None);
    let digests = OwnDigests { train: Some("0".repeat(32)), test: None };
    let elsewhere = tempfile::tempdir().unwrap();
    let path = elsewhere.path().join("run.toml");
    std::fs::write(&path, found.with_digests(&digests).stored()).unwrap();
    let read = Scenario::read(&path, &[]).unwrap();
    assert_eq!(read.data.own.digests, digests);
    assert_eq!(read.task_settings().own.train, [folder.path().join("train.csv")]);
    read.task_settings().learners(Path::new("")).map(drop).unwrap();
    let wrong = Scenario::from_toml("[task]\nname = 'own'\n[data]\ntrain_digest = 'x'\n").unwrap_err();
    assert!(wrong.to_string().contains("is not a digest"), "{wrong}");
}

#[test]
fn generated_devices_have_the_names_of_the_data() {
    let found = Scenario::from_toml("[task]\nname = 'own'\n[fleet]\ndevices = 2\n").unwrap();
    let names = [vec!["north".to_owned()], vec!["south".to_owned()]];
    let fleet = found.named_fleet(&[3, 4], &names).unwrap();
    assert_eq!((fleet.name(0), fleet.name(1)), ("north", "south"));
    let several = [vec!["north".to_owned(), "west".to_owned()], vec!["south".to_owned()]];
    assert_ne!(found.named_fleet(&[3, 4], &several).unwrap().name(0), "north");
    assert!(found.named_fleet(&[3, 0], &names).is_err());
}

/// A scenario that says nothing of devices takes those of its files.
#[test]
fn who_holds_samples_follows_from_the_files() {
    let rows = |row: fn(usize) -> String| (0..200).map(row).collect::<String>();
    let wards = format!("a,label,device\n{}", rows(|n| format!("{n},{},ward-{}\n", n % 2, n % 5)));
    let nobody = format!("a,label\n{}", rows(|n| format!("{n},{}\n", n % 2)));
    let prices = format!("a,label\n{}", rows(|n| format!("{n},{n}.5\n")));
    let files = [("wards.csv", wards), ("nobody.csv", nobody), ("prices.csv", prices)];
    let folder = folder(&files.each_ref().map(|(name, text)| (*name, text.as_bytes())));
    let read = |file: &str, keys: &str| {
        let text = format!("[task]\nname = 'own'\n[data]\ntrain = '{file}.csv'\n{keys}\n[stop]\nat = 0.9\n");
        std::fs::write(folder.path().join("s.toml"), text).unwrap();
        let found = Scenario::read(&folder.path().join("s.toml"), &[]).unwrap();
        (found.data.sharing.name(), found.devices())
    };
    assert_eq!(read("wards", ""), ("by-device", 5));
    assert_eq!(read("wards", "[fleet]\ndevices = 2"), ("by-device", 2));
    assert_eq!(read("wards", "sharing = 'iid'\n[fleet]\ndevices = 40"), ("iid", 40));
    assert_eq!(read("wards", "concentration = 3"), ("dirichlet", 5));
    assert_eq!(read("nobody", ""), ("dirichlet", 3));
    assert_eq!(read("prices", ""), ("iid", 3));
}

#[test]
fn notes_say_what_is_probably_not_meant() {
    let prices: String = (0..150).map(|n| format!("{n},{n}\n")).collect();
    let prices = format!("a,label\n{prices}");
    let folder = folder(&[("1.csv", prices.as_bytes()), ("2.csv", prices.as_bytes())]);
    let notes = |train: &str, loss| {
        let train = [train.to_owned()];
        let files = OwnTemplate {
            train: &train,
            test: &[],
            model: None,
            loss,
            validation: Some(0.2),
            folder: folder.path(),
        };
        let task = Task::by_name("own").unwrap();
        Scenario::template_own(task, Preset::default(), &files).unwrap().notes.join("\n")
    };
    assert!(notes("1.csv", None).contains("choose the loss squared-error"), "{}", notes("1.csv", None));
    assert_eq!(notes("1.csv", Some("squared-error")), "");
    assert!(notes("?.csv", Some("squared-error")).contains("the 2 files do not name devices"));
}
