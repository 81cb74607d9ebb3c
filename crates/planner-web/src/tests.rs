use fedflip_plan::{PlanError, Scheme};
use serde_json::{Value, json};

use crate::refusal::Refusal;

const FLEET: &str = "device,compute_secs,comm_secs,samples\nphone,2,7,300\nlaptop,0.4,7,100\n";

fn ask(question: &Value) -> Value {
    serde_json::from_str(&super::answer(&question.to_string())).unwrap()
}

fn plan(changes: Value) -> Value {
    let mut question = json!({ "ask": "plan", "fleet": FLEET, "bandwidth_mbps": 100.0, "scheme": "auto" });
    let Value::Object(changes) = changes else { panic!("changes are an object") };
    question.as_object_mut().unwrap().extend(changes);
    ask(&question)
}

fn refusal(changes: Value) -> [String; 3] {
    let refused = plan(changes)["refused"].clone();
    ["place", "problem", "hint"].map(|key| refused[key].as_str().unwrap_or_default().to_owned())
}

#[test]
fn a_plan_has_q_for_every_device_only_where_asked() {
    let planned = &plan(json!({ "with_devices": true }))["planned"];
    assert_eq!(planned["names"], json!(["phone", "laptop"]));
    assert_eq!(planned["q"].as_array().unwrap().len(), 2);
    assert!(planned["csv"].as_str().unwrap().starts_with("device,q,weight\nphone,"));
    assert_eq!(plan(json!({}))["planned"].get("q"), None);
    assert_eq!((&planned["devices"], &planned["rounds"]), (&json!(2), &Value::Null));
}

#[test]
fn constants_predict_rounds_and_time() {
    let planned = &plan(json!({ "scheme": "exact", "alpha": 30.0, "beta": 2.2 }))["planned"];
    let number = |key: &str| planned[key].as_f64().unwrap();
    assert_eq!(number("rounds") * planned["round_secs"]["mean"].as_f64().unwrap(), number("total_secs"));
}

#[test]
fn every_scheme_that_is_offered_plans() {
    let catalogue = &ask(&json!({ "ask": "catalogue" }))["catalogue"];
    let schemes = catalogue["schemes"].as_array().unwrap();
    assert_eq!(schemes.len(), Scheme::ALL.len() - 2, "all but paper-linesearch and fedbuff");
    let made = ask(&json!({ "ask": "fleet", "profile": "paper", "devices": 20, "seed": 7 }));
    for row in schemes {
        let changes = json!({
            "scheme": row["example"], "alpha": 30.0, "beta": 2.2, "fleet": made["made_fleet"]["csv"]
        });
        assert_eq!(plan(changes)["planned"]["scheme"], row["example"], "{row}");
    }
}

#[test]
fn a_fleet_of_a_profile_is_a_fleet_file() {
    let made = |devices: u64| ask(&json!({ "ask": "fleet", "profile": "4g", "devices": devices, "seed": 7 }));
    let answer = made(100);
    let csv = answer["made_fleet"]["csv"].as_str().unwrap();
    assert!(csv.starts_with("device,compute_secs,comm_secs,samples,link_mbps,snr_db\n"), "{csv}");
    assert_eq!(plan(json!({ "fleet": csv }))["planned"]["devices"], 100);
    assert_eq!(made(0)["refused"]["place"], "devices");
}

#[test]
fn every_refusal_names_place_problem_and_remedy() {
    let broken = "device,compute_secs,comm_secs,samples\nphone,-1,7,300\n";
    let refused = &plan(json!({ "fleet": broken }))["refused"];
    assert_eq!((&refused["place"], &refused["line"]), (&json!("fleet"), &json!(2)));
    assert_eq!(refused["problem"], "fleet, line 2, column compute_secs: \"-1\" is out of range");
    for (changes, place, problem) in [
        (json!({ "bandwidth_mbps": null }), "bandwidth_mbps", "missing"),
        (json!({ "bandwidth_mbps": -1.0 }), "bandwidth_mbps", "-1 is out of range"),
        (json!({ "overhead_secs": -0.5 }), "overhead_secs", "-0.5 is out of range"),
        (json!({ "variance": 0.0 }), "variance", "0 is out of range"),
        (json!({ "scheme": "exat" }), "scheme", "\"exat\" is not a sampling scheme"),
        (json!({ "scheme": "exact" }), "scheme", "needs the constants α and β"),
        (json!({ "scheme": "file=q.csv" }), "scheme", "names a file"),
        (json!({ "scheme": "custom=mine" }), "scheme", "custom=mine"),
        (json!({ "scheme": "fedbuff=2" }), "scheme", "has no rounds"),
        (json!({ "scheme": "fedavg=3" }), "scheme", "the fleet has 2"),
        (json!({ "alpha": 30.0 }), "beta", "β is missing beside α"),
        (json!({ "beta": 2.0 }), "alpha", "α is missing beside β"),
        (json!({ "alpha": 0.0, "beta": 2.0 }), "alpha", "0 is out of range"),
        (json!({ "scheme": "exact", "alpha": 30.0, "beta": 0.1 }), "beta", "cannot be reached"),
    ] {
        let [where_, what, hint] = refusal(changes.clone());
        assert_eq!(where_, place, "{changes}: {what}");
        assert!(what.contains(problem) && !hint.is_empty(), "{changes}: {what}; {hint}");
    }
}

/// A build of the whole workspace has the feature that the page's own build lacks, so the error is made here.
#[test]
fn a_scheme_that_the_page_is_built_without_is_refused_with_its_equal() {
    let missing = PlanError::FeatureMissing { scheme: Scheme::PaperLinesearch, feature: "line-search" };
    let refused = serde_json::to_value(Refusal::of_plan(&missing)).unwrap();
    assert_eq!(
        (&refused["place"], &refused["problem"]),
        (&json!("scheme"), &json!("this page leaves out paper-linesearch"))
    );
    assert!(refused["hint"].as_str().unwrap().contains("the scheme paper"));
}

#[test]
fn a_question_in_another_form_is_refused_and_not_guessed() {
    for question in
        ["", "{", "[]", "{\"ask\":\"plan\"}", "{\"ask\":\"plam\"}", "{\"ask\":\"plan\",\"fleet\":7}"]
    {
        let answer: Value = serde_json::from_str(&super::answer(question)).unwrap();
        assert!(answer["refused"]["problem"].as_str().unwrap().contains("cannot read the question"));
    }
    assert!(plan(json!({ "bandwith": 3.0 }))["refused"]["place"].is_null());
}
