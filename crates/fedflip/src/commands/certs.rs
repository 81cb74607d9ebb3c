//! `fedflip certs`: a certificate authority, and identities for devices.

use std::io::Write;
use std::time::SystemTime;

use fedflip_net::door::EXPIRES_SOON_SECS;
use fedflip_net::identity::mint::Validity;
use fedflip_net::identity::{DeviceName, Issued, Store};

use super::print_json;
use crate::args::{
    CertsCommand, CertsDeviceArgs, CertsInitArgs, CertsListArgs, CertsRenewArgs, CertsRevokeArgs,
    CertsServerArgs,
};
use crate::error::CliError;
use crate::render::Table;

pub(super) fn run(command: &CertsCommand, output: &mut dyn Write) -> Result<(), CliError> {
    match command {
        CertsCommand::Init(args) => init(args, output),
        CertsCommand::Device(args) => device(args, output),
        CertsCommand::Renew(args) => renew(args, output),
        CertsCommand::Server(args) => server(args, output),
        CertsCommand::Revoke(args) => revoke(args, output),
        CertsCommand::List(args) => list(args, output),
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates hold from now on")]
pub(super) fn now_unix_secs() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

fn init(args: &CertsInitArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let dir = &args.authority.dir;
    let validity = Validity { now_unix_secs: now_unix_secs(), days: args.days };
    Store::create(dir, &args.host, validity)?;
    writeln!(
        output,
        "{}: an authority, and the identity of a server at {}",
        dir.display(),
        args.host.join(", ")
    )?;
    Ok(())
}

fn server(args: &CertsServerArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let mut store = Store::open(&args.authority.dir)?;
    let validity = Validity { now_unix_secs: now_unix_secs(), days: args.days };
    let hosts = if args.host.is_empty() { store.server_hosts()? } else { args.host.clone() };
    let folder = store.renew_server(&hosts, validity)?;
    writeln!(output, "{}: valid for {} days at {}", folder.display(), args.days, hosts.join(", "))?;
    Ok(())
}

fn device(args: &CertsDeviceArgs, output: &mut dyn Write) -> Result<(), CliError> {
    // All of them before the first is issued.
    let names = args.names.iter().map(|name| name.parse()).collect::<Result<Vec<DeviceName>, _>>()?;
    let mut store = Store::open(&args.authority.dir)?;
    store.check_new(&names)?;
    for name in &names {
        let folder = store.device(name, Validity { now_unix_secs: now_unix_secs(), days: args.days })?;
        writeln!(output, "{}", folder.display())?;
    }
    Ok(())
}

fn renew(args: &CertsRenewArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let names = args.names.iter().map(|name| name.parse()).collect::<Result<Vec<DeviceName>, _>>()?;
    let mut store = Store::open(&args.authority.dir)?;
    // All of them before the first is renewed.
    store.check_renewable(&names)?;
    for name in &names {
        let file = store.renew(name, Validity { now_unix_secs: now_unix_secs(), days: args.days })?;
        writeln!(output, "{}", file.display())?;
    }
    Ok(())
}

fn revoke(args: &CertsRevokeArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let mut store = Store::open(&args.authority.dir)?;
    store.revoke(&args.name, now_unix_secs())?;
    writeln!(output, "{} is revoked", args.name)?;
    Ok(())
}

fn list(args: &CertsListArgs, output: &mut dyn Write) -> Result<(), CliError> {
    let store = Store::open(&args.authority.dir)?;
    if args.json {
        return print_json(output, &store.issued());
    }
    let now = now_unix_secs();
    let mut table = Table::new(&["device", "serial", "state"]);
    for issued in store.issued() {
        table.row(vec![
            issued.name.clone(),
            issued.serial[..8.min(issued.serial.len())].to_owned(),
            state(issued, now),
        ]);
    }
    table.write(output)?;
    Ok(())
}

fn state(issued: &Issued, now_unix_secs: i64) -> String {
    let secs = issued.not_after_unix_secs.saturating_sub(now_unix_secs);
    // A day that has begun counts: what was issued for 30 days is good for 30 a second later.
    let days = secs.saturating_add(86_399).div_euclid(86_400);
    match issued.revoked_unix_secs {
        Some(_) => "revoked".to_owned(),
        None if secs < 0 => "expired".to_owned(),
        None if secs < EXPIRES_SOON_SECS => format!("valid for {days} days, due for renewal"),
        None => format!("valid for {days} days"),
    }
}
