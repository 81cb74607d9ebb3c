//! Trains one of the paper's models on all of its data, as one device would, and prints what it reaches.
//!
//! `cargo run --release -p fedflip-learn --example central -- mnist-cnn --rate 0.1`
//!
//! Flags: `--steps N` (1875 by default, an epoch of MNIST), `--rate R` (the paper's by default), `--batch N` (32),
//! `--width W` (of MobileNet, 0.25), `--seed N` (1), `--every N` (steps between two lines, by default a tenth
//! of all; the data are shuffled anew for each line), `--data-dir FOLDER` (by default `$FEDFLIP_DATA`).

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use fedflip_learn::sgd::Steps;
use fedflip_learn::task::{ParamValue, Sharing, Task, TaskSettings};
use fedflip_learn::{Learner, TrainKey};

type Problem = Box<dyn std::error::Error>;

fn main() -> Result<(), Problem> {
    let mut args = std::env::args().skip(1);
    let names = || Task::names().collect::<Vec<_>>().join(", ");
    let task = args.next().ok_or_else(|| format!("name a task: {}", names()))?;
    let mut task: Task = task.parse()?;
    let flags = Flags::read(args)?;
    let data_dir = match flags.given("--data-dir") {
        Some(folder) => PathBuf::from(folder),
        None => {
            PathBuf::from(std::env::var_os("FEDFLIP_DATA").ok_or("name a folder: --data-dir, FEDFLIP_DATA")?)
        }
    };
    if task.row().has_param("width") {
        task.set("width", ParamValue::Number(flags.or("--width", 0.25)?))?;
    }
    let mut settings = TaskSettings { sharing: Sharing::Iid, ..TaskSettings::paper(task, 1) };
    settings.sgd.learning_rate = flags.or("--rate", settings.sgd.learning_rate)?;
    settings.sgd.batch = flags.or("--batch", settings.sgd.batch)?;
    let seed: u64 = flags.or("--seed", 1)?;

    let steps: usize = flags.or("--steps", 1875)?;
    // What lies between two lines is a "round" of the one device that has everything.
    let every: usize = flags.or("--every", steps.div_ceil(10))?.max(1);
    settings.sgd.steps = Steps::Iterations(every);

    let (learner, report) = settings.learner(&data_dir)?;
    let (rate, batch) = (settings.sgd.learning_rate, settings.sgd.batch);
    let epoch = report.samples.div_ceil(batch);
    println!("{steps} steps of {batch} samples ({epoch} are an epoch), rate {rate}, seed {seed}");
    let mut worker = learner.worker();
    let mut model = learner.initial_model(seed);
    let mut update = vec![0.0; learner.params_len()];
    for round in 0..steps.div_ceil(every) as u64 {
        let key = TrainKey::new(seed, round, 0);
        let train_loss = learner.train(&mut worker, model.as_slice(), key, &mut update)?;
        model.add_scaled(1.0, &update)?;
        let test = learner.evaluate(&mut worker, model.as_slice())?;
        println!(
            "step {:>6}: training loss {train_loss:.4}, test {}",
            every as u64 * (round + 1),
            test.iter().map(|(name, value)| format!("{name} {value:.4}")).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}

/// `--name value`, each at most once.
struct Flags(BTreeMap<String, String>);

impl Flags {
    const KNOWN: [&str; 7] = ["--steps", "--rate", "--batch", "--width", "--seed", "--every", "--data-dir"];

    fn read(mut args: impl Iterator<Item = String>) -> Result<Self, Problem> {
        let mut flags = BTreeMap::new();
        while let Some(flag) = args.next() {
            if !Self::KNOWN.contains(&flag.as_str()) {
                return Err(format!("{flag}: not one of {}", Self::KNOWN.join(", ")).into());
            }
            let value = args.next().ok_or_else(|| format!("{flag} needs a value"))?;
            flags.insert(flag, value);
        }
        Ok(Self(flags))
    }

    fn given(&self, flag: &str) -> Option<&str> {
        self.0.get(flag).map(String::as_str)
    }

    fn or<T: FromStr>(&self, flag: &str, usual: T) -> Result<T, Problem> {
        let Some(text) = self.given(flag) else { return Ok(usual) };
        text.parse().map_err(|_| format!("{flag}: {text:?} is no such number").into())
    }
}
