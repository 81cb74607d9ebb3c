//! Scenarios whose participation probabilities come from a file.

use super::*;

const THREE: &str = "device,q\nhonor-70-00,0.25\nhonor-70-01,0.5\nhonor-70-02,1\n";

fn folder_with(q: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("plans")).unwrap();
    std::fs::write(folder.path().join("plans/q.csv"), q).unwrap();
    let text = "task.name = 'synthetic'\nfleet.devices = 3\nfleet.types = ['honor-70']\n\
                plan.scheme = 'file=plans/q.csv'\n";
    std::fs::write(folder.path().join("s.toml"), text).unwrap();
    folder
}

#[test]
fn a_file_starts_in_the_scenarios_folder_and_keeps_its_name() {
    let folder = folder_with(THREE);
    let scenario = Scenario::read(&folder.path().join("s.toml"), &[]).unwrap();
    assert_eq!(scenario.plan.scheme.to_string(), "file=plans/q.csv");
    let fleet = scenario.fleet(&[10, 20, 30]).unwrap();
    let given = scenario.plan.scheme.given().unwrap();
    assert_eq!(given.for_fleet(&fleet), Ok(vec![0.25, 0.5, 1.0]), "generated devices have names, too");
    assert_eq!(parse_in(folder.path(), &scenario.to_toml(), &[]).unwrap(), scenario);
    // An override replaces the scheme, and its file starts in the same folder.
    let set = |set: &str| Scenario::read(&folder.path().join("s.toml"), &[set.to_owned()]).unwrap();
    assert_eq!(set("plan.scheme=full").plan.scheme, Scheme::Full);
    assert_eq!(set("plan.scheme=file=plans/q.csv"), scenario);
}

#[test]
fn a_stored_scenario_names_the_plan_in_its_folder() {
    let folder = folder_with(THREE);
    let scenario = Scenario::read(&folder.path().join("s.toml"), &[]).unwrap();
    let stored = scenario.stored();
    assert!(stored.contains("scheme = \"file=plan.csv\""), "{stored}");
    let run = TempDir::new().unwrap();
    std::fs::write(run.path().join("run.toml"), &stored).unwrap();
    let plan = "device,q,weight\nhonor-70-00,0.25,1\nhonor-70-01,0.5,1\nhonor-70-02,1,1\n";
    std::fs::write(run.path().join("plan.csv"), plan).unwrap();
    let read = Scenario::read(&run.path().join("run.toml"), &[]).unwrap();
    assert_eq!(read.stored(), stored);
}

#[test]
fn what_is_wrong_with_a_file_is_said_at_its_key() {
    for (q, wanted) in [
        ("device,q\na,0\n", "q.csv, line 2, column q: \"0\" is out of range"),
        ("device,q\na,1\na,1\n", "q.csv, line 3, column device: \"a\" already names the device in line 2"),
        ("", "q.csv: the file is empty"),
    ] {
        let folder = folder_with(q);
        let refused = Scenario::read(&folder.path().join("s.toml"), &[]).unwrap_err().to_string();
        assert!(refused.contains("s.toml, line 4: plan.scheme: ") && refused.contains(wanted), "{refused}");
    }
    let absent = parse("task.name = 'synthetic'\nplan.scheme = 'file=nowhere.csv'", &[]).unwrap_err();
    assert!(absent.contains("s.toml, line 2: plan.scheme: nowhere.csv: cannot be opened: "), "{absent}");
    assert!(absent.contains("columns device,q"), "{absent}");
}
