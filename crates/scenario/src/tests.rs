//! The scenario as a value: it prints and reads back, whatever is in it.

mod costs;
mod external;
mod fleet_files;
mod key_errors;
mod local_training;
mod own_files;
mod robust;
mod scheme_files;
mod template;
mod weights;

use std::path::Path;

use fedflip_engine::{Aggregation, Clip};
use fedflip_fleet::Conditions;
use fedflip_fleet::bandwidth::Division;
use fedflip_fleet::profile::PAPER;
use fedflip_fleet::{Gflop, Mbit, Mbps, Mhz, Probability, Secs, csv_file};
use fedflip_learn::Encoding;
use fedflip_learn::partition::Dirichlet;
use fedflip_learn::sgd::Steps;
use fedflip_learn::task::{ParamValue, Sharing, Task, TaskSettings};
use fedflip_plan::{Constants, DEFAULT_VARIANCE, Scheme};
use fedflip_record::costs::DownlinkMode;
use fedflip_record::{Target, TargetMode};
use proptest::prelude::*;
use tempfile::TempDir;

use super::QUIET_EVERY;
use super::server::Kind;
use super::{
    CostSettings, Data, FleetSource, GeneratedFleet, Pilots, Planning, Preset, Radio, Record, Round,
    Scenario, Server, Source, Stop, Train, Update,
};
use crate::error::ScenarioError;

fn parse(text: &str, overrides: &[&str]) -> Result<Scenario, String> {
    let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    parse_in(Path::new(""), text, &overrides).map_err(|error| format!("{error}; {}", error.hint()))
}

/// Relative paths start in `folder`.
fn parse_in(folder: &Path, text: &str, overrides: &[String]) -> Result<Scenario, ScenarioError> {
    Source { folder: folder.to_owned(), ..Source::of_text(text, "s.toml") }.scenario(overrides)
}

fn of(task: &str, overrides: &[&str]) -> Scenario {
    parse(&format!("task.name = {task:?}"), overrides).unwrap()
}

#[test]
fn a_name_alone_is_the_tuned_scenario() {
    for task in Task::all() {
        let name = task.name();
        let tuned = Scenario::new(task, Preset::Tuned).unwrap();
        assert_eq!(of(name, &[]), tuned);
        assert_eq!(tuned.task_settings(), TaskSettings::paper(task, 100), "the learner's defaults are ours");
        for (_, preset) in Preset::ALL {
            let printed = parse(&Scenario::template(task, preset).unwrap(), &[]).unwrap();
            assert_eq!(printed, Scenario::new(task, preset).unwrap(), "what `new` prints");
        }
    }
}

#[test]
fn what_follows_from_other_values_follows_them() {
    let made_up = |scenario: Scenario| match scenario.fleet {
        FleetSource::Generated(made_up) => (made_up.payload.get(), made_up.work.get()),
        FleetSource::File { .. } => panic!("no file was named"),
    };
    let (payload, work) = made_up(of("mnist-cnn", &["preset=paper"]));
    assert_eq!(payload, 32.0 * 21_840.0 / 1e6);
    let (wide, _) = made_up(of("mnist-cnn", &["task.wide=true", "update.encoding=f32"]));
    assert_eq!(wide, 32.0 * 1_663_370.0 / 1e6);
    let (eight, _) = made_up(of("mnist-cnn", &["update.encoding=int8"]));
    assert_eq!(eight, 8.0 * (21_840.0 + 4.0 * 86.0) / 1e6, "86 blocks have a scale each");
    let (_, twice) = made_up(of("mnist-cnn", &["train.iterations=20"]));
    assert_eq!(twice, 2.0 * work);
    let given = of("mnist-cnn", &["task.wide=true", "fleet.payload_mbit=3", "fleet.work_gflop=0"]);
    assert_eq!(made_up(given), (3.0, 0.0));
}

#[test]
fn overrides_read_like_the_file() {
    let file = parse("task.name = 'mnist-cnn'\n[plan]\nscheme = 'fixed=0.3'\n[train]\nbatch = 16\n", &[]);
    let set = of("mnist-cnn", &["train.batch=8", "plan.scheme=fixed=0.3", " train.batch = 16 "]);
    assert_eq!(file.unwrap(), set, "the last one counts");
    assert_eq!(of("mnist-cnn", &["plan.scheme='tight'"]), of("mnist-cnn", &["plan.scheme=tight"]));
    let deadline = "task.name = 'synthetic'\nround.deadline_secs = 3";
    assert_eq!(parse(deadline, &["round.deadline_secs=none"]).unwrap(), of("synthetic", &[]));
    assert_eq!(of("fashion-cnn", &["task.name=mnist-cnn"]), of("mnist-cnn", &[]));
}

/// The keys of dirichlet may stay in a file that shares in another way, and change nothing.
#[test]
fn keys_that_do_not_matter_leave_no_trace() {
    let template = Scenario::template("mnist-cnn".parse().unwrap(), Preset::Tuned).unwrap();
    let iid = parse(&template, &["data.sharing=iid"]).unwrap();
    assert_eq!(iid, of("mnist-cnn", &["data.sharing=iid"]));
    assert!(!iid.to_toml().contains("concentration"));
    assert!(parse(&template, &["data.sharing=iid", "data.concentration=-1"]).is_err());
}

/// What an optimiser has of its own follows from it unless it is set; what it has not changes nothing.
#[test]
fn optimisers_have_their_own_defaults() {
    let server = |overrides: &[&str]| of("synthetic", &[&["preset=paper"], overrides].concat()).server;
    assert_eq!(server(&[]), Kind::None.server());
    assert!(server(&[]).optimiser().is_plain());
    let momentum = server(&["server.optimiser=momentum"]);
    assert_eq!((momentum.step, momentum.momentum), (1.0, 0.5));
    let adam = server(&["server.optimiser=adam"]);
    assert_eq!((adam.step, adam.momentum, adam.second_moment, adam.epsilon), (0.01, 0.9, 0.99, 0.001));
    let given = server(&["server.momentum=0.25", "server.averaging=0.5", "server.optimiser=yogi"]);
    assert_eq!(given, Server { momentum: 0.25, averaging: 0.5, ..Kind::Yogi.server() }, "in any order");
    let no_trace = ["server.momentum=0.25", "server.step=3", "server.epsilon=1"];
    assert_eq!(server(&no_trace), server(&[]));
    let error = parse("task.name = 'synthetic'", &["server.momentum=1"]).unwrap_err();
    assert!(error.contains("server.momentum") && error.contains("below 1"), "{error}");
    let batch = "task.name = 'cifar10-mobilenet'\ntask.norm = 'batch'\n";
    let error = parse(batch, &["server.optimiser=adam"]).unwrap_err();
    assert!(error.contains("server.optimiser") && error.contains("batch"), "{error}");
    assert!(parse(batch, &["server.averaging=0.9"]).is_ok());
}

/// A preset sets what is left out; a written key wins; the scheme changes nothing.
#[test]
fn a_preset_expands_to_keys_and_a_written_key_wins() {
    let paper = (Kind::None.server(), Encoding::F32);
    let settings = |overrides: &[&str]| {
        let scenario = of("shakespeare-lstm", overrides);
        assert_eq!(parse(&scenario.to_toml(), &[]).unwrap(), scenario, "run.toml holds every key");
        (scenario.server, scenario.update.encoding)
    };
    let adam = Server { step: 0.02, momentum: 0.8, averaging: 0.9, ..Kind::Adam.server() };
    let tuned = (adam, Encoding::Int4);
    assert_eq!(settings(&[]), tuned);
    assert_eq!(settings(&["preset=tuned"]), tuned);
    assert_eq!(settings(&["preset=paper"]), paper);
    for scheme in Scheme::ALL {
        let scheme = format!("plan.scheme={scheme}");
        assert_eq!(settings(&[&scheme]), tuned, "a scheme never sets server or encoding");
        assert_eq!(settings(&[&scheme, "preset=paper"]), paper);
    }
    let plain = ["server.optimiser=none", "server.averaging=0", "update.encoding=f32"];
    assert_eq!(settings(&plain), paper);
    assert_eq!(settings(&["server.step=0.1"]), (Server { step: 0.1, ..tuned.0 }, tuned.1));
    let given = settings(&["fleet.payload_mbit=3"]);
    assert_eq!(given, (tuned.0, Encoding::F32), "fewer bits would shorten no upload");
    let batch = of("cifar10-mobilenet", &["task.norm=batch"]);
    assert_eq!((batch.server, batch.update.encoding), paper, "statistics are no parameters");
    let error = parse("preset = 'papr'\ntask.name = 'synthetic'", &[]).unwrap_err();
    assert!(error.contains("line 1: preset") && error.contains("did you mean \"paper\"?"), "{error}");
}

/// `scenario new` prints every key that a preset sets, so a preset on the command line has to take them back.
#[test]
fn a_preset_on_the_command_line_beats_the_file_and_loses_to_set() {
    let task = "mnist-cnn".parse().unwrap();
    let template = Scenario::template(task, Preset::Tuned).unwrap();
    let paper = Scenario::new(task, Preset::Paper).unwrap();
    assert_eq!(parse(&template, &["preset=paper"]).unwrap(), paper);
    let with_step = parse(&template, &["server.optimiser=momentum", "preset=paper"]).unwrap();
    assert_eq!(with_step.server, Server { averaging: 0.0, ..Kind::Momentum.server() });
    let in_file = parse(&format!("preset = 'paper'\n{template}"), &[]).unwrap();
    assert_eq!(in_file, Scenario::new(task, Preset::Tuned).unwrap(), "in a file, a written key wins");
}

/// Where rounds are many, more devices per round are faster.
#[test]
fn the_sampling_variance_follows_from_task_and_preset() {
    let variance = |task: &str, overrides: &[&str]| of(task, overrides).plan.variance;
    assert_eq!(variance("shakespeare-lstm", &[]), 0.175);
    assert_eq!(variance("cifar10-mobilenet", &[]), 0.175);
    assert_eq!(variance("cifar10-mobilenet", &["task.norm=batch"]), 0.5);
    assert_eq!(variance("mnist-cnn", &[]), DEFAULT_VARIANCE);
    for task in Task::names() {
        assert_eq!(variance(task, &["preset=paper"]), DEFAULT_VARIANCE);
        assert_eq!(variance(task, &["plan.variance=0.3"]), 0.3);
    }
    let quiet = of("cifar10-mobilenet", &["task.norm=batch"]).plan.quiet();
    assert_eq!(quiet.map(|quiet| (quiet.variance, quiet.every)), Some((0.1, 20)));
    let asked = of("mnist-cnn", &["plan.quiet_variance=0.3", "plan.quiet_every=9"]).plan.quiet();
    assert_eq!(asked.map(|quiet| (quiet.variance, quiet.every)), Some((0.3, 9)));
    assert_eq!(of("mnist-cnn", &[]).plan.quiet(), None);
}

/// Target shorthands and the three keys that they stand for.
#[test]
fn the_last_word_on_the_target_counts() {
    let target = |text: &str, overrides: &[&str]| {
        let scenario = parse(&format!("task.name = 'mnist-cnn'\n[stop]\n{text}"), overrides);
        scenario.map(|scenario| {
            let Target { metric, at, mode } = scenario.stop.target;
            (metric, at, mode)
        })
    };
    let accuracy = |at: f64| ("accuracy".to_owned(), at, TargetMode::Max);
    let loss = |at: f64| ("loss".to_owned(), at, TargetMode::Min);
    assert_eq!(target("", &[]), Ok(accuracy(0.95)));
    assert_eq!(target("at = 0.5", &[]), Ok(accuracy(0.5)));
    assert_eq!(target("target_loss = 0.5", &[]), Ok(loss(0.5)));
    assert_eq!(target("metric = 'loss'\nat = 0.25", &[]), Ok(loss(0.25)), "losses fall");
    assert_eq!(target("metric = 'loss'\nat = 0.25", &["stop.target_accuracy=0.7"]), Ok(accuracy(0.7)));
    assert_eq!(target("target_accuracy = 0.7", &["stop.target_loss=0.3"]), Ok(loss(0.3)));
    for two in
        ["target_accuracy = 0.7\ntarget_loss = 0.3", "metric = 'loss'\nat = 1.0\ntarget_accuracy = 0.5"]
    {
        let error = target(two, &[]).unwrap_err().to_string();
        assert!(error.contains("is a second target beside stop.target_accuracy"), "{error}");
    }
    assert_eq!(target("target_loss = 0.5", &["stop.at=0.3"]), Ok(loss(0.3)));
    let whole = "metric = 'accuracy'\nat = 0.7\nmode = 'max'";
    assert_eq!(
        target(whole, &["stop.metric=loss", "stop.at=0.5"]),
        Ok(loss(0.5)),
        "the file's mode is of its metric"
    );
    assert!(target(whole, &["stop.metric=loss"]).unwrap_err().to_string().contains("stop.at is missing"));
    assert!(target(whole, &["stop.at=70"]).unwrap_err().to_string().contains("70 % accuracy is 0.7"));
    assert!(target(whole, &["stop.mode=min"]).unwrap_err().to_string().contains("larger values are better"));
    assert_eq!(target("target_loss = 0.3", &["stop.metric=accuracy", "stop.at=0.6"]), Ok(accuracy(0.6)));
    assert!(target("metric = 'loss'\nat = 0.25\nmode = 'max'", &[]).is_err());
    let error = target("metric = 'loss'", &[]).unwrap_err();
    assert!(error.contains("line 3") && error.contains("stop.at is missing"), "{error}");
    let error = target("metric = 'acuracy'", &[]).unwrap_err();
    assert!(error.contains("did you mean \"accuracy\"?"), "{error}");
}

/// Names that other systems use lead to ours, and not to the nearest other key.
#[test]
fn the_fields_names_for_keys_are_answered_with_ours() {
    for (path, right) in [("data.alpha", "data.concentration"), ("train.lr", "train.learning_rate")] {
        let error = parse("task.name = 'mnist-cnn'", &[&format!("{path}=0.1")]).unwrap_err();
        assert!(error.ends_with(&format!("did you mean {right}?")), "{error}");
    }
}

/// A run whose honest updates turn out larger than the trial's resumes with another bound.
#[test]
fn a_bound_on_norms_may_change_when_a_run_resumes() {
    let [stored, bounded] = [&[][..], &["server.update_norm_max=7"]].map(|set| of("synthetic", set).stored());
    assert_ne!(stored, bounded);
    assert_eq!(fedflip_record::changed::difference_in_words(&stored, &bounded, crate::FREE_KEYS), None);
    assert_eq!(fedflip_record::changed::difference_in_words(&bounded, &stored, crate::FREE_KEYS), None);
}

/// The ranges here and those of the libraries are the same.
#[test]
fn what_is_taken_is_what_the_libraries_take() {
    let checked = |overrides: &[&str]| {
        let scenario = parse("task.name = 'mnist-cnn'", overrides)?;
        let settings = scenario.task_settings();
        settings.sgd.checked().map_err(|error| error.to_string())?;
        settings.task.network().map(|_| ()).map_err(|error| error.to_string())
    };
    for good in
        ["train.learning_rate=1e6", "train.learning_rate=1e-30", "train.batch=65536", "train.iterations=0"]
    {
        checked(&[good]).unwrap();
    }
    checked(&["train.iterations=1000000"]).unwrap();
    for (key, beyond) in [("batch", 65_537), ("iterations", 1_000_001)] {
        assert!(checked(&[&format!("train.{key}={beyond}")]).unwrap_err().contains("out of range"));
    }
    checked(&["task.name=synthetic", "task.hidden=4096"]).unwrap();
    checked(&["task.name=cifar10-mobilenet", "task.width=0.25"]).unwrap();
    for scheme in Scheme::ALL {
        assert_eq!(of("synthetic", &[&format!("plan.scheme={scheme}")]).plan.scheme, scheme);
    }
}

fn tasks() -> impl Strategy<Value = Task> {
    let spread = 0.0..1e6_f64;
    let task = |name: &str| Task::by_name(name).unwrap();
    let set = |task: Task, name: &str, value: ParamValue<'_>| task.with(name, value).unwrap();
    let norms = prop::sample::select(vec!["group", "batch"]);
    prop_oneof![
        (spread.clone(), spread, 0..=4096_usize).prop_map(move |(model, data, hidden)| {
            let spread = set(task("synthetic"), "model_spread", ParamValue::Number(model));
            let spread = set(spread, "data_spread", ParamValue::Number(data));
            set(spread, "hidden", ParamValue::Count(hidden))
        }),
        (prop::sample::select(vec!["mnist-cnn", "fashion-cnn"]), any::<bool>())
            .prop_map(move |(name, wide)| set(task(name), "wide", ParamValue::Flag(wide))),
        (0.25..1.0_f64, norms).prop_map(move |(width, norm)| {
            let wide = set(task("cifar10-mobilenet"), "width", ParamValue::Number(width));
            set(wide, "norm", ParamValue::Choice(norm))
        }),
        Just(task("shakespeare-lstm")),
    ]
}

/// Numbers of every size between two powers of ten.
fn sizes(from: i32, to: i32) -> impl Strategy<Value = f64> + Clone {
    (f64::from(from)..f64::from(to)).prop_map(|exponent| 10_f64.powf(exponent))
}

fn sharings() -> impl Strategy<Value = Sharing> {
    let dirichlet = (sizes(-3, 6), 1..1_000_000_usize).prop_map(|(concentration, min_samples)| {
        Sharing::Dirichlet(Dirichlet { concentration, min_samples })
    });
    prop_oneof![dirichlet, Just(Sharing::Iid), Just(Sharing::ByRole)]
}

fn fleets() -> impl Strategy<Value = GeneratedFleet> {
    let types = prop::sample::subsequence(PAPER.to_vec(), 1..=5);
    (1..20_000_000_usize, types, sizes(-5, 8), sizes(-5, 8)).prop_map(|(devices, types, payload, work)| {
        GeneratedFleet {
            devices,
            types,
            payload: Mbit::new(payload).unwrap(),
            work: Gflop::new(work).unwrap(),
            sample_work: Gflop::new(if devices % 2 == 0 { work / 1e3 } else { 0.0 }).unwrap(),
        }
    })
}

fn servers() -> impl Strategy<Value = Server> {
    let kinds = prop::sample::select(vec![Kind::None, Kind::Momentum, Kind::Adam, Kind::Yogi]);
    let share = || 0.0..0.999_999;
    let averaging = prop_oneof![Just(0.0), share()];
    let norms = prop::option::of(sizes(-9, 6));
    (kinds, sizes(-9, 6), share(), share(), sizes(-12, 6), averaging, norms).prop_map(
        |(kind, step, momentum, second_moment, epsilon, averaging, update_norm_max)| {
            let defaults = Server { averaging, update_norm_max, ..kind.server() };
            match kind {
                Kind::None => defaults,
                Kind::Momentum => Server { step, momentum, ..defaults },
                Kind::Adam | Kind::Yogi => Server { step, momentum, second_moment, epsilon, ..defaults },
            }
        },
    )
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let seeds = || 0..i64::MAX as u64;
    let secs = || sizes(-9, 9).prop_map(|secs| Secs::new(secs).unwrap());
    let schemes = prop_oneof![
        prop::sample::select(Scheme::ALL.to_vec()),
        sizes(-300, 0).prop_map(|q| Scheme::Fixed(Probability::new(q).unwrap()))
    ];
    let divisions = prop_oneof![Just(Division::Adaptive), Just(Division::Equal)];
    let clips = || prop_oneof![Just(Clip::Auto), sizes(-9, 9).prop_map(Clip::Norm)];
    let aggregations = prop_oneof![
        Just(Aggregation::Unbiased),
        Just(Aggregation::CohortMean),
        clips().prop_map(Aggregation::Clipped),
        (0.0..0.49, clips()).prop_map(|(share, clip)| Aggregation::Trimmed { share, clip }),
    ];
    let encodings = prop::sample::select(Encoding::ALL.map(|(_, encoding)| encoding).to_vec());
    let rounds = || 1..=1_000_000_000_u64;
    let hours = || prop::option::of(sizes(-9, 9));
    (
        (seeds(), tasks(), seeds(), sharings(), 1..=1_000_000_usize, fleets(), sizes(-9, 9)),
        (sizes(-30, 6), 1..=65_536_usize, 0..=1_000_000_usize, schemes, sizes(-12, 15), sizes(-12, 15)),
        (sizes(-9, 6), 1..=1000_u64, rounds(), divisions, secs(), prop::option::of(secs()), encodings),
        (
            0.0..10.0_f64,
            0.0..40.0_f64,
            0.0..1.0_f64,
            sizes(-9, 0),
            rounds(),
            hours(),
            hours(),
            rounds(),
            secs(),
        ),
        (
            servers(),
            aggregations,
            prop_oneof![Just(1.4), sizes(-6, 6)],
            prop::option::of((sizes(-6, 6), 2..=1_000_000_000_u64)),
        ),
    )
        .prop_map(|(what, how, when, world, (mut server, aggregation, variance, quiet))| {
            let (seed, task, data_seed, mut sharing, test_samples_max, made_up, band) = what;
            let (learning_rate, batch, iterations, scheme, alpha, beta) = how;
            let (loss, seeds, pilot_rounds, allocation, overhead, deadline, encoding) = when;
            let (compute_jitter, fading_db, dropout, target_accuracy, rounds_max, virtual_max, real_max, ..) =
                world;
            let (.., evaluate_every, checkpoint) = world;
            if task.has_running_statistics() {
                let Server { averaging, update_norm_max, .. } = server;
                server = Server { averaging, update_norm_max, ..Kind::None.server() };
            }
            let target = match virtual_max {
                None => Target { metric: "accuracy".to_owned(), at: target_accuracy, mode: TargetMode::Max },
                Some(hours) => Target { metric: "loss".to_owned(), at: hours, mode: TargetMode::Min },
            };
            // A task without roles, or with nothing to share, has the default.
            if !task.row().sharings.contains(&sharing.name()) {
                sharing = Sharing::paper();
            }
            let deadline_margin = dropout / 2.0;
            let (payload, concurrency) = (made_up.payload, (seeds % 2 == 0).then_some(1 + seeds as usize));
            Scenario {
                seed,
                task,
                data: Data {
                    seed: data_seed,
                    sharing,
                    validation: 0.0,
                    test_samples_max,
                    weights: Default::default(),
                    own: Default::default(),
                },
                evaluate: Default::default(),
                initial: None,
                external_settings: Default::default(),
                fleet: FleetSource::Generated(made_up),
                bandwidth: Mbps::new(band).unwrap(),
                costs: CostSettings {
                    overhead,
                    planned_overhead: (seeds % 3 == 0).then_some(overhead),
                    radio: Radio::Linear,
                    spectrum: (seeds % 2 == 0).then(|| Mhz::new(20.0).unwrap()),
                    downlink: DownlinkMode::NAMES[(seeds % 3) as usize].1,
                    download_bandwidth: Mbps::new(band).unwrap(),
                    download_encoding: [Encoding::F32, Encoding::Int8][(seeds % 2) as usize],
                    download: payload,
                    upload: payload,
                },
                train: Train {
                    learning_rate,
                    batch,
                    steps: match iterations % 3 {
                        0 => Steps::Epochs(1 + iterations % 10_000),
                        _ => Steps::Iterations(iterations),
                    },
                    momentum: if seeds % 2 == 0 { dropout.min(0.999_999) } else { 0.0 },
                    weight_decay: if seeds % 3 == 0 { loss } else { 0.0 },
                    proximal: if seeds % 5 == 0 { loss } else { 0.0 },
                },
                server,
                update: Update { encoding },
                plan: Planning {
                    scheme,
                    constants: Constants::new(alpha, beta).unwrap(),
                    variance,
                    quiet_variance: quiet.map(|(variance, _)| variance),
                    quiet_every: quiet.map_or(QUIET_EVERY, |(_, every)| every),
                    luo_norms: if seeds % 2 == 0 { vec![1.0, 0.5 + dropout] } else { Vec::new() },
                    luo_offset: if seeds % 3 == 0 { loss } else { 0.0 },
                },
                pilot: Pilots { loss, seeds, rounds_max: pilot_rounds, keep: seeds % 2 == 0 },
                round: Round { allocation, aggregation, deadline, deadline_margin, concurrency },
                world: Conditions { compute_jitter, fading_db, dropout },
                stop: Stop { target, rounds_max, virtual_hours_max: virtual_max, real_hours_max: real_max },
                record: Record { evaluate_every, checkpoint },
            }
        })
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(scenario in scenarios()) {
        let text = scenario.to_toml();
        let read = parse(&text, &[]);
        prop_assert_eq!(read.as_ref(), Ok(&scenario));
        prop_assert_eq!(read.unwrap().to_toml(), text);
    }

    /// As a file and as an override: refused or taken, but never a panic.
    #[test]
    fn no_text_makes_it_panic(text in "(\\PC|\n|=|\\[|\\]|\"|task|train|name){0,60}", path in "[a-z_.]{0,20}") {
        let _ = parse(&text, &[]);
        let _ = parse("task.name = 'synthetic'", &[&format!("{path}={text}")]);
        let _ = parse("task.name = 'synthetic'", &[&text]);
    }

    /// Every key with every kind of value.
    #[test]
    fn no_value_makes_it_panic(
        key in prop::sample::select(super::keys::all().map(super::keys::Key::path).collect::<Vec<_>>()),
        value in "(-?[0-9]{1,30}(\\.[0-9]{1,5})?(e-?[0-9]{1,4})?)|nan|inf|true|\\[\\]|\\['a'\\]|\\{a=1\\}|'[a-z]{0,9}'|1979-05-27",
    ) {
        for task in Task::names() {
            if let Ok(scenario) = parse(&format!("task.name = {task:?}"), &[&format!("{key}={value}")]) {
                prop_assert_eq!(parse(&scenario.to_toml(), &[]), Ok(scenario));
            }
        }
    }
}
