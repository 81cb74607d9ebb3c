//! Workers of the program that hosts this command line, such as Python.

use std::sync::{Arc, OnceLock};

use fedflip_run::Crews;

use crate::args::CrewArgs;
use crate::error::CliError;

/// What the flags say of a crew.
#[derive(Clone, Copy, Debug)]
pub struct CrewRequest<'a> {
    /// `ray`, `mpi` or `process`.
    pub kind: &'a str,
    /// Of a cluster; none for this machine.
    pub address: Option<&'a str>,
    /// None for as many as there are processors.
    pub workers: Option<u32>,
    /// The folder of data sets, if one is named.
    pub data_dir: Option<&'a std::path::Path>,
    /// Whether workers may differ.
    pub mixed: bool,
}

/// Makes crews, or says why not and what to do.
pub type MakeCrews = dyn Fn(&CrewRequest<'_>) -> Result<Arc<dyn Crews>, (String, String)> + Send + Sync;

static HOST: OnceLock<Box<MakeCrews>> = OnceLock::new();

/// Says who makes crews. The first call counts.
pub(crate) fn set(host: Box<MakeCrews>) {
    let _ = HOST.set(host);
}

/// The crew of the flags; none without `--crew`.
pub(crate) fn of(
    args: &CrewArgs,
    data_dir: Option<&std::path::Path>,
) -> Result<Option<Arc<dyn Crews>>, CliError> {
    let Some(kind) = args.crew.as_deref() else { return Ok(None) };
    let Some(host) = HOST.get() else {
        return Err(CliError::usage(
            format!(
                "--crew {kind}: crews of workers are part of the Python package, which this program does not include"
            ),
            "pip install fedflip, and start the command with `python -m fedflip` instead of `fedflip`; \
             --threads trains in threads of this program",
        ));
    };
    let request = CrewRequest {
        kind,
        address: args.address.as_deref(),
        workers: args.workers,
        data_dir,
        mixed: args.mixed,
    };
    let refused = |(problem, remedy)| CliError::usage(format!("--crew {kind}: {problem}"), remedy);
    host(&request).map(Some).map_err(refused)
}
