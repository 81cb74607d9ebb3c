//! The arguments of `certs`.

use std::path::PathBuf;

/// Make a certificate authority and identities for devices.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum CertsCommand {
    /// Make an authority and the identity of its server
    Init(CertsInitArgs),
    /// Issue identities of devices: key, certificate and coin key
    Device(CertsDeviceArgs),
    /// Renew certificates of devices; name, key, coin and place in runs stay the same
    Renew(CertsRenewArgs),
    /// Renew the server's certificate, or change its names; a running server loads the new one by itself
    Server(CertsServerArgs),
    /// Revoke an identity; servers refuse it as soon as they read the list again
    Revoke(CertsRevokeArgs),
    /// List all identities with their expiry dates
    List(CertsListArgs),
}

/// The folder that every command of `certs` works on.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthorityArgs {
    /// Folder of the authority
    #[arg(long, value_name = "FOLDER", default_value = "certs")]
    pub dir: PathBuf,
}

/// Make an authority and the identity of its server.
///
/// The folder holds the authority's key, and everybody who has this key can issue identities. Copy only `devices/NAME`
/// to a device.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs init
  fedflip certs init --dir /srv/fl/certs --host fl.example.org --host 192.168.1.10")]
pub(crate) struct CertsInitArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Name or address by which devices reach the server; may be given more than once
    #[arg(long, value_name = "HOST", default_values = ["localhost", "127.0.0.1", "::1"])]
    pub host: Vec<String>,
    /// Validity of the server's certificate, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Renew the server's certificate, or change its names.
///
/// A running server loads the new certificate by itself within seconds. Open connections stay open.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs server
  fedflip certs server --host fl.example.org --host 192.168.1.10")]
pub(crate) struct CertsServerArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Name or address by which devices reach the server; may be given more than once [default: as before]
    #[arg(long, value_name = "HOST")]
    pub host: Vec<String>,
    /// Validity of the server's certificate, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Issue identities of devices: key, certificate and coin key.
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
    /// Validity of the certificate, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Renew certificates of devices.
///
/// Only `cert.pem` changes. The name, the key and the coin stay, and so does the device's place in a run. Copy the
/// printed file into the identity folder of the device: a running agent loads it within seconds, and so does the
/// server. The previous certificate stays valid until it expires. `fedflip certs server` renews the server's
/// certificate.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs renew phone-01
  fedflip certs renew phone-01 phone-02 --days 90
  scp \"$(fedflip certs renew phone-01)\" phone-01:phone-01/cert.pem")]
pub(crate) struct CertsRenewArgs {
    /// Names of the devices to renew
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Validity of the certificate from now on, in days
    #[arg(long, value_name = "DAYS", default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub days: u32,
}

/// Revoke an identity; servers refuse it as soon as they read the list again.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  fedflip certs revoke phone-01")]
pub(crate) struct CertsRevokeArgs {
    /// Name of the device
    #[arg(value_name = "NAME")]
    pub name: String,
    #[command(flatten)]
    pub authority: AuthorityArgs,
}

/// List all identities with their expiry dates.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  fedflip certs list
  fedflip certs list --json")]
pub(crate) struct CertsListArgs {
    #[command(flatten)]
    pub authority: AuthorityArgs,
    /// Print one JSON array instead of text
    #[arg(long)]
    pub json: bool,
}
