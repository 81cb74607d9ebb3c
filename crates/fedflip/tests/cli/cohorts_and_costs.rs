//! Cohorts of a fixed size, and what rounds cost, in plans and runs.

use serde_json::Value;

use super::training::{QUICK, desk, file, results};

/// Cohorts of a fixed size: each round has K devices, a resumed run draws the same, and biased sums are marked.
#[test]
fn cohorts_of_a_fixed_size_are_run_resumed_and_compared() {
    let desk = desk();
    for scheme in ["fedavg=3", "fedavg-unbiased=3", "multinomial=3", "luo=3"] {
        let line =
            format!("run s.toml {QUICK} --scheme {scheme} --set stop.rounds_max=40 --set world.dropout=0");
        let (whole, parts) = (format!("{scheme}-whole"), format!("{scheme}-parts"));
        desk.stdout(&format!("{line} --out {whole} --threads 1"));
        desk.stdout(&format!("{line} --out {parts} --threads 2 --set stop.rounds_max=17"));
        desk.stdout(&format!("{line} --out {parts} --threads 3 --resume"));
        assert_eq!(results(&desk, &parts), results(&desk, &whole), "{scheme}");
        let records = String::from_utf8(file(&desk, &format!("{whole}/records.jsonl"))).unwrap();
        let rounds = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        for round in rounds.filter(|line| line["type"] == "round") {
            let devices = round["cohort"].as_array().unwrap().len();
            let fits = if scheme.starts_with("fedavg") { devices == 3 } else { (1..=3).contains(&devices) };
            assert!(fits, "{scheme}: {round}");
        }
    }
    let line = format!("compare s.toml {QUICK} --set stop.rounds_max=20 --seeds 1 --no-pilot");
    let table = desk.stdout(&format!(
        "{line} --schemes fedavg=3,multinomial=3,luo=3,fixed=best --reference fedavg=3 --out compared"
    ));
    assert!(table.contains("the sums of fedavg=3 are biased"), "{table}");
    desk.stdout("report compared --format md --out compared.md");
    let report = String::from_utf8(file(&desk, "compared.md")).unwrap();
    assert!(report.contains("The sums of fedavg=3 are biased by the scheme."), "{report}");
    let refused = desk.run(&format!("run s.toml {QUICK} --scheme fedavg=5000"));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("draws 5000 devices per round"), "{said}");
}

/// The keys of luo change whom it draws, and no other clock can have the same draws.
#[test]
fn what_luo_knows_of_gradients_is_part_of_the_run() {
    let desk = desk();
    let line = format!("run s.toml {QUICK} --scheme luo=3 --set stop.rounds_max=10 --set world.dropout=0");
    desk.stdout(&format!("{line} --out plain"));
    desk.stdout(&format!("{line} --set plan.luo_offset=3 --out offset"));
    assert_ne!(file(&desk, "plain/model.safetensors"), file(&desk, "offset/model.safetensors"));
    let stored = String::from_utf8(file(&desk, "offset/run.toml")).unwrap();
    assert!(stored.contains("\nluo_offset = 3\n"), "{stored}");
    for (flags, wanted) in [
        ("--set plan.luo_offset=-1", "plan.luo_offset: -1 is out of range"),
        ("--set plan.luo_offset=nan", "plan.luo_offset: NaN is out of range"),
        ("--set plan.luo_norms=[0,1]", "plan.luo_norms: 0 is out of range"),
        ("--set plan.luo_norms=[1,2]", "there are gradient norms of 2 devices"),
        ("--scheme luo=5000", "luo=5000 draws 5000 devices per round"),
        ("--scheme luo=0", "after luo= comes a number of devices"),
    ] {
        let refused = desk.run(
            &format!("{line} {flags}")
                .replace("--scheme luo=3", if flags.contains("--scheme") { "" } else { "--scheme luo=3" }),
        );
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(wanted), "{flags}: {said}");
    }
    let refused = desk.run("retime plain --bandwidth 7 --out faster");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && said.contains("other participation probabilities"), "{said}");
}

/// The options of local training change the model, survive a resumption, and are off by default.
#[test]
fn the_options_of_local_training_are_run_and_resumed() {
    let desk = desk();
    let line =
        format!("run s.toml {QUICK} --scheme fixed=0.2 --set world.dropout=0 --set stop.rounds_max=20");
    desk.stdout(&format!("{line} --out plain"));
    desk.stdout(&format!("{line} --set train.momentum=0 --set train.proximal=0 --out off"));
    assert_eq!(results(&desk, "off"), results(&desk, "plain"));
    for (name, set) in [
        ("momentum", "--set train.momentum=0.9"),
        ("decay", "--set train.weight_decay=0.01"),
        ("proximal", "--set train.proximal=1"),
        ("epochs", "--set train.epochs=1 --set train.momentum=0.5"),
    ] {
        let parts = format!("{name}-parts");
        desk.stdout(&format!("{line} {set} --out {name} --threads 1"));
        desk.stdout(&format!("{line} {set} --out {parts} --threads 2 --set stop.rounds_max=9"));
        desk.stdout(&format!("{line} {set} --out {parts} --threads 3 --resume"));
        assert_eq!(results(&desk, &parts), results(&desk, name), "{name}");
        assert_ne!(file(&desk, &format!("{name}/model.safetensors")), file(&desk, "plain/model.safetensors"));
    }
    let secs = |run: &str| -> Vec<String> {
        let fleet = String::from_utf8(file(&desk, &format!("{run}/fleet.csv"))).unwrap();
        fleet.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_owned()).collect()
    };
    let of_a_type = |secs: Vec<String>| secs[0] == secs[1];
    assert!(
        of_a_type(secs("plain")) && !of_a_type(secs("epochs")),
        "epochs take as long as a device has data"
    );
}

/// Downloads and overhead are on the clock, in the records and in the plan, and change no model without rounding.
#[test]
fn what_rounds_cost_is_on_the_clock() {
    let desk = desk();
    let line =
        format!("run s.toml {QUICK} --scheme fixed=0.2 --set stop.rounds_max=20 --set world.dropout=0");
    let costs = "--set round.overhead_secs=0.5 --set round.downlink=unicast --set downlink.bandwidth_mbps=5";
    let hours = |flags: &str| desk.json(&format!("{line} {flags}"))["hours"].as_f64().unwrap();
    let more = hours(costs) - hours("");
    assert!(more > 20.0 * 0.5 / 3600.0, "{more}");
    desk.stdout(&format!("{line} {costs} --out costed"));
    desk.stdout(&format!("{line} --out plain"));
    assert_eq!(file(&desk, "costed/model.safetensors"), file(&desk, "plain/model.safetensors"));
    let records = String::from_utf8(file(&desk, "costed/records.jsonl")).unwrap();
    assert!(
        records.contains("\"costs\":{\"overhead_secs\":0.5,\"downlink\":{\"mode\":\"unicast\""),
        "{records}"
    );
    assert!(records.contains("\"download_secs\":"), "{records}");
    desk.stdout(&format!("{line} {costs} --set downlink.encoding=int8 --out rounded"));
    assert_ne!(file(&desk, "rounded/model.safetensors"), file(&desk, "plain/model.safetensors"));
}

/// The round model and Theorem 2 are about coins: nothing is predicted for other cohorts, and no file of q is written.
#[test]
fn a_plan_without_coins_predicts_only_what_it_knows() {
    let desk = super::Desk::new();
    let plan = "plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043 --scheme";
    let said = desk.stdout(&format!("{plan} fedavg=10"));
    assert!(
        said.contains("no prediction") && !said.contains("never") && !said.contains("Theorem 2 "),
        "{said}"
    );
    let refused = desk.run(&format!("{plan} multinomial=10 --out q.csv"));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(2) && error.contains("flips no coins"), "{error}");
}

/// Costs in `plan`: the overhead is part of the prediction, and flags without effect are refused.
#[test]
fn a_plan_counts_overhead_downloads_and_spectrum() {
    let desk = super::Desk::new();
    let plan = "plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043";
    let total = |flags: &str| desk.json(&format!("{plan} {flags}"))["total_secs"].as_f64().unwrap();
    let free = total("");
    assert!(total("--overhead-secs 0.12") > 1.3 * free);
    assert!(
        total("--downlink unicast") > total("--downlink broadcast") && total("--downlink broadcast") > free
    );
    // Planned for, an overhead costs less than when the plan does not know it.
    let plan_json = desk.json(plan);
    let unplanned = free + 0.12 * plan_json["rounds"].as_f64().unwrap();
    assert!(total("--overhead-secs 0.12") < 0.95 * unplanned);
    for (flags, wanted) in [
        ("--bandwidth 100 --downlink-bandwidth 5", "downloads cost nothing"),
        ("--bandwidth 100 --downlink brodcast", "did you mean broadcast?"),
        ("--bandwidth 100 --overhead-secs=-1", "--overhead-secs"),
        ("--spectrum-mhz 20", "no column snr_db"),
        ("--spectrum-mhz 20 --bandwidth 5", "cannot be used with"),
    ] {
        let refused = desk.run(&format!("plan fleet.csv {flags}"));
        let said = String::from_utf8(refused.stderr).unwrap();
        assert!(refused.status.code() == Some(2) && said.contains(wanted), "{flags}: {said}");
    }
    desk.write(
        "radio.csv",
        "device,compute_secs,comm_secs,samples,link_mbps,snr_db\na,1,2,30,5,10\nb,2,2,30,1e9,-3\n",
    );
    let spectrum = desk.json("plan radio.csv --spectrum-mhz 20");
    assert_eq!(
        (&spectrum["bandwidth_mbps"], &spectrum["costs"]["spectrum_mhz"]),
        (&Value::Null, &20.0.into())
    );
    let shares = desk.json("allocate radio.csv --spectrum-mhz 20 --cohort a,b");
    assert!(shares["shares"][0]["mbps"].as_f64().unwrap() <= 5.0, "{shares}");
}
