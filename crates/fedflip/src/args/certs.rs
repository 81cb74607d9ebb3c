//! What may be typed after `certs`.

use std::path::PathBuf;

/// Make a certificate authority, and identities for devices.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CertsCommand {
    /// Make an authority, and the identity of its server
    Init(CertsInitArgs),
    /// Issue an identity: key, certificate and coin key
    Device(CertsDeviceArgs),
    /// Renew certificates of devices: same name, key, coin and place in runs
    Renew(CertsRenewArgs),
    /// Renew the server's certificate, or give it other names; a server that runs takes it up by itself
    Server(CertsServerArgs),
    /// Revoke an identity: servers refuse it from their next look at the list
    Revoke(CertsRevokeArgs),
    /// List what was issued
    List(CertsListArgs),
}

/// Where the authority is.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthorityArgs {
    /// Folder of the authority
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub dir: PathBuf,
}

/// Make an authority, and the identity of its server.
///
/// The folder holds the authority's key: whoever has it can make devices. Carry only `devices/NAME` to a device.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs init
  fedflip certs init --dir /srv/fl/certs --host fl.example.org --host 192.168.1.10")]
pub(crate) struct CertsInitArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// A name or address by which devices reach the server; may be given more than once
    #[arg(long, value_name = "HOST", default_values = ["localhost", "127.0.0.1", "::1"])]
    pub host: Vec<String>,
    /// How long the server's certificate is good
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Renew the server's certificate, or give it other names.
///
/// A server that runs takes it up by itself within seconds; connections that are open stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs server
  fedflip certs server --host fl.example.org --host 192.168.1.10")]
pub(crate) struct CertsServerArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// A name or address by which devices reach the server; may be given more than once (by default as before)
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,
    /// How long the server's certificate is good
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Issue an identity: key, certificate and coin key.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs device phone-01
  fedflip certs device phone-01 phone-02 --days 90")]
pub(crate) struct CertsDeviceArgs {
    /// Names of devices: letters, digits, dots, dashes and underscores
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// How long the certificate is good
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Renew certificates of devices.
///
/// The name, the key, the coin and so the device's place in a run stay; only `cert.pem` changes. Copy the printed file
/// into the identity folder of the device: an agent that runs takes it up within seconds, and so does the server. The
/// certificate before it stays valid until it expires. `fedflip certs server` renews the server's own.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs renew phone-01
  fedflip certs renew phone-01 phone-02 --days 90
  scp \"$(fedflip certs renew phone-01)\" phone-01:phone-01/cert.pem")]
pub(crate) struct CertsRenewArgs {
    /// Names of devices
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// How long the certificate is valid from now on
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Revoke an identity: servers refuse it from their next look at the list.
#[derive(Debug, clap::Args)]
pub(crate) struct CertsRevokeArgs {
    /// The device's name
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub authority: AuthorityArgs,
}

/// List what was issued.
#[derive(Debug, clap::Args)]
pub(crate) struct CertsListArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Print one JSON array instead
    #[arg(long)]
    pub json: bool,
}
