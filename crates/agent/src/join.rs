//! From the arguments of `join` to an agent that runs.

use std::net::{Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fedflip_net::NetError;
use fedflip_net::agent::{self, AgentSettings, BuiltInTasks, Credentials, Farewell, News};
use fedflip_net::door::client_config;
use fedflip_net::identity::DeviceName;
use fedflip_net::plain;
use tracing::{info, warn};

use crate::advice;
use crate::args::JoinArgs;
use crate::data_dir::data_dir;
use crate::error::JoinError;
use crate::logs;

/// Set by Ctrl-C and SIGTERM.
static STOP: AtomicBool = AtomicBool::new(false);

/// Takes part until the run is over, somebody presses Ctrl-C, or the server refuses the device for good.
pub fn join(args: &JoinArgs) -> Result<Farewell, JoinError> {
    logs::begin(args.logs);
    let settings = settings(args)?;
    // Without a handler Ctrl-C ends the process, which loses nothing.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    Ok(take_part(&settings, &|| STOP.load(Ordering::Relaxed), &mut |_| {})?)
}

/// Takes part until the run is over, `stop` returns true, or the server refuses the device for good. The log says what
/// happens, and `watch` sees the same news.
pub fn take_part(
    settings: &AgentSettings,
    stop: &(dyn Fn() -> bool + Sync),
    watch: &mut (dyn FnMut(&News) + Send),
) -> Result<Farewell, NetError> {
    let name = settings.credentials.name.clone();
    info!(device = %name, server = %settings.server, "joining");
    let farewell = agent::join(settings, stop, &mut |news| {
        watch(&news);
        report(news);
    })?;
    match farewell {
        Farewell::Finished => info!(device = %name, "the run is over"),
        Farewell::Stopped => info!(device = %name, "stopped"),
    }
    Ok(farewell)
}

/// The settings of an agent for the tasks that fedflip has, if the arguments can be used.
pub fn settings(args: &JoinArgs) -> Result<AgentSettings, JoinError> {
    let secs = |setting, value: f64| match value {
        0.0..=1e6 => Ok(Duration::from_secs_f64(value)),
        _ => Err(JoinError::Seconds { setting, value }),
    };
    if !is_address(&args.server) {
        return Err(NetError::BadServer { server: args.server.clone() }.into());
    }
    let credentials = match &args.identity {
        Some(folder) => identity(folder)?,
        None => {
            let credentials = plain_identity(args.name.as_deref().unwrap_or_default())?;
            if !is_loopback(&args.server) {
                return Err(NetError::NotLoopback { server: args.server.clone() }.into());
            }
            credentials
        }
    };
    let tasks = BuiltInTasks { data_dir: data_dir(args.data_dir.as_deref()), own: args.data.clone() };
    // A wrong name should not wait for the server.
    tasks.check_files()?;
    Ok(AgentSettings {
        server: args.server.clone(),
        credentials,
        trains: Arc::new(tasks),
        save_model: args.save_model.as_deref().map(in_a_folder).transpose()?,
        compute_at_least: secs("compute_secs", args.compute_secs)?,
        give_up_after: args.give_up_secs.map(|value| secs("give_up_secs", value)).transpose()?,
    })
}

/// A device without certificates, which only a server on the same machine takes.
pub fn plain_identity(name: &str) -> Result<Credentials, NetError> {
    let name: DeviceName = name.parse()?;
    let coin = plain::coin(&name).ok_or_else(|| NetError::BadName { name: name.to_string() })?;
    Ok(Credentials { name, coin, tls: None })
}

/// Reads an identity; a file that is missing is named.
fn identity(folder: &Path) -> Result<Credentials, JoinError> {
    let needed = ["cert.pem", "key.pem", "coin.key", "ca.pem"];
    // Also of a folder that may not be read: that it may not is said where it is read.
    let is_missing = |name: &&str| matches!(folder.join(name).try_exists(), Ok(false));
    match needed.into_iter().find(is_missing) {
        Some(missing) => Err(JoinError::NoIdentity { folder: folder.display().to_string(), missing }),
        None => Ok(client_config(folder)?),
    }
}

/// A file whose folder is there: that there is none should not be found out at the end of a long run.
fn in_a_folder(file: &Path) -> Result<PathBuf, JoinError> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.is_none_or(Path::is_dir) && !file.is_dir() {
        true => Ok(file.to_owned()),
        false => Err(JoinError::NoFile { file: file.display().to_string() }),
    }
}

/// Whether this is HOST:PORT and nothing else: no scheme, no path.
fn is_address(server: &str) -> bool {
    let Some((host, port)) = server.rsplit_once(':') else { return false };
    let is_port =
        port.bytes().all(|digit| digit.is_ascii_digit()) && port.parse().is_ok_and(|port: u16| port > 0);
    let in_brackets = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match in_brackets {
        Some(host) => host.parse::<Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'-' | b'_'))
        }
    };
    is_host && is_port
}

/// Whether all addresses of a name are of this machine. A name without an address now may have any address later.
fn is_loopback(server: &str) -> bool {
    let found = server.to_socket_addrs().map(Iterator::collect::<Vec<SocketAddr>>).unwrap_or_default();
    !found.is_empty() && found.iter().all(|address| address.ip().is_loopback())
}

fn report(news: News) {
    match news {
        News::Reading { task } => info!(task, "reading the data"),
        News::Calibrating => info!("timing this device and its link"),
        News::Enrolled { compute_secs, comm_mbit } => info!(compute_secs, comm_mbit, "enrolled"),
        News::Attending { slot, samples } => info!(slot, samples, "attending: rounds may come"),
        News::TookPart { round, train_loss } => info!(round, train_loss, "took part"),
        // The session has said so in its log.
        News::Failed { .. } => {}
        News::Saved { file } => info!(file = %file.display(), "the model is kept"),
        News::Waiting { problem, doubt, wait } => {
            // Other problems are the network's, and mend themselves.
            let hint = doubt.map(|doubt| advice::net_hint(&NetError::ServerNotTrusted { doubt }));
            warn!(problem = %problem, hint, wait_secs = wait.as_secs_f64(), "not connected; trying again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_host_and_a_port() {
        for good in ["fl.example.org:7700", "127.0.0.1:1", "[::1]:65535", "my_host-2:80"] {
            assert!(is_address(good), "{good}");
        }
        let bad = [
            "",
            ":7700",
            "host",
            "host:",
            "host:0",
            "host:65536",
            "host:+80",
            "http://host:80",
            "host:80/x",
            "::1:80",
            "[x]:80",
            "a b:80",
            "user@host:80",
        ];
        for bad in bad {
            assert!(!is_address(bad), "{bad}");
        }
    }

    #[test]
    fn a_model_needs_a_folder_to_be_kept_in() {
        assert!(in_a_folder(Path::new("model.safetensors")).is_ok());
        let refused = |file: &str| in_a_folder(Path::new(file)).unwrap_err();
        for bad in ["no-such-folder/model.safetensors", "src"] {
            let error = refused(bad);
            assert!(error.to_string().starts_with(bad) && !error.hint().is_empty(), "{error}");
        }
    }

    #[test]
    fn what_stands_for_nothing_is_not_this_machine() {
        assert!(is_loopback("127.0.0.1:7700") && is_loopback("[::1]:7700"));
        assert!(!is_loopback("192.0.2.1:7700") && !is_loopback("no-such-host.invalid:7700"));
    }
}
