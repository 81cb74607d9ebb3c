//! Trains one of the paper's models on all of its data, as one device would, and prints what it reaches:
//!
//! `cargo run --release --example central -- DATA_DIR mnist|fashion-mnist|cifar10|shakespeare STEPS [RATE]`

use std::sync::Arc;

use fedflip_learn::data::dataset::Split;
use fedflip_learn::data::view::View;
use fedflip_learn::data::{Name, load};
use fedflip_learn::models::{cnn, lstm, mobilenet};
use fedflip_learn::sgd::{SgdLearner, SgdSettings};
use fedflip_learn::{Learner, TrainKey};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [data_dir, name, steps, rate @ ..] = args.as_slice() else {
        return Err("usage: central DATA_DIR NAME STEPS [RATE]".into());
    };
    let (name, steps): (Name, u64) = (name.parse()?, steps.parse()?);
    let dataset = Arc::new(load::load(name, data_dir.as_ref())?);
    let network = match name {
        Name::Mnist | Name::FashionMnist => cnn::cnn(10),
        Name::Cifar10 => mobilenet::mobilenet(0.25, mobilenet::Norm::Group, 10),
        Name::Shakespeare => lstm::shakespeare_lstm(),
    };
    let usual_rate = if name == Name::Shakespeare { 0.8 } else { 0.01 };
    let learning_rate = rate.first().map_or(Ok(usual_rate), |rate| rate.parse())?;
    let partition = vec![dataset.positions(Split::Train).collect()];
    let samples = (View::whole(dataset.clone()), View::split(dataset, Split::Test, 10_000));
    // A hundred steps are a "round" here, so that there is something to see on the way.
    let settings = SgdSettings { learning_rate, batch: 32, iterations: 100 };
    let learner = SgdLearner::new(network, samples, partition, settings)?;

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
