//! How long a commit takes: `cargo test --release -p fedflip-net --test state -- --ignored --nocapture commit`; and how
//! long it takes to open a long run, with `opening` instead (with TMPDIR in memory, as it commits 100,000 rounds).

use std::time::Instant;

use fedflip_learn::layer::{Init, ParamSpec};
use fedflip_net::state::{Commit, NewRun, RunState};

use crate::script::{Operation, apply, commit, device, header, open, plan};

#[test]
#[ignore = "a measurement"]
fn opening_a_run_of_many_rounds() {
    let rounds = 100_000;
    let desk = tempfile::tempdir().unwrap();
    let (mut state, _) = open(desk.path()).unwrap();
    (0..100).for_each(|slot| state.enrol(&device(slot)).unwrap());
    state.begin(&header(100), &plan(0, 100, 0.1)).unwrap();
    for round in 1..=rounds {
        apply(&mut state, &commit(round, &[0, 5, 9, 11, 50, 51, 60, 70, 80, 99], &[])).unwrap();
    }
    drop(state);
    let bytes = std::fs::metadata(desk.path().join("state.sqlite")).unwrap().len();
    for _ in 0..3 {
        #[expect(clippy::disallowed_methods, reason = "this measures")]
        let start = Instant::now();
        drop(open(desk.path()).unwrap());
        println!("{rounds} rounds, {} MB: opened in {:.2} s", bytes >> 20, start.elapsed().as_secs_f64());
    }
}

#[test]
#[ignore = "a measurement"]
fn commit_time_of_small_and_large_models() {
    for parameters in [21_840, 1_663_370] {
        let spec =
            ParamSpec { name: "weight", shape: vec![parameters], init: Init::Constant(0.0), trained: true };
        let params = [("weight".to_owned(), spec)];
        let desk = tempfile::tempdir().unwrap();
        let new_run =
            NewRun { run_toml: "seed = 1\n", free_keys: &[], stop: None, params: &params, memory: &[] };
        let (mut state, _) = RunState::open(desk.path(), &new_run).unwrap();
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
