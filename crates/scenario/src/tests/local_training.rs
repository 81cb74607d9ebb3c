//! Epochs, momentum, weight decay and the proximal term: how they are given, refused, and counted as work.

use fedflip_fleet::Gflop;
use fedflip_learn::sgd::{LocalOptions, Steps};

use super::{of, parse};
use crate::{FleetSource, GeneratedFleet, Scenario};

fn generated(scenario: Scenario) -> GeneratedFleet {
    let FleetSource::Generated(fleet) = scenario.fleet else { panic!("no file was named") };
    fleet
}

#[test]
fn options_that_are_off_leave_a_stored_scenario_as_it_was() {
    let plain = of("synthetic", &[]);
    let off = ["train.momentum=0", "train.weight_decay=0", "train.proximal=-0.0"];
    assert_eq!(of("synthetic", &off), plain);
    assert!(!plain.to_toml().contains("sample_work_gflop"));
    let train = plain.to_toml().split("[train]").nth(1).unwrap().split('[').next().unwrap().to_owned();
    assert_eq!(train, "\nlearning_rate = 0.01\nbatch = 32\niterations = 10\n\n");
}

#[test]
fn devices_train_with_what_the_scenario_says() {
    let set = ["train.momentum=0.9", "train.weight_decay=1e-4", "train.proximal=0.1", "train.epochs=3"];
    let scenario = of("mnist-cnn", &set);
    let sgd = scenario.task_settings().sgd;
    assert_eq!(sgd.steps, Steps::Epochs(3));
    assert_eq!(sgd.options, LocalOptions { momentum: 0.9, weight_decay: 1e-4, proximal: 0.1 });
    assert_eq!(parse(&scenario.stored(), &[]), Ok(scenario));
}

#[test]
fn epochs_and_iterations_do_not_stand_together_but_an_override_takes_back_the_other() {
    let file = |lines: &str| format!("task.name = 'synthetic'\n[train]\n{lines}\n");
    let both = parse(&file("iterations = 5\nepochs = 2"), &[]).unwrap_err();
    assert!(
        both.starts_with("s.toml, line 4: train.epochs is given together with train.iterations"),
        "{both}"
    );
    assert!(both.contains("passes through a device's own samples"), "{both}");
    let set = ["train.epochs=2", "train.iterations=5"];
    assert!(parse(&file(""), &set).unwrap_err().contains("is given together with"), "both are overrides");
    let steps = |lines: &str, set: &str| parse(&file(lines), &[set]).unwrap().train.steps;
    assert_eq!(steps("iterations = 5", "train.epochs=2"), Steps::Epochs(2));
    assert_eq!(steps("epochs = 2", "train.iterations=5"), Steps::Iterations(5));
    assert_eq!(steps("epochs = 2", "seed=1"), Steps::Epochs(2));
}

#[test]
fn values_out_of_range_are_refused() {
    let refused = |set: &str| parse("task.name = 'synthetic'", &[set]).unwrap_err();
    for set in ["momentum=1", "momentum=-0.1", "momentum=nan", "weight_decay=-1", "weight_decay=inf"] {
        assert!(refused(&format!("train.{set}")).contains("is out of range"), "{set}");
    }
    for set in ["proximal=-1e-9", "proximal=nan", "proximal=2e6", "epochs=0", "epochs=10001", "epochs=-1"] {
        assert!(refused(&format!("train.{set}")).contains("is out of range"), "{set}");
    }
    assert!(refused("train.epochs=1.5").contains("not a whole number"));
    assert!(refused("train.mu=0.1").contains("did you mean train.proximal?"));
}

/// The same samples take the same work, whether epochs or iterations count them.
#[test]
fn work_follows_the_samples_of_a_device_where_epochs_are_counted() {
    let iterations = generated(of("mnist-cnn", &["train.iterations=10", "train.batch=20"]));
    assert_eq!(iterations.sample_work, Gflop::ZERO);
    let epochs = generated(of("mnist-cnn", &["train.epochs=2", "train.batch=20"]));
    assert_eq!(epochs.work, Gflop::ZERO);
    assert!((epochs.sample_work.get() * 100.0 / iterations.work.get() - 1.0).abs() < 1e-12);
    let scenario = of("mnist-cnn", &["train.epochs=1", "fleet.devices=4"]);
    let fleet = scenario.fleet(&[100, 200, 50, 50]).unwrap();
    let per_sample = generated(scenario).sample_work.get();
    for (n, count) in [100.0, 200.0, 50.0, 50.0].into_iter().enumerate() {
        let speed = fedflip_fleet::profile::PAPER[n].sustained_gflops;
        assert!((fleet.compute_secs()[n] / (per_sample * count / speed) - 1.0).abs() < 1e-12);
    }
}

/// Work that is given is what it says, however long devices train.
#[test]
fn given_work_replaces_both_kinds() {
    let same = generated(of("mnist-cnn", &["train.epochs=2", "fleet.work_gflop=3"]));
    assert_eq!((same.work.get(), same.sample_work.get()), (3.0, 0.0));
    let by_samples = generated(of("mnist-cnn", &["fleet.sample_work_gflop=0.5"]));
    assert_eq!((by_samples.work.get(), by_samples.sample_work.get()), (0.0, 0.5));
    let both = generated(of("mnist-cnn", &["fleet.work_gflop=3", "fleet.sample_work_gflop=0.5"]));
    assert_eq!((both.work.get(), both.sample_work.get()), (3.0, 0.5));
    let other = of("mnist-cnn", &["train.epochs=2"]);
    assert_eq!(parse(&other.to_toml(), &[]), Ok(other));
}
