//! The models that a run leaves: the last one, and the best one.

use fedflip_net::server::Ended;
use fedflip_record::folder::{BEST, MODEL};
use fedflip_record::{Target, TargetMode};

use crate::roles::Actor;
use crate::run::SimRun;

/// No round is evaluated, so the engine evaluates the last model: it is better than the first one.
#[test]
fn the_last_model_is_tested_and_may_be_the_best() {
    let mut run = SimRun::full(41, [0.2, 0.3].map(Actor::honest).to_vec(), 20);
    run.wanted.target = Some(Target { metric: "loss".to_owned(), at: 0.0, mode: TargetMode::Min });
    run.wanted.tested = true;
    let outcome = run.run();
    let Ended::Over(end) = &outcome.ending.ended else { panic!("{:?}", outcome.ending.ended) };
    assert!(!end.metrics.is_empty(), "the rounds were not evaluated");
    assert_eq!(end.test, end.metrics, "the test samples are the same here");
    assert!(outcome.file(BEST) == outcome.file(MODEL));
}
