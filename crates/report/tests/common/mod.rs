//! Folders of runs that never ran: records written by hand.

use fedflip_fleet::{Direction, Display, MetricInfo, Metrics};
use std::fs;
use std::path::{Path, PathBuf};

use fedflip_record::{Deployed, End, EndReason, Header, Line, Lost, Replan, Round, Target, TargetMode};
use fedflip_report::Collection;

/// A folder that goes away.
pub(crate) struct Runs {
    root: tempfile::TempDir,
}

/// What a run that never ran is like.
pub(crate) struct Run<'a> {
    pub scheme: &'a str,
    pub seed: u64,
    pub rounds: u64,
    /// Of each round.
    pub secs: f64,
    pub bandwidth_mbps: f64,
    pub end: Option<EndReason>,
    /// The headline: `accuracy`, or anything that is to fall to 0.5.
    pub metric: &'a str,
    /// At which a pilot ends.
    pub target_loss: Option<f64>,
    /// On real devices.
    pub deployed: Option<Deployed>,
    /// In the order of their rounds.
    pub replans: Vec<Replan>,
}

impl Default for Run<'_> {
    fn default() -> Self {
        Self {
            scheme: "exact",
            seed: 1,
            rounds: 20,
            secs: 2.0,
            bandwidth_mbps: 100.0,
            end: Some(EndReason::Target),
            metric: "accuracy",
            target_loss: None,
            deployed: None,
            replans: Vec::new(),
        }
    }
}

impl Runs {
    pub(crate) fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> &Path {
        self.root.path()
    }

    pub(crate) fn read(&self) -> Collection {
        Collection::read(&[self.path().to_owned()], None, None).unwrap()
    }

    /// Writes a run's folder, and returns it.
    pub(crate) fn add(&self, name: &str, run: &Run<'_>) -> PathBuf {
        let folder = self.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        let (scheme, seed, band) = (run.scheme, run.seed, run.bandwidth_mbps);
        let stop = run.target_loss.map_or(String::new(), |loss| format!("target_loss = {loss}\n"));
        let scenario = format!(
            "seed = {seed}\n[fleet]\nbandwidth_mbps = {band}\n[plan]\nscheme = {scheme:?}\nalpha = 20.0\nbeta = 3.0\n[stop]\n{stop}"
        );
        fs::write(folder.join("run.toml"), scenario).unwrap();
        fs::write(
            folder.join("fleet.csv"),
            "device,compute_secs,comm_secs,samples\nphone-0,1,10,30\nphone-1,1,20,30\nlaptop-0,0.5,5,40\n",
        )
        .unwrap();
        fs::write(
            folder.join("plan.csv"),
            "device,q,weight\nphone-0,0.5,0.6\nphone-1,0.5,0.6\nlaptop-0,0.8,0.5\n",
        )
        .unwrap();
        let text: Vec<String> =
            lines(run).iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        fs::write(folder.join("records.jsonl"), text.concat()).unwrap();
        folder
    }
}

fn lines(run: &Run<'_>) -> Vec<Line> {
    let is_accuracy = run.metric == "accuracy";
    let (better, display, at, mode) = match is_accuracy {
        true => (Direction::Larger, Display::Share, 0.9, TargetMode::Max),
        false => (Direction::Smaller, Display::Number, 0.5, TargetMode::Min),
    };
    let mut lines = vec![Line::Header(Header {
        version: fedflip_record::schema::VERSION,
        fedflip: "0.1.0".to_owned(),
        task: "synthetic".to_owned(),
        scheme: run.scheme.to_owned(),
        seed: run.seed,
        devices: 3,
        parameters: 10,
        bandwidth_mbps: run.bandwidth_mbps,
        costs: Default::default(),
        metrics: vec![
            MetricInfo { name: run.metric.to_owned().into(), better, display },
            MetricInfo::new("loss", Direction::Smaller, Display::Number),
        ],
        stop: Some(match run.target_loss {
            Some(at) => Target { metric: "loss".to_owned(), at, mode: TargetMode::Min },
            None => Target { metric: run.metric.to_owned(), at, mode },
        }),
        pilot: run.target_loss.is_some(),
        expected_participants: 1.8,
        expected_rounds: Some(10.0),
        expected_round_secs: Some(run.secs),
        unbiased: None,
        deployed: run.deployed,
    })];
    for round in 1..=run.rounds {
        // Everybody, the laptop alone, nobody, and so on.
        let cohort = [vec![0, 1, 2], vec![2], vec![]][(round % 3) as usize].clone();
        let lost =
            if round == 3 { vec![Lost { device: 1, reason: "deadline".to_owned() }] } else { Vec::new() };
        let number = round as f64;
        let mut metrics = Metrics::default();
        let headline = if is_accuracy { 1.0 - 1.0 / (1.0 + number) } else { 0.4 + 1.6 / number };
        metrics.set(run.metric.to_owned(), headline);
        metrics.set("loss", 2.0 / number);
        lines.push(Line::Round(Round {
            round,
            start_secs: run.secs * (round - 1) as f64,
            round_secs: run.secs,
            mbps: cohort.iter().map(|_| 100.0 / cohort.len() as f32).collect(),
            cohort,
            lost,
            metrics,
            ..Round::default()
        }));
        let after = run.replans.iter().filter(|replan| replan.after_round == round);
        lines.extend(after.cloned().map(Line::Replan));
    }
    if let Some(reason) = run.end {
        lines.push(Line::End(End {
            reason,
            rounds: run.rounds,
            secs: run.secs * run.rounds as f64,
            metrics: Default::default(),
            estimated: None,
            test: Default::default(),
            detail: None,
        }));
    }
    lines
}
