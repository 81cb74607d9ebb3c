//! Runs as they go, in a browser: `--dashboard`.

use std::io::Write;
use std::time::Instant;

use fedflip_dashboard::{Address, Dashboard, Run};
use fedflip_record::{End, RecordError, Round};

use super::follow::{Began, Follower};
use super::watch::now;
use crate::args::DashboardArgs;
use crate::error::CliError;

/// Hands on what happens to those who watch.
pub(super) struct Watched {
    dashboard: Dashboard,
    /// When the run began.
    began: Instant,
}

impl Watched {
    /// Serves a dashboard and says where, if one is asked for.
    pub(super) fn of(args: &DashboardArgs) -> Result<Option<Self>, CliError> {
        let Some(address) = &args.dashboard else { return Ok(None) };
        let dashboard = Dashboard::serve(Address::parse(address, args.dashboard_public)?)?;
        // With --quiet too: whoever lets the system choose the port has to be told. If nobody listens, the
        // work still counts.
        let _ = writeln!(std::io::stderr(), "dashboard: http://{}/", dashboard.address());
        Ok(Some(Self { dashboard, began: now() }))
    }

    fn real_secs(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Follower for Watched {
    fn begin(&mut self, run: &Began<'_>) -> Result<(), RecordError> {
        let header = run.header;
        let pilot = if header.target_loss.is_some() { "pilot " } else { "" };
        self.began = now();
        self.dashboard.begin(&Run {
            title: run.title,
            label: &format!("{pilot}{}", header.scheme),
            header,
            fleet: run.fleet,
            q: run.plan.q(),
            folder: run.folder,
        });
        Ok(())
    }

    fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        self.dashboard.round(round, self.real_secs());
        Ok(())
    }

    fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        self.dashboard.end(end, self.real_secs());
        Ok(())
    }

    fn all_done(&mut self) {
        self.dashboard.finish();
    }
}
