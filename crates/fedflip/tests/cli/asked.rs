//! Schemes that ask or observe devices: `ocs`, `ocs-approx`, `power-of-choice` and `oort`.

use serde_json::Value;

use super::refusals::assert_refused;
use super::training::{QUICK, desk, file, results};

const SCHEMES: [&str; 4] = ["ocs=3", "ocs-approx=3", "power-of-choice=3", "oort=3"];

fn rounds(records: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(records).unwrap().lines();
    let lines = lines.map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["type"] == "round").collect()
}

/// With jitter and drop-outs: a run on any number of threads, in one piece or in three, has the same bytes. The pacer of
/// `oort` looks 40 rounds back.
#[test]
fn runs_that_depend_on_reports_are_repeatable_and_resumable() {
    let desk = desk();
    for scheme in SCHEMES {
        let line = format!("run s.toml {QUICK} --scheme {scheme} --set stop.rounds_max=70");
        let (whole, parts) = (format!("{scheme}-whole"), format!("{scheme}-parts"));
        desk.stdout(&format!("{line} --out {whole} --threads 1"));
        desk.stdout(&format!("{line} --out {parts} --threads 2 --set stop.rounds_max=17"));
        desk.stdout(&format!("{line} --out {parts} --threads 3 --resume --set stop.rounds_max=45"));
        desk.stdout(&format!("{line} --out {parts} --threads 1 --resume"));
        assert_eq!(results(&desk, &parts), results(&desk, &whole), "{scheme}");
        let rounds = rounds(&file(&desk, &format!("{whole}/records.jsonl")));
        assert_eq!(rounds.len(), 70);
        for round in &rounds {
            assert_eq!(round["asked_secs"].is_number(), scheme != "oort=3", "{round}");
            assert_eq!(round["train_losses"].is_array(), scheme == "oort=3", "{round}");
            let devices = round["cohort"].as_array().unwrap().len();
            assert!(scheme.starts_with("ocs") || devices == 3, "{scheme}: {round}");
        }
        let mean = rounds.iter().map(|round| round["cohort"].as_array().unwrap().len()).sum::<usize>() as f64;
        assert!((2.0..4.0).contains(&(mean / 70.0)), "{scheme}: {mean}");
        desk.stdout(&format!("report {whole} --format html --out {whole}.html"));
    }
}

/// All of them beside others, under one clock and with every cost of a round; biased sums are marked.
#[test]
fn they_are_compared_and_swept_with_others() {
    let desk = desk();
    let costs = "--set round.overhead_secs=0.1 --set round.downlink=unicast --set downlink.encoding=int8 \
                 --set update.encoding=int8 --set round.allocation=equal";
    let schemes = format!("--schemes {},fedavg=3 --reference fedavg=3", SCHEMES.join(","));
    let line = format!("{QUICK} {costs} --set stop.rounds_max=15 --seeds 1 --no-pilot {schemes}");
    let table = desk.stdout(&format!("compare s.toml {line} --out compared"));
    let biased = "the sums of power-of-choice=3, oort=3, fedavg=3 are biased";
    assert!(table.contains(biased), "{table}");
    desk.stdout("report compared --format md --out compared.md");
    let swept = desk.json(&format!("sweep s.toml {line} --over fleet.bandwidth_mbps=20,200 --out swept"));
    assert_eq!(swept["points"].as_array().unwrap().len(), 2);
    // The faster clock changes whom oort prefers, and nobody's norm or loss.
    let cohorts = |point: &str, scheme: &str| -> Vec<Value> {
        let path = format!("swept/fleet.bandwidth_mbps={point}/runs/{scheme}-seed5/records.jsonl");
        rounds(&file(&desk, &path)).iter().map(|round| round["cohort"].clone()).collect()
    };
    for scheme in ["ocs=3", "power-of-choice=3"] {
        assert_eq!(cohorts("20", scheme), cohorts("200", scheme), "{scheme}");
    }
}

#[test]
fn what_they_cannot_do_is_refused_with_place_value_and_remedy() {
    let desk = desk();
    desk.stdout("certs init");
    for scheme in ["ocs", "ocs-approx", "power-of-choice", "oort"] {
        for number in ["0", "-1", "1.5", "x", ""] {
            let wanted = [&format!("{scheme}={number}")[..], "a number of devices, such as 10"];
            assert_refused(&desk, &format!("run s.toml --scheme {scheme}={number}"), b"", &wanted);
        }
        let line = format!("compare s.toml {QUICK} --seeds 1 --no-pilot --schemes full,{scheme}=0");
        assert_refused(&desk, &line, b"", &[&format!("{scheme}=0"), "a number of devices, such as 10"]);
        desk.write("wrong.toml", format!("[task]\nname = \"synthetic\"\n[plan]\nscheme = \"{scheme}=0\"\n"));
        assert_refused(
            &desk,
            "run wrong.toml",
            b"",
            &["wrong.toml, line 4: plan.scheme", &format!("{scheme}=0")],
        );
        let wanted = [&format!("{scheme}=21 draws 21 devices per round")[..], "at most 20 devices"];
        assert_refused(&desk, &format!("run s.toml {QUICK} --scheme {scheme}=21"), b"", &wanted);
        let line = format!("serve s.toml --scheme {scheme}=3 --out served");
        assert_refused(&desk, &line, b"", &["plan.scheme", "draws cohorts on the server"]);
        desk.write(
            "rare.csv",
            "device,compute_secs,comm_secs,samples,availability\na,1,2,30,0.5\nb,1,2,30,1\n",
        );
        let line = format!("plan rare.csv --bandwidth 10 --scheme {scheme}=1");
        assert_refused(&desk, &line, b"", &["always available", "0.5"]);
    }
    desk.stdout(&format!("run s.toml {QUICK} --scheme oort=3 --set stop.rounds_max=3 --out short"));
    let wanted = ["cohorts depend on what devices report"];
    assert_refused(&desk, "retime short --bandwidth 10 --out again", b"", &wanted);
}

/// Which devices take part is not known before a run, so nothing is predicted but their number.
#[test]
fn a_plan_predicts_no_times() {
    let desk = super::Desk::new();
    let plan = "plan fleet.csv --bandwidth 100 --alpha 28.474 --beta 2.2043";
    for scheme in SCHEMES {
        let said = desk.stdout(&format!("{plan} --scheme {scheme}"));
        assert!(said.contains("3.00 devices on average") && said.contains("no prediction"), "{said}");
        let json = desk.json(&format!("{plan} --scheme {scheme}"));
        let nothing = ["round_secs", "rounds", "total_secs"];
        assert!(nothing.iter().all(|key| json[key].is_null()), "{json}");
        assert!((json["expected_participants"].as_f64().unwrap() - 3.0).abs() < 1e-9, "{json}");
    }
}
