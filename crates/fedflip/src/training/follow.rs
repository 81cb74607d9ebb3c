//! Those who follow runs as they go, beside the records and the bar: a dashboard, TensorBoard.

use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;

use fedflip_fleet::Fleet;
use fedflip_record::folder::RECORDS;
use fedflip_record::{End, Header, Line, RecordError, Round, reader};

use super::dashboard::Watched;
use super::tensorboard::TensorBoard;
use super::watch;
use crate::args::DashboardArgs;
use crate::error::CliError;

/// A run that begins, or goes on.
pub(crate) struct Began<'a> {
    /// Such as `3/24 exact-seed1`.
    pub title: &'a str,
    pub header: &'a Header,
    pub fleet: &'a Fleet,
    /// In which share of the rounds each device takes part.
    pub q: &'a [f64],
    /// The run's folder, if it is kept.
    pub folder: Option<&'a Path>,
}

/// Follows one run after another.
pub(crate) trait Follower {
    /// A run begins, goes on, or is shown again after its end; the one before it is over.
    fn begin(&mut self, run: &Began<'_>) -> Result<(), RecordError>;

    /// Another plan takes the place of the one that held: `run` as it is from now on.
    fn replan(&mut self, _run: &Began<'_>, _reason: &str) {}

    /// One more round; at first those that earlier sessions recorded. Called thousands of times a second where nothing is trained: it must not wait.
    fn round(&mut self, round: &Round) -> Result<(), RecordError>;

    /// What earlier sessions recorded has been seen; from now on rounds are new.
    fn caught_up(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    /// All runs are over: nothing more will come.
    fn all_done(&mut self) {}

    /// The run is over; none if it was interrupted and can go on.
    fn end(&mut self, end: Option<&End>) -> Result<(), RecordError>;
}

/// What is said when the work is over and the dashboard is not.
pub(crate) const STAYS: &str = "the dashboard stays until Ctrl-C";

/// Of an event in a log that says where the dashboard is.
pub(crate) const SERVED: &str = "serving a dashboard";

/// With --quiet too: whoever lets the system choose the port has to be told.
pub(crate) fn to_people(address: SocketAddr) {
    // If nobody listens, the work still counts.
    let _ = writeln!(std::io::stderr(), "dashboard: http://{address}/");
}

/// All who follow.
pub(crate) struct Followers(Vec<Box<dyn Follower>>);

impl Followers {
    /// Those whom the flags ask for.
    pub(crate) fn of(tensorboard: bool, dashboard: &DashboardArgs) -> Result<Self, CliError> {
        Self::telling(tensorboard, dashboard, &to_people)
    }

    /// The same, with somebody else to tell where the dashboard is.
    pub(crate) fn telling(
        tensorboard: bool,
        dashboard: &DashboardArgs,
        tell: &dyn Fn(SocketAddr),
    ) -> Result<Self, CliError> {
        let mut followers: Vec<Box<dyn Follower>> = Vec::new();
        if tensorboard {
            followers.push(Box::new(TensorBoard::new()));
        }
        if let Some(watched) = Watched::of(dashboard, tell)? {
            followers.push(Box::new(watched));
        }
        Ok(Self(followers))
    }

    /// With --keep-dashboard: hands out what was found, and lets people look until Ctrl-C.
    pub(crate) fn linger(self, args: &DashboardArgs, output: &mut dyn Write) -> Result<(), CliError> {
        self.lingering(args, output, || {
            // If nobody listens, it stays all the same.
            let _ = writeln!(std::io::stderr(), "{STAYS}");
        })
    }

    /// The same, with somebody else to tell that it stays.
    pub(crate) fn lingering(
        mut self,
        args: &DashboardArgs,
        output: &mut dyn Write,
        tell: impl FnOnce(),
    ) -> Result<(), CliError> {
        self.0.iter_mut().for_each(|follower| follower.all_done());
        if args.keep_dashboard && !watch::interrupted() {
            output.flush()?;
            tell();
            watch::until_interrupted();
        }
        Ok(())
    }

    /// A run begins, or goes on after so many rounds: those are read from its records and not held.
    pub(crate) fn begin(&mut self, run: &Began<'_>, rounds: u64) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|follower| follower.begin(run))?;
        if let Some(folder) = run.folder
            && rounds > 0
            && !self.0.is_empty()
        {
            let mut shown = Ok(());
            reader::each(&folder.join(RECORDS), |line| {
                if let (Line::Round(round), Ok(())) = (line, &shown) {
                    shown = self.round(&round);
                }
            })?;
            shown?;
        }
        self.0.iter_mut().try_for_each(|follower| follower.caught_up())
    }

    pub(crate) fn replan(&mut self, run: &Began<'_>, reason: &str) {
        self.0.iter_mut().for_each(|follower| follower.replan(run, reason));
    }

    pub(crate) fn round(&mut self, round: &Round) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|follower| follower.round(round))
    }

    pub(crate) fn end(&mut self, end: Option<&End>) -> Result<(), RecordError> {
        self.0.iter_mut().try_for_each(|follower| follower.end(end))
    }
}
