//! Runs in a browser as they go: `--dashboard`.

use std::io::Write;
use std::net::SocketAddr;
use std::time::Instant;

use fedflip_dashboard::{Address, Dashboard, DashboardError, DeviceWatch, Run};
use fedflip_record::{End, Initial, RecordError, Round};
use fedflip_run::{Observer, RunInfo};

use crate::args::DashboardArgs;
use crate::error::CliError;
use crate::interrupt::{self, now};

/// What is said when the work is over and the dashboard stays.
pub(crate) const STAYS: &str = "the dashboard stays until Ctrl-C";

/// The log event that says where the dashboard is.
pub(crate) const SERVED: &str = "serving a dashboard";

/// Also with --quiet: whoever lets the system choose the port has to be told.
pub(crate) fn tell_people(address: SocketAddr) {
    // If nobody listens, the work still counts.
    let _ = writeln!(std::io::stderr(), "dashboard: http://{address}/");
}

/// Shows runs to browsers.
pub struct Watched {
    dashboard: Dashboard,
    /// When the run began.
    began: Instant,
}

impl Watched {
    /// Serves a dashboard and tells where, if one is asked for.
    pub(crate) fn of(args: &DashboardArgs, tell: &dyn Fn(SocketAddr)) -> Result<Option<Self>, CliError> {
        let Some(address) = &args.dashboard else { return Ok(None) };
        let watched = Self::serve(address, args.dashboard_public)?;
        tell(watched.address());
        Ok(Some(watched))
    }

    /// Serves a dashboard at HOST:PORT or at a port of this machine; `public` allows addresses that other machines reach.
    pub fn serve(address: &str, public: bool) -> Result<Self, DashboardError> {
        Ok(Self { dashboard: Dashboard::serve(Address::parse(address, public)?)?, began: now() })
    }

    /// Where browsers find it.
    pub fn address(&self) -> SocketAddr {
        self.dashboard.address()
    }

    /// Where the status of real devices comes from.
    pub fn device_watch(&self) -> DeviceWatch {
        self.dashboard.live().device_watch()
    }

    fn real_secs(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

/// With --keep-dashboard: hands out the result, and lets people look until Ctrl-C.
pub(crate) fn linger(
    args: &DashboardArgs,
    output: &mut dyn Write,
    tell: impl FnOnce(),
) -> Result<(), CliError> {
    if args.keep_dashboard && !interrupt::interrupted() {
        output.flush()?;
        tell();
        interrupt::wait();
    }
    Ok(())
}

impl Observer for Watched {
    fn begin(&mut self, run: &RunInfo<'_>) -> Result<(), RecordError> {
        self.began = now();
        self.dashboard.live().begin(&shown(run, &label(run)));
        Ok(())
    }

    fn replan(&mut self, run: &RunInfo<'_>, reason: &str) {
        self.dashboard.live().replan(&shown(run, &label(run)), reason);
    }

    fn initial(&mut self, initial: &Initial) -> Result<(), RecordError> {
        self.dashboard.live().initial(initial);
        Ok(())
    }

    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        self.dashboard.live().round(round, self.real_secs());
        Ok(())
    }

    fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        self.dashboard.live().end(end, self.real_secs());
        Ok(())
    }

    fn all_done(&mut self) {
        self.dashboard.live().finish();
    }
}

fn label(run: &RunInfo<'_>) -> String {
    let pilot = if run.header.pilot { "pilot " } else { "" };
    format!("{pilot}{}", run.header.scheme)
}

fn shown<'a>(run: &RunInfo<'a>, label: &'a str) -> Run<'a> {
    let RunInfo { title, header, fleet, folder, q, .. } = *run;
    Run { title, label, header, fleet, q, folder }
}
