//! Trains one of the paper's models on all of its data, as one device would, and prints what it reaches:
//!
//! `cargo run --release --example central -- DATA_DIR TASK STEPS [RATE]`

use fedflip_learn::task::{Sharing, Task, TaskSettings};
use fedflip_learn::{Learner, TrainKey};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [data_dir, task, steps, rate @ ..] = args.as_slice() else {
        return Err("usage: central DATA_DIR TASK STEPS [RATE]".into());
    };
    let (task, steps): (Task, u64) = (task.parse()?, steps.parse()?);
    let mut settings = TaskSettings { sharing: Sharing::Iid, ..TaskSettings::paper(task, 1) };
    // A hundred steps are a "round" here, so that there is something to see on the way.
    settings.sgd.iterations = 100;
    if let Some(rate) = rate.first() {
        settings.sgd.learning_rate = rate.parse()?;
    }
    let (learner, _) = settings.learner(data_dir.as_ref())?;

    let mut worker = learner.worker();
    let mut model = learner.initial_model(1);
    let mut update = vec![0.0; learner.params_len()];
    for round in 0..steps.div_ceil(100) {
        let key = TrainKey { seed: 1, round, device: 0 };
        let train_loss = learner.train(&mut worker, model.as_slice(), key, &mut update)?;
        model.add_scaled(1.0, &update)?;
        if round % 5 == 4 || round + 1 == steps.div_ceil(100) {
            let test = learner.evaluate(&mut worker, model.as_slice())?;
            println!(
                "step {:>6}: training loss {train_loss:.4}, test loss {:.4}, accuracy {:.2} %",
                100 * (round + 1),
                test.loss,
                100.0 * test.accuracy
            );
        }
    }
    Ok(())
}
