//! From what was typed to an agent that runs.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, Credentials, Farewell, News};
use fedflip_net::door::client_config;
use fedflip_net::identity::DeviceName;
use fedflip_net::plain;
use tracing::{info, warn};

use crate::args::JoinArgs;
use crate::data_dir::data_dir;
use crate::error::JoinError;
use crate::logs;

/// Set by Ctrl-C and SIGTERM.
static STOP: AtomicBool = AtomicBool::new(false);

/// Takes part until the run is over, Ctrl-C, or a refusal for good.
pub fn join(args: &JoinArgs) -> Result<Farewell, JoinError> {
    logs::begin(args.logs);
    let settings = settings(args)?;
    // Without a handler Ctrl-C ends the process, which loses nothing.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let name = settings.credentials.name.clone();
    info!(device = %name, server = %settings.server, "joining");
    let farewell = agent::join(&settings, &|| STOP.load(Ordering::Relaxed), &mut report)?;
    match farewell {
        Farewell::Finished => info!(device = %name, "the run is over"),
        Farewell::Stopped => info!(device = %name, "stopped"),
    }
    Ok(farewell)
}

/// What was typed, checked.
fn settings(args: &JoinArgs) -> Result<AgentSettings, JoinError> {
    let secs = |flag, value: f64| match value {
        0.0..=1e6 => Ok(Duration::from_secs_f64(value)),
        _ => Err(JoinError::Flag { flag, value }),
    };
    let credentials = match (&args.identity, &args.name) {
        (Some(folder), _) => {
            let pass = client_config(folder)?;
            Credentials { name: pass.name, coin: pass.coin, tls: Some(pass.tls) }
        }
        (None, name) => {
            let name: DeviceName = name.as_deref().unwrap_or_default().parse()?;
            if !is_loopback(&args.server) {
                return Err(JoinError::NotLoopback { server: args.server.clone() });
            }
            let coin = plain::coin(&name).ok_or(NetError::BadName { name: name.to_string() })?;
            Credentials { name, coin, tls: None }
        }
    };
    Ok(AgentSettings {
        server: args.server.clone(),
        credentials,
        data_dir: data_dir(args.data_dir.as_deref()).ok_or(JoinError::NoHome)?,
        compute_at_least: secs("--compute-secs", args.compute_secs)?,
        give_up_after: args.give_up_secs.map(|value| secs("--give-up-secs", value)).transpose()?,
    })
}

/// Whether all that a name stands for is this machine.
fn is_loopback(server: &str) -> bool {
    match server.to_socket_addrs() {
        Ok(mut addresses) => addresses.all(|address| IpAddr::is_loopback(&address.ip())),
        // Nobody to talk to: the call says so.
        Err(_) => true,
    }
}

fn report(news: News) {
    match news {
        News::Reading { task } => info!(task, "reading the data"),
        News::Calibrating => info!("timing this device and its link"),
        News::Enrolled { compute_secs, comm_mbit } => info!(compute_secs, comm_mbit, "enrolled"),
        News::Attending { slot, samples } => info!(slot, samples, "attending: rounds may come"),
        News::TookPart { round, train_loss } => info!(round, train_loss, "took part"),
        News::Waiting { problem, wait } => {
            warn!(problem = %problem, wait_secs = wait.as_secs_f64(), "not connected; trying again");
        }
    }
}
