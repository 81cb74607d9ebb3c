//! A device that takes part in federated learning: the library behind `fedflip join` and `fedflip-join`.
//!
//! [`join_server`] connects to a server, flips this device's coin in each round, trains on this device's data and
//! uploads the updates. It connects again whenever the connection breaks. `examples/join.rs` is a whole program.
//! `examples/own_trainer.rs` trains a model of its own: [`PrepareTask`] makes a [`DeviceTraining`] of the task that the server
//! offers, and [`DeviceLearner`] makes one of every [`Learner`].
//!
//! ```no_run
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use fedflip_agent::{AgentSettings, BuiltInTasks, join_server, read_identity};
//!
//! let settings = AgentSettings {
//!     server: "fl.example.org:7700".to_owned(),
//!     credentials: read_identity(Path::new("certs/devices/phone-01"))?,
//!     trains: BuiltInTasks::in_folder("data"),
//!     compute_at_least: Duration::ZERO,
//!     save_model: None,
//!     give_up_after: Some(Duration::from_secs(60)),
//! };
//! join_server(&settings, &|| false, &mut |news| println!("{news:?}"))?;
//! # Ok::<(), fedflip_agent::NetError>(())
//! ```
//!
//! # Layout
//!
//! - [`args`]: the arguments of `join`.
//! - [`config`]: the same settings from a file and from the environment.
//! - [`mod@join`]: from arguments to an agent that runs.
//! - [`logs`]: the logs of agents and servers, as text or as JSON.
//! - [`data_dir`]: the folder of data sets.
//! - [`error`]: refusals with a hint; [`advice`]: the same in the words of the command line.

#![warn(missing_docs)]

pub mod advice;
pub mod args;
pub mod config;
mod config_file;
pub mod data_dir;
pub mod error;
pub mod join;
pub mod logs;

pub use args::{JoinArgs, LogArgs, LogFormat};
pub use error::JoinError;
pub use fedflip_fleet::ModelVector;
pub use fedflip_learn::task::ExternalTask;
pub use fedflip_learn::{LearnError, Learner, TrainKey};
pub use fedflip_net::NetError;
pub use fedflip_net::agent::{
    AgentSettings, BuiltInTasks, Credentials, DeviceLearner, DeviceTraining, Farewell, News, OfferedTask,
    PrepareTask, join as join_server,
};
pub use fedflip_net::door::client_config as read_identity;
pub use join::{join, plain_identity, settings, take_part};
