//! `fedflip bench`: how fast this machine trains.

use std::io::Write;
use std::process::Stdio;
use std::time::Instant;

use clap::ValueEnum;
use fedflip_learn::matmul::{Into, View, matmul};
use fedflip_learn::network::Network;
use fedflip_learn::task::{ParamValue, Task, TaskError};
use fedflip_run::processors;
use serde::{Deserialize, Serialize};

use super::bench_engine::{self, EngineJson};
use super::print_json;
use crate::args::{BenchArgs, BenchModel};
use crate::error::CliError;
use crate::own_program;
use crate::progress::Line;
use crate::render::{Table, percent, significant};

const BATCH: usize = 32;
const ITERATIONS: usize = 10;

#[derive(Serialize, Deserialize)]
struct BenchJson {
    threads: usize,
    /// Of all threads together.
    gemm_peak_gflops: f64,
    models: Vec<ModelJson>,
    /// Of rounds without training; measured where no model is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    engine: Option<EngineJson>,
}

#[derive(Serialize, Deserialize)]
struct ModelJson {
    model: String,
    client_updates_per_sec: f64,
    /// What the update's floating-point operations come to, against the measured peak.
    share_of_peak: f64,
    /// The most memory that the process held; null where the system does not tell.
    peak_mb: Option<f64>,
}

pub(super) fn run(args: &BenchArgs, output: &mut dyn Write) -> Result<(), CliError> {
    CliError::in_range("--secs", args.secs, 0.01..=3600.0, "from 0.01 to 3600")?;
    let threads = args.threads.map_or_else(processors, usize::from);
    let mut json = match args.model.as_slice() {
        [model] => measure(*model, threads, args.secs)?,
        [] => in_processes(BenchModel::value_variants(), threads, args.secs)?,
        models => in_processes(models, threads, args.secs)?,
    };
    if args.model.is_empty() {
        let _progress = Line::while_alive("measuring: rounds without training");
        json.engine = Some(bench_engine::measure(threads, args.secs)?);
    }
    if args.json {
        return print_json(output, &json);
    }
    write_text(output, &json)
}

fn write_text(output: &mut dyn Write, json: &BenchJson) -> Result<(), CliError> {
    let peak = significant(json.gemm_peak_gflops, 3);
    writeln!(output, "{} clients at a time; matrix products reach {peak} GFLOP/s\n", json.threads)?;
    let mut table = Table::new(&["model", "client updates per second", "share of peak", "memory"]);
    for model in &json.models {
        table.row(vec![
            model.model.clone(),
            significant(model.client_updates_per_sec, 3),
            percent(model.share_of_peak),
            model.peak_mb.map_or("–".to_owned(), |mb| format!("{} MB", significant(mb, 3))),
        ]);
    }
    table.write(output)?;
    writeln!(output, "\n  a client update is {ITERATIONS} steps of SGD on batches of {BATCH}")?;
    let Some(engine) = json.engine else { return Ok(()) };
    let [rounds, ms, events, sums, copies] = [
        engine.rounds_per_sec,
        engine.million_devices_round_ms,
        engine.events_per_sec,
        engine.aggregation_gb_per_sec,
        engine.memcpy_gb_per_sec,
    ]
    .map(|value| significant(value, 3));
    writeln!(output, "\nwithout training")?;
    writeln!(output, "  {rounds} rounds per second: ten of a hundred devices, recorded")?;
    writeln!(output, "  {ms} ms per round: ten of a million devices")?;
    writeln!(output, "  {events} events per second without rounds: a hundred of a thousand devices at work")?;
    writeln!(output, "  {sums} GB/s while updates are added up; memory is copied at {copies} GB/s")?;
    Ok(())
}

/// Each model by this same program in a process of its own: its memory is then its own.
fn in_processes(models: &[BenchModel], threads: usize, secs: f64) -> Result<BenchJson, CliError> {
    let mut all = BenchJson { threads, gemm_peak_gflops: 0.0, models: Vec::new(), engine: None };
    for model in models {
        let name = name(*model);
        let _progress = Line::while_alive(&format!("measuring: {name}"));
        let output = own_program::command()?
            .args(["bench", "--json", "--model", &name])
            .args(["--threads", &threads.to_string(), "--secs", &secs.to_string()])
            .stderr(Stdio::inherit())
            .output()?;
        let one: BenchJson =
            serde_json::from_slice(&output.stdout).map_err(|error| CliError::Output(error.into()))?;
        all.gemm_peak_gflops = all.gemm_peak_gflops.max(one.gemm_peak_gflops);
        all.models.extend(one.models);
    }
    Ok(all)
}

fn measure(model: BenchModel, threads: usize, secs: f64) -> Result<BenchJson, TaskError> {
    let gemm_peak_gflops = gemm_peak_gflops(threads);
    let network = task(model)?.network()?;
    let updates = on_threads(threads, secs, || {
        let mut client = Client::new(&network);
        move || client.update()
    });
    let gflop_per_update = network.step_flop(BATCH) * ITERATIONS as f64 * 1e-9;
    let entry = ModelJson {
        model: name(model),
        client_updates_per_sec: updates,
        share_of_peak: updates * gflop_per_update / gemm_peak_gflops,
        peak_mb: peak_mb(),
    };
    Ok(BenchJson { threads, gemm_peak_gflops, models: vec![entry], engine: None })
}

fn name(model: BenchModel) -> String {
    model.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

fn task(model: BenchModel) -> Result<Task, TaskError> {
    match model {
        BenchModel::MnistCnn => Task::by_name("mnist-cnn"),
        BenchModel::MnistCnnWide => Task::by_name("mnist-cnn")?.with("wide", ParamValue::Flag(true)),
        BenchModel::Cifar10Mobilenet => Task::by_name("cifar10-mobilenet"),
        BenchModel::ShakespeareLstm => Task::by_name("shakespeare-lstm"),
    }
}

/// A device that trains on the same batch again and again: the work does not depend on the numbers.
struct Client<'a> {
    network: &'a Network<f32>,
    params: Vec<f32>,
    buffers: fedflip_learn::network::Buffers<f32>,
    labels: Vec<f32>,
}

impl<'a> Client<'a> {
    fn new(network: &'a Network<f32>) -> Self {
        let mut buffers = network.buffers(BATCH);
        // Whole numbers below the number of symbols are a text, and an image as good as any.
        buffers.input().iter_mut().zip((0_u16..7).cycle()).for_each(|(x, n)| *x = f32::from(n));
        let params = (0..network.params_len()).map(|n| ((n * 37 % 101) as f32 - 50.0) * 1e-3).collect();
        Self { network, params, buffers, labels: (0..BATCH).map(|n| (n % 10) as f32).collect() }
    }

    fn update(&mut self) {
        for _ in 0..ITERATIONS {
            self.network.gradient(&self.params, &mut self.buffers, &self.labels);
            self.params.iter_mut().zip(&self.buffers.params_grad).for_each(|(x, grad)| *x -= 1e-4 * grad);
        }
    }
}

/// How often per second `threads` threads together do what `make` makes, over at least `secs`.
#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(super) fn on_threads<W: FnMut()>(threads: usize, secs: f64, make: impl Fn() -> W + Sync) -> f64 {
    let rates = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut work = make();
                    work();
                    let start = Instant::now();
                    let mut count = 0_u64;
                    while count == 0 || start.elapsed().as_secs_f64() < secs {
                        work();
                        count += 1;
                    }
                    count as f64 / start.elapsed().as_secs_f64()
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(0.0)).collect::<Vec<f64>>()
    });
    rates.iter().sum()
}

/// Products of 1024·1024 matrices, for half a second: what the processor gives at best.
fn gemm_peak_gflops(threads: usize) -> f64 {
    const SIDE: usize = 1024;
    let products = on_threads(threads, 0.5, || {
        let (a, mut c) = (vec![0.5_f32; SIDE * SIDE], vec![0.0; SIDE * SIDE]);
        let view = View::row_major(SIDE, SIDE);
        move || matmul(Into::Replace, (&mut c, view), (&a, view), (&a, view))
    });
    products * 2.0 * (SIDE as f64).powi(3) * 1e-9
}

/// The most memory that this process ever held, where the system tells.
fn peak_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024.0 * 1e-6)
}
