//! How long a commit takes: `cargo test --release -p fedflip-net --test state -- --ignored --nocapture commit`.

use std::time::Instant;

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_net::state::{Commit, Founding, RunState};

use crate::script::{Operation, commit, device, header, plan};

#[test]
#[ignore = "a measurement"]
fn commit_time_of_small_and_large_models() {
    for parameters in [21_840, 1_663_370] {
        let spec =
            ParamSpec { name: "weight", shape: vec![parameters], init: Init::Constant(0.0), trained: true };
        let params = [("weight".to_owned(), spec)];
        let desk = tempfile::tempdir().unwrap();
        let founding = Founding { run_toml: "seed = 1\n", free_keys: &[], params: &params, memory: &[] };
        let (mut state, _) = RunState::open(desk.path(), &founding).unwrap();
        (0..100).for_each(|slot| state.enrol(&device(slot)).unwrap());
        state.begin(&header(100), &plan(0, 100, 0.1)).unwrap();
        let model = vec![0.5_f32; parameters];
        let mut took_millis = Vec::new();
        for round in 1..=50 {
            let Operation::Commit { record, fates, .. } =
                commit(round, &[0, 5, 9, 11, 50, 51, 60, 70, 80, 99], &[])
            else {
                unreachable!()
            };
            #[expect(clippy::disallowed_methods, reason = "this measures")]
            let start = Instant::now();
            let (model, measures) = (Some(&model[..]), "[]");
            state
                .commit(&Commit {
                    record: &record,
                    secs: 1.0,
                    model,
                    memory: &[],
                    evaluated: None,
                    fates: &fates,
                    measures,
                    norms: "{}",
                })
                .unwrap();
            took_millis.push(start.elapsed().as_secs_f64() * 1e3);
        }
        took_millis.sort_by(f64::total_cmp);
        let [median, worst] = [took_millis[25], took_millis[49]];
        println!("{parameters} parameters: {median:.1} ms a commit, {worst:.1} ms at worst, of 50");
    }
}
