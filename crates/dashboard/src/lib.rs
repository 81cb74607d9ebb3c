//! Runs as they go, in a browser.
//!
//! [`Live`] is what there is to see: a value that runs add to and readers take from, bounded in memory.
//! [`Dashboard`] serves it from a thread of its own. The run never waits for a reader: it adds to the view
//! under a lock that readers hold for the time of a small copy, and a reader that is slow skips what it missed.
//!
//! # Layout
//!
//! - [`live`]: the view: the run in progress (`current`), and the curves of those before it.
//! - [`standings`]: how the schemes of a comparison did so far.
//! - [`series`]: curves of bounded size.
//! - [`tally`]: what each device did so far, and who did what in the latest round.
//! - [`log`]: the last things that happened, in words.
//! - [`update`]: what a reader is sent: everything at first, then what is new.
//! - [`fleet_page`]: a page of the fleet's table.
//! - [`address`]: where it may be served.
//! - [`server`]: the thread, its connections and what they may ask for.
//! - [`error`]: why there is no dashboard, and what to do about it.
//!
//! The page itself is in `assets`, embedded in the binary: nothing is fetched from elsewhere.

pub mod address;
mod current;
pub mod error;
pub mod fleet_page;
pub mod live;
pub mod log;
pub mod series;
pub mod server;
pub mod standings;
pub mod tally;
#[cfg(test)]
mod testing;
pub mod update;

pub use address::Address;
pub use error::DashboardError;
pub use live::{DeviceWatch, Live, Run};
pub use server::Dashboard;
