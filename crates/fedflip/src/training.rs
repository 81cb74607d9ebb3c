//! What the commands that train have in common: flags turned into a session and into keys of the scenario.

use std::io::Write;
use std::path::Path;

use fedflip_plan::{Needs, Scheme};
use fedflip_run::tensorboard::TensorBoard;
use fedflip_run::{Session, processors};
use fedflip_scenario::Scenario;

use crate::args::{DataDirArgs, TrainingArgs};
use crate::bar::Bar;
use crate::crews;
use crate::dashboard::{self, Watched, tell_people};
use crate::error::CliError;
use crate::interrupt;
use crate::progress::warn;
use crate::settings;

/// A session as the flags describe it; from here on Ctrl-C stops runs after their round.
pub(crate) fn session(args: &TrainingArgs) -> Result<Session<'static>, CliError> {
    interrupt::catch(args.quiet);
    let mut session = new_session(&args.data, args.threads)?;
    session.resume = args.resume;
    session.crews = crews::of(&args.crew, args.data.data_dir.as_deref())?;
    session.observers.add(Bar::new());
    if args.tensorboard {
        session.observers.add(TensorBoard::new(interrupt::now));
    }
    if let Some(watched) = Watched::of(&args.dashboard, &tell_people)? {
        session.observers.add(watched);
    }
    Ok(session)
}

/// A session without observers.
pub(crate) fn new_session(data: &DataDirArgs, threads: Option<u16>) -> Result<Session<'static>, CliError> {
    let threads = threads.map_or_else(processors, usize::from);
    let session = Session::new(data.folder());
    Ok(Session { threads, stop: &interrupt::interrupted, now: interrupt::now, ..session })
}

/// The result has been printed: with --keep-dashboard it stays until Ctrl-C.
pub(crate) fn finish(
    mut session: Session<'_>,
    args: &TrainingArgs,
    output: &mut dyn Write,
) -> Result<(), CliError> {
    session.observers.all_done();
    dashboard::linger(&args.dashboard, output, || {
        // If nobody listens, it stays all the same.
        let _ = writeln!(std::io::stderr(), "{}", dashboard::STAYS);
    })
}

/// Flags in the scenario's own words: they are checked as its values are.
pub(crate) fn overrides(set: &[String], seed: Option<u64>) -> Vec<String> {
    let mut overrides = set.to_vec();
    overrides.extend(seed.map(|seed| format!("seed={seed}")));
    overrides
}

/// The scenario in a file with `--set`, `--seed` and `--scheme`. The scheme is not an override, because the files of
/// overrides start in the scenario's folder, and the file of a flag in the working directory.
pub(crate) fn read_scenario(
    path: &Path,
    overrides: &[String],
    scheme: Option<&str>,
) -> Result<Scenario, CliError> {
    // Before the scenario is read, so that the refusal names the flag and not the key.
    let scheme = scheme.map(settings::scheme).transpose()?;
    let mut scenario = Scenario::read(path, overrides)?;
    if let Some(scheme) = scheme {
        scenario.plan.scheme = scheme;
    }
    Ok(scenario)
}

/// Warns of keys that are set by hand and that none of the runs uses. In a file, which many schemes share, they are no
/// mistake.
pub(crate) fn warn_of_idle_keys(set: &[String], schemes: &[Scheme], runs: &[Scenario]) {
    if !schemes.iter().any(Scheme::needs_variance) {
        warn_of_idle_key(set, "plan.variance", "auto alone has it");
    }
    if schemes.iter().all(|scheme| scheme.method().buffer().is_none()) {
        warn_of_idle_key(set, "round.concurrency", "every scheme has rounds");
    }
    if schemes.iter().all(|scheme| scheme.describe().needs != Needs::Costs) {
        for key in ["plan.luo_norms", "plan.luo_offset"] {
            warn_of_idle_key(set, key, "luo alone has it");
        }
    }
    if !runs.iter().any(|run| run.plan.quiet_variance.is_some()) {
        warn_of_idle_key(set, "plan.quiet_every", "there are no quiet rounds");
    }
}

/// The same of pilots, which have one plan for all rounds.
pub(crate) fn warn_of_keys_idle_in_pilots(set: &[String]) {
    warn_of_idle_key(set, "plan.variance", "auto alone has it");
    for key in ["plan.quiet_variance", "plan.quiet_every"] {
        warn_of_idle_key(set, key, "pilots have no quiet rounds");
    }
}

fn warn_of_idle_key(set: &[String], key: &str, why: &str) {
    if set.iter().any(|set| set.split('=').next().is_some_and(|name| name.trim() == key)) {
        warn(&format!("--set {key} makes no difference here, because {why}: leave it out"));
    }
}
