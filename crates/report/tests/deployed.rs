//! Runs on real devices, beside simulated ones.

mod common;

use common::{Run, Runs};
use fedflip_record::{ConstantsSource, Deployed, UsedConstants};
use fedflip_report::output::{Format, files};
use fedflip_report::page::render;
use fedflip_report::{Collection, tables};

fn measured(alpha: f64, beta: f64) -> Option<Deployed> {
    Some(Deployed { constants: Some(UsedConstants { alpha, beta, source: ConstantsSource::Pilots }) })
}

fn text_of(collection: &Collection, format: Format) -> String {
    let files = files(collection, format, None).unwrap();
    files.into_iter().map(|file| String::from_utf8(file.bytes).unwrap()).collect()
}

#[test]
fn what_pilots_on_devices_measured_goes_before_the_scenario() {
    let runs = Runs::new();
    runs.add("run", &Run { deployed: measured(7.25, 0.5), ..Run::default() });
    let collection = runs.read();
    let said = "α = 7.250, β = 0.5000, as pilots on the devices measured them.";
    assert!(render(&collection, None).contains(said));
    assert!(text_of(&collection, Format::Markdown).contains(said));
    let json: serde_json::Value = serde_json::from_str(&text_of(&collection, Format::Json)).unwrap();
    assert_eq!(json["groups"][0]["constants"]["alpha"], 7.25);

    let runs = Runs::new();
    let source = ConstantsSource::Scenario;
    let constants = Some(UsedConstants { alpha: 20.0, beta: 3.0, source });
    runs.add("run", &Run { deployed: Some(Deployed { constants }), ..Run::default() });
    assert!(render(&runs.read(), None).contains("α = 20, β = 3, as the scenario gives them."));
}

#[test]
fn pilots_that_lie_beside_the_run_bear_out_what_it_was_planned_with() {
    let runs = Runs::new();
    let pilot = |scheme, rounds| Run {
        scheme,
        rounds,
        target_loss: Some(0.6),
        end: Some(fedflip_record::EndReason::TargetLoss),
        deployed: Some(Deployed::default()),
        ..Run::default()
    };
    runs.add("run/pilots/uniform", &pilot("uniform", 40));
    runs.add("run/pilots/full", &pilot("full", 20));
    runs.add("run", &Run { deployed: measured(7.0, 0.5), ..Run::default() });
    let page = render(&runs.read(), None);
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
    let page = render(&runs.read(), None);
    assert!(page.contains("real time (s)") && page.contains("Time by the clock on the wall, means"));
    assert!(!page.replace("virtual_hours_max", "").contains("irtual"));
    let simulated = Runs::new();
    simulated.add("exact", &Run::default());
    let page = render(&simulated.read(), None);
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
    assert_eq!(tables::runs_table(&collection).rows.len(), 2);
}
