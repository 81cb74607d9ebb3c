//! `fedflip retime`: one training, many clocks.

use serde_json::Value;

use super::training::{desk, file};

const RUN: &str = "--set task.hidden=8 --set fleet.devices=20 --set data.test_samples_max=200 \
                   --set stop.target_accuracy=0.999 --set stop.rounds_max=60 --set seed=5 --quiet --threads 1";

/// Everything that a run from scratch would have written, to the byte.
#[test]
fn a_retimed_run_is_a_run_from_scratch() {
    let desk = desk();
    desk.write("fleet.csv", {
        let devices =
            (0..20).map(|n| format!("d{n},{},{},1\n", 1.0 + f64::from(n % 7), 3.0 + f64::from(n % 4)));
        format!("device,compute_secs,comm_secs,samples\n{}", devices.collect::<String>())
    });
    let conditions = "--set world.dropout=0.1 --set world.compute_jitter=0.2 --set plan.quiet_variance=none";
    for (number, (scheme, flags, keys)) in [
        ("fixed=0.3", "--bandwidth 40", "--set fleet.bandwidth_mbps=40"),
        ("weighted", "--overhead-secs 0.5", "--set round.overhead_secs=0.5"),
        (
            "uniform",
            "--downlink unicast --set downlink.bandwidth_mbps=7",
            "--set round.downlink=unicast --set downlink.bandwidth_mbps=7",
        ),
        ("fedavg=3", "--set fleet.work_gflop=5", "--set fleet.work_gflop=5"),
        ("full", "--set round.allocation=equal", "--set round.allocation=equal"),
    ]
    .into_iter()
    .enumerate()
    {
        let [before, after, wanted] = ["before", "after", "wanted"].map(|name| format!("{name}-{number}"));
        desk.stdout(&format!("run s.toml {RUN} {conditions} --scheme {scheme} --out {before}"));
        desk.stdout(&format!("run s.toml {RUN} {conditions} --scheme {scheme} {keys} --out {wanted}"));
        desk.stdout(&format!("retime {before} {flags} --out {after}"));
        for name in
            ["records.jsonl", "model.safetensors", "best.safetensors", "run.toml", "plan.csv", "fleet.csv"]
        {
            let [after, wanted] = [&after, &wanted].map(|run| file(&desk, &format!("{run}/{name}")));
            assert!(after == wanted, "{scheme}: {name} differs");
        }
        assert_ne!(
            file(&desk, &format!("{after}/records.jsonl")),
            file(&desk, &format!("{before}/records.jsonl"))
        );
    }
    // Another fleet: the same cohorts and models, other times. The report reads it.
    let json: Value = desk.json("retime before-0 --fleet fleet.csv --out other-fleet");
    assert_eq!((&json["rounds"], json["secs"].as_f64() != json["secs_before"].as_f64()), (&60.into(), true));
    assert_eq!(file(&desk, "other-fleet/model.safetensors"), file(&desk, "before-0/model.safetensors"));
    desk.stdout("report other-fleet --format md");
    // Several runs go to folders of their own.
    desk.stdout("retime before-0 before-1 --bandwidth 10 --out several");
    assert!(desk.folder.path().join("several/before-1/records.jsonl").exists());
}

#[test]
fn runs_that_their_clock_decides_are_refused_with_the_reason() {
    let desk = desk();
    let refused = |line: &str| {
        let output = desk.run(line);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {said}");
        said
    };
    for (name, keys, flags, wanted) in [
        ("planned", "--scheme exact", "--bandwidth 10", "plans other participation probabilities"),
        ("late", "--scheme full --set round.deadline_secs=60", "--bandwidth 10", "a deadline decides"),
        (
            "capped",
            "--scheme full --set stop.virtual_hours_max=0.1",
            "--overhead-secs 200",
            "the cap on virtual time (stop.virtual_hours_max) would end it in round 2",
        ),
        (
            "ended",
            "--scheme full --set stop.virtual_hours_max=1e-6",
            "--bandwidth 10",
            "a cap on virtual time ended the run",
        ),
        (
            // Without the cap, one more round begins and diverges.
            "diverged",
            "--scheme full --set train.learning_rate=1e6 --set stop.virtual_hours_max=0.1",
            "--overhead-secs 1e5",
            "the cap on virtual time",
        ),
        (
            "rounded",
            "--scheme full --set downlink.encoding=int8",
            "--downlink broadcast",
            "a model in another encoding",
        ),
        ("other", "--scheme full", "--set train.batch=8", "train.batch changes more than the clock"),
        ("none", "--scheme full", "", "no setting of the clock is changed"),
        ("wrong", "--scheme full", "--overhead-secs=-1", "round.overhead_secs"),
    ] {
        // One of them diverges, which is no success.
        desk.run(&format!("run s.toml {RUN} {keys} --set stop.rounds_max=5 --out {name}"));
        let said = refused(&format!("retime {name} {flags} --out {name}-again"));
        assert!(said.contains(wanted), "{name}: {said}");
        assert!(!desk.folder.path().join(format!("{name}-again")).exists(), "{name} left a folder behind");
    }
    assert!(refused("retime nowhere --bandwidth 10 --out again").contains("nowhere"));
    // An overhead that the plan does not count on changes no q.
    desk.stdout(&format!(
        "run s.toml {RUN} --scheme exact --set plan.overhead_secs=0 --set stop.rounds_max=5 --out free"
    ));
    desk.stdout("retime free --overhead-secs 1 --out paid");
    // A cap that is not reached decides nothing.
    desk.stdout("retime capped --overhead-secs 1 --out within-cap");
}
