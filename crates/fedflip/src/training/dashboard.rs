//! Runs as they go, in a browser: `--dashboard`.

use std::net::SocketAddr;
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
    /// Serves a dashboard and tells where, if one is asked for.
    pub(super) fn of(args: &DashboardArgs, tell: &dyn Fn(SocketAddr)) -> Result<Option<Self>, CliError> {
        let Some(address) = &args.dashboard else { return Ok(None) };
        let dashboard = Dashboard::serve(Address::parse(address, args.dashboard_public)?)?;
        tell(dashboard.address());
        Ok(Some(Self { dashboard, began: now() }))
    }

    fn real_secs(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }
}

impl Follower for Watched {
    fn begin(&mut self, run: &Began<'_>) -> Result<(), RecordError> {
        self.began = now();
        self.dashboard.begin(&shown(run, &label(run)));
        Ok(())
    }

    fn replan(&mut self, run: &Began<'_>, reason: &str) {
        self.dashboard.replan(&shown(run, &label(run)), reason);
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

fn label(run: &Began<'_>) -> String {
    let pilot = if run.header.target_loss.is_some() { "pilot " } else { "" };
    format!("{pilot}{}", run.header.scheme)
}

fn shown<'a>(run: &Began<'a>, label: &'a str) -> Run<'a> {
    let Began { title, header, fleet, folder, q } = *run;
    Run { title, label, header, fleet, q, folder }
}
