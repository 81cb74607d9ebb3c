//! Scenarios that say what devices weigh.

use super::*;

const THREE: &str = "device,weight\nhonor-70-02,6\nhonor-70-00,3\nhonor-70-01,1\n";

fn folder_with(weights: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("w.csv"), weights).unwrap();
    let text = "task.name = 'synthetic'\nfleet.devices = 3\nfleet.types = ['honor-70']\n\
                data.weights = 'w.csv'\n";
    std::fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

fn read(folder: &TempDir, set: &[&str]) -> Result<Scenario, String> {
    let set: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
    Scenario::read(&folder.path().join("s.toml"), &set).map_err(|error| error.to_string())
}

#[test]
fn weights_are_samples_or_equal_or_those_of_a_file() {
    let folder = folder_with(THREE);
    for (set, wanted) in [
        (&["data.weights=samples"][..], [0.2, 0.3, 0.5]),
        (&["data.weights=equal"], [1.0 / 3.0; 3]),
        (&[], [0.3, 0.1, 0.6]),
    ] {
        let scenario = read(&folder, set).unwrap();
        assert_eq!(scenario.fleet(&[20, 30, 50]).unwrap().weights(), wanted, "{set:?}");
        assert_eq!(parse_in(folder.path(), &scenario.to_toml(), &[]).unwrap(), scenario);
    }
}

#[test]
fn a_stored_scenario_names_the_weights_in_its_folder() {
    let scenario = read(&folder_with(THREE), &[]).unwrap();
    let stored = scenario.stored();
    assert!(stored.contains("weights = \"weights.csv\""), "{stored}");
    let run = TempDir::new().unwrap();
    std::fs::write(run.path().join("s.toml"), &stored).unwrap();
    std::fs::write(run.path().join("weights.csv"), &scenario.data.weights.given().unwrap().text).unwrap();
    let again = read(&run, &[]).unwrap();
    assert_eq!(again.stored(), stored);
    assert_eq!(again.fleet(&[1, 1, 1]), scenario.fleet(&[1, 1, 1]));
}

#[test]
fn what_is_wrong_with_a_file_is_said_at_its_key() {
    for (weights, wanted) in [
        ("device,weight\na,0\n", "w.csv, line 2, column weight: \"0\" is out of range"),
        (
            "device,weight\na,1\na,1\n",
            "w.csv, line 3, column device: \"a\" already names the device in line 2",
        ),
        ("", "w.csv: the file is empty"),
    ] {
        let refused = read(&folder_with(weights), &[]).unwrap_err();
        assert!(refused.contains("s.toml, line 4: data.weights: ") && refused.contains(wanted), "{refused}");
    }
    let absent = read(&folder_with(THREE), &["data.weights=sample"]).unwrap_err();
    assert!(absent.contains("data.weights") && absent.contains("sample cannot be read"), "{absent}");
    let two = "device,weight\nhonor-70-00,1\nhonor-70-01,1\n";
    let missing = read(&folder_with(two), &[]).unwrap().fleet(&[1, 1, 1]).unwrap_err().to_string();
    assert!(missing.ends_with("w.csv: there is no weight for the device \"honor-70-02\""), "{missing}");
}
