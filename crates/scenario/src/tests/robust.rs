//! The keys of robust sums.

use fedflip_engine::{Aggregation, Clip};

use super::{of, parse};

/// Settings of a rule that is not chosen are checked, and leave no trace.
#[test]
fn robust_sums_have_their_settings() {
    let robust = of("synthetic", &["round.aggregation=trimmed", "round.trim=0.25", "round.clip_norm=3"]);
    assert_eq!(
        robust.round.aggregation,
        Aggregation::Trimmed { share: 0.25, clip: Clip::Norm(3.0) },
        "in any order"
    );
    let idle = of("synthetic", &["round.trim=0.25", "round.clip_norm=3"]);
    assert_eq!(idle, of("synthetic", &[]));
    for (wrong, hint) in [("round.trim=0.5", "0.49"), ("round.clip_norm=0", "\"auto\"")] {
        let refusal = parse("task.name = 'synthetic'", &[wrong]).unwrap_err();
        assert!(refusal.contains("out of range"), "{refusal}: {hint}");
    }
}
