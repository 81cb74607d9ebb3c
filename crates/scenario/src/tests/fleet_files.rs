//! Scenarios whose devices come from a file.

use super::*;

/// A scenario in a folder with a fleet of three.
fn with_fleet_file() -> (TempDir, Scenario) {
    let folder = TempDir::new().unwrap();
    let csv =
        "device,compute_secs,comm_secs,samples,availability\na,1,2,30,1\nb,2,2,10,0.5\n\"c,d\",3,1,5,1\n";
    std::fs::create_dir(folder.path().join("fleets")).unwrap();
    std::fs::write(folder.path().join("fleets/three \"3\".csv"), csv).unwrap();
    let text = "task.name = 'synthetic'\nfleet.file = 'fleets/three \"3\".csv'\n";
    std::fs::write(folder.path().join("s.toml"), text).unwrap();
    let scenario = Scenario::read(&folder.path().join("s.toml"), &[]).unwrap();
    (folder, scenario)
}

#[test]
fn a_fleet_file_brings_its_devices_and_the_data_their_samples() {
    let (_folder, scenario) = with_fleet_file();
    assert_eq!((scenario.devices(), scenario.task_settings().devices), (3, 3));
    let fleet = scenario.fleet(&[1, 2, 5]).unwrap();
    assert_eq!((fleet.samples(), fleet.weights()), (&[1.0, 2.0, 5.0][..], &[0.125, 0.25, 0.625][..]));
    assert_eq!((fleet.compute_secs(), fleet.availability()), (&[1.0, 2.0, 3.0][..], &[1.0, 0.5, 1.0][..]));
    assert!(scenario.fleet(&[1, 2]).unwrap_err().to_string().contains("3 devices"));
    assert!(scenario.fleet(&[1, 0, 2]).unwrap_err().to_string().contains("device 1 holds no samples"));
}

#[test]
fn made_up_fleets_hold_the_datas_samples() {
    let scenario = of("synthetic", &["fleet.devices=7", "fleet.types=['honor-70', 'teclast-m40']"]);
    let counts = [50, 60, 70, 80, 90, 100, 110];
    let fleet = scenario.fleet(&counts).unwrap();
    assert_eq!(fleet.samples(), counts.map(|count| count as f64));
    assert_eq!((fleet.name(3), fleet.name(4)), ("honor-70-03", "teclast-m40-00"));
    assert!(scenario.fleet(&counts[..6]).is_err());
}

#[test]
fn a_stored_scenario_is_whole_wherever_its_folder_is() {
    let (folder, scenario) = with_fleet_file();
    let beside = parse_in(folder.path(), &scenario.to_toml(), &[]).unwrap();
    assert_eq!(beside, scenario, "quotes in a name are escaped");
    let run = TempDir::new().unwrap();
    std::fs::write(run.path().join("run.toml"), scenario.stored()).unwrap();
    // A run's copy has the samples of the data.
    let mut csv = Vec::new();
    csv_file::write(&scenario.fleet(&[1, 2, 3]).unwrap(), &mut csv).unwrap();
    std::fs::write(run.path().join(fedflip_record::folder::FLEET), csv).unwrap();
    let read = Scenario::read(&run.path().join("run.toml"), &[]).unwrap();
    assert_eq!(read.stored(), scenario.stored());
    assert_eq!(read.fleet(&[1, 2, 3]).unwrap(), scenario.fleet(&[1, 2, 3]).unwrap());

    let made_up = of("synthetic", &[]);
    assert_eq!(made_up.stored(), made_up.to_toml());
}

#[test]
fn a_file_and_what_it_replaces_do_not_stand_together() {
    let (folder, scenario) = with_fleet_file();
    let read = |text: &str, set: &str| {
        parse_in(folder.path(), text, &[set.to_owned()]).map_err(|error| error.to_string())
    };
    let file = "fleet.file='fleets/three \"3\".csv'";
    let made_up = "task.name = 'synthetic'\nfleet.devices = 9\nfleet.work_gflop = 2\n";
    assert_eq!(read(made_up, file).unwrap(), scenario, "--set takes back what it replaces");
    let back = read(&scenario.to_toml(), "fleet.devices=100").unwrap();
    assert_eq!(back, of("synthetic", &["update.encoding=f32"]));
    let both = read(&format!("{made_up}{file}"), "seed=1").unwrap_err();
    assert_eq!(both, "s.toml, line 2: fleet.devices is given together with fleet.file");
    let cut = read("task.name = 'synthetic'\nfleet.file = 's.toml'", "seed=1").unwrap_err();
    assert!(cut.starts_with("s.toml, line 2: fleet.file: "), "{cut}");
}
