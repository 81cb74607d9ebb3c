//! Runs on real devices, beside simulated ones.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod rendered;

use common::{Run, Runs};
use fedflip_record::{ConstantsSource, Deployed, Replan, UsedConstants};
use fedflip_report::Collection;
use fedflip_report::explain::Explained;
use fedflip_report::sections::{deployed, run_list};
use rendered::{files, html};

fn measured(alpha: f64, beta: f64) -> Option<Deployed> {
    Some(Deployed { constants: Some(UsedConstants { alpha, beta, source: ConstantsSource::Pilots }) })
}

fn text_of(collection: &Collection, format: &str) -> String {
    files(collection, format).into_iter().map(|file| String::from_utf8(file.bytes).unwrap()).collect()
}

#[test]
fn what_pilots_on_devices_measured_goes_before_the_scenario() {
    let runs = Runs::new();
    runs.add("run", &Run { deployed: measured(7.25, 0.5), ..Run::default() });
    let collection = runs.read();
    let said = "α = 7.250, β = 0.5000, as pilots on the devices measured them.";
    assert!(html(&collection, None).contains(said));
    assert!(text_of(&collection, "md").contains(said));
    let json: serde_json::Value = serde_json::from_str(&text_of(&collection, "json")).unwrap();
    assert_eq!(json["groups"][0]["constants"]["alpha"], 7.25);

    let runs = Runs::new();
    let source = ConstantsSource::Scenario;
    let constants = Some(UsedConstants { alpha: 20.0, beta: 3.0, source });
    runs.add("run", &Run { deployed: Some(Deployed { constants }), ..Run::default() });
    assert!(html(&runs.read(), None).contains("α = 20, β = 3, as the scenario gives them."));
}

#[test]
fn pilots_that_lie_beside_the_run_bear_out_what_it_was_planned_with() {
    let runs = Runs::new();
    let pilot = |scheme, rounds| Run {
        scheme,
        rounds,
        target_loss: Some(0.6),
        end: Some(fedflip_record::EndReason::Target),
        deployed: Some(Deployed::default()),
        ..Run::default()
    };
    runs.add("run/pilots/uniform", &pilot("uniform", 40));
    runs.add("run/pilots/full", &pilot("full", 20));
    runs.add("run", &Run { deployed: measured(7.0, 0.5), ..Run::default() });
    let page = html(&runs.read(), None);
    let said = "Planned with α = 7, β = 0.5000, as pilots on the devices measured them. The 2 pilots at hand give α =";
    assert!(page.contains(said));
}

#[test]
fn runs_that_were_planned_with_other_measurements_stand_apart() {
    let runs = Runs::new();
    runs.add("one", &Run { deployed: measured(7.0, 0.5), ..Run::default() });
    runs.add("two", &Run { seed: 2, deployed: measured(9.0, 0.5), ..Run::default() });
    let labels: Vec<_> = runs.read().groups.iter().map(fedflip_report::Group::title).collect();
    assert_eq!(labels, ["plan.alpha = 7", "plan.alpha = 9"]);
}

#[test]
fn time_on_devices_is_real_time() {
    let runs = Runs::new();
    runs.add("exact", &Run { deployed: Some(Deployed::default()), ..Run::default() });
    let page = html(&runs.read(), None);
    assert!(page.contains("real time (s)") && page.contains("Time by the clock on the wall, means"));
    assert!(!page.replace("virtual_hours_max", "").contains("irtual"));
    let simulated = Runs::new();
    simulated.add("exact", &Run::default());
    let page = html(&simulated.read(), None);
    assert!(page.contains("virtual time (s)") && !page.contains("eal time"));
}

#[test]
fn a_deployed_run_is_no_copy_of_the_simulated_one() {
    let runs = Runs::new();
    runs.add("simulated", &Run::default());
    runs.add("deployed", &Run { secs: 3.0, deployed: Some(Deployed::default()), ..Run::default() });
    let collection = runs.read();
    assert!(collection.problems.is_empty(), "{:?}", collection.problems);
    let groups: Vec<(String, &str)> =
        collection.groups.iter().map(|group| (group.title(), group.time())).collect();
    let expected = [("devices = real", "real time"), ("devices = simulated", "virtual time")];
    assert_eq!(groups, expected.map(|(title, time)| (title.to_owned(), time)));
    assert_eq!(run_list::table(&collection).unwrap().rows.len(), 2);
}

fn replan(after_round: u64, reason: &str, expected_participants: f64) -> Replan {
    Replan {
        after_round,
        reason: reason.to_owned(),
        devices: 3,
        expected_participants,
        expected_rounds: Some(36.0),
        expected_round_secs: Some(100.0),
        ..Replan::default()
    }
}

fn cells(table: &fedflip_report::table::Table, columns: &[&str]) -> Vec<Vec<String>> {
    let place = |key: &&str| table.columns.iter().position(|column| column.key == **key).unwrap();
    let places: Vec<usize> = columns.iter().map(place).collect();
    table.rows.iter().map(|row| places.iter().map(|&place| row[place].text.clone()).collect()).collect()
}

#[test]
fn plans_stand_one_after_another_with_their_reasons() {
    let runs = Runs::new();
    let replans = vec![replan(2, "laptop-0 came", 1.5), replan(14, "<phone-1> was there less", 0.75)];
    runs.add("run", &Run { deployed: Some(Deployed::default()), replans, ..Run::default() });
    let collection = runs.read();
    let group = &collection.groups[0];
    let table = deployed::plans_table(group).unwrap();
    let columns = ["from_round", "reason", "mean_q", "expected_hours", "rounds", "biased_rounds"];
    assert_eq!(
        cells(&table, &columns),
        [
            ["1", "the first plan", "60 %", "20 s", "2", "0"],
            ["3", "laptop-0 came", "50 %", "60 min", "12", "1"],
            ["15", "<phone-1> was there less", "25 %", "60 min", "6", "0"],
        ]
    );
    let page = html(&collection, None);
    assert!(page.contains("&lt;phone-1&gt; was there less") && page.contains("Where plans were replaced"));
    // plan.csv is of the last plan: it is compared with the six rounds since.
    assert!(page.contains("phone-0: planned 50 %, took part in 2 of 6 rounds"));
    assert_eq!(Explained::of(&group.schemes[0]).unwrap().plan.made.expected_participants, 0.75);
}

/// The folder has a later plan than the rounds that are shown: neither is compared with the other.
#[test]
fn a_plan_that_was_made_after_a_given_target_is_not_compared_with_the_rounds_before() {
    let runs = Runs::new();
    // Without a word of devices in its header. The loss is 2 / round.
    let folder = runs.add("run", &Run { replans: vec![replan(14, "laptop-0 came", 1.5)], ..Run::default() });
    let read = |target: &str| {
        let target = target.parse().unwrap();
        Collection::read(&[runs.path().to_owned()], None, Some(&target)).unwrap()
    };
    let early = read("loss=0.25");
    let scheme = &early.groups[0].schemes[0];
    assert!(scheme.runs[0].is_deployed() && early.groups[0].time() == "real time");
    assert_eq!((scheme.runs[0].plans.len(), scheme.rounds_of_plan()), (1, 8));
    assert!(scheme.devices.is_none() && deployed::devices_table(&early.groups[0]).is_none());
    let [problem] = early.problems.as_slice() else { panic!("{:?}", early.problems) };
    assert!(problem.contains(&folder.display().to_string()) && problem.contains("after the report's target"));
    assert!(!html(&early, None).contains("planned 50 %"));
    let late = read("loss=0.125");
    assert!(late.problems.is_empty(), "{:?}", late.problems);
    assert!(html(&late, None).contains("phone-0: planned 50 %, took part in 1 of 2 rounds"));
}

#[test]
fn devices_are_counted_with_how_often_they_were_there() {
    let runs = Runs::new();
    let folder = runs.add("run", &Run { deployed: Some(Deployed::default()), ..Run::default() });
    let fleet = "device,compute_secs,comm_secs,samples,availability\n\
                 phone-0,1,10,30,1\nphone-1,1,20,30,0.75\nlaptop-0,0.5,5,40,1\nlate-0,1,1,1,1\n";
    std::fs::write(folder.join("measured.csv"), fleet).unwrap();
    let table = deployed::devices_table(&runs.read().groups[0]).unwrap();
    let columns = ["device", "participations", "lost", "planned_availability", "availability"];
    assert_eq!(
        cells(&table, &columns),
        [
            ["phone-1", "6", "1", "100 %", "75 %"],
            ["phone-0", "6", "0", "100 %", "100 %"],
            ["laptop-0", "13", "0", "100 %", "100 %"],
        ]
    );
}

#[test]
fn simulations_have_neither_table() {
    let runs = Runs::new();
    runs.add("run", &Run::default());
    let group = &runs.read().groups[0];
    assert!(deployed::plans_table(group).is_none() && deployed::devices_table(group).is_none());
}

#[test]
fn what_only_a_simulated_world_has_is_not_held_against_a_real_one() {
    let runs = Runs::new();
    let deployed = Some(Deployed::default());
    for (name, deployed) in [("real", deployed), ("simulated", None)] {
        let folder = runs.add(name, &Run { deployed, ..Run::default() });
        let scenario = std::fs::read_to_string(folder.join("run.toml")).unwrap();
        let keys = "\n[world]\ndropout = 0.1\n";
        std::fs::write(folder.join("run.toml"), scenario + keys).unwrap();
    }
    let collection = runs.read();
    let found = collection.groups.iter().map(|group| {
        let explained = Explained::of(&group.schemes[0]).unwrap();
        (explained.overhead_secs, explained.left_out)
    });
    assert_eq!(found.collect::<Vec<_>>(), [(0.0, vec![]), (0.0, vec!["world.dropout"])]);
}
