//! The files of a device, ready for a connection.

use std::path::Path;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::sign::CertifiedKey;
use tonic::transport::{Certificate, ClientTlsConfig, Identity};
use webpki::KeyUsage;

use super::device_certificate::DeviceCertificate;
use super::files;
use crate::coin::CoinKey;
use crate::error::NetError;
use crate::identity::DeviceName;
use crate::identity::mint::unhex;

/// All that a device needs to take part.
#[derive(Clone, Debug)]
pub struct Credentials {
    /// As in the certificate, or, without one, as the device calls itself.
    pub name: DeviceName,
    pub coin: CoinKey,
    /// None only for a server on the same machine.
    pub tls: Option<DeviceTls>,
}

/// The device's side of TLS.
#[derive(Clone, Debug)]
pub struct DeviceTls {
    /// The device trusts only the authority, and the server's certificate must name the host that the user typed.
    pub config: ClientTlsConfig,
    /// The last second in which the device's certificate is valid.
    pub valid_until_unix_secs: i64,
}

/// Reads the folder that the authority issued: `cert.pem`, `key.pem`, `coin.key` and `ca.pem`.
///
/// Checks everything that the server would refuse, because here the error can name the file.
pub fn client_config(folder: &Path) -> Result<Credentials, NetError> {
    let [certificate_path, key_path, coin_path, authority_path] =
        ["cert.pem", "key.pem", "coin.key", "ca.pem"].map(|name| folder.join(name));
    let authorities = files::certificates(&authority_path)?;
    let chain = files::certificates(&certificate_path)?;
    let device_certificate = chain.first().and_then(|certificate| DeviceCertificate::read(certificate));
    let DeviceCertificate { caller, not_after_unix_secs, .. } =
        device_certificate.ok_or_else(|| NetError::damaged(&certificate_path, "names no device"))?;
    files::check(&certificate_path, &chain, &authorities, None, KeyUsage::client_auth())?;
    CertifiedKey::from_der(chain, files::key(&key_path)?, &ring::default_provider())
        .map_err(|error| NetError::damaged(&key_path, format!("does not fit cert.pem: {error}")))?;
    let digits = String::from_utf8(files::read(&coin_path)?).unwrap_or_default();
    let coin = unhex(digits.trim_end())
        .and_then(CoinKey::from_bytes)
        .ok_or_else(|| NetError::damaged(&coin_path, "holds no coin key of 64 hexadecimal digits"))?;
    if coin.public() != caller.coin {
        return Err(NetError::damaged(&coin_path, "is not the coin that cert.pem vouches for"));
    }
    let identity = Identity::from_pem(files::read(&certificate_path)?, files::read(&key_path)?);
    let authority = Certificate::from_pem(files::read(&authority_path)?);
    let config = ClientTlsConfig::new().ca_certificate(authority).identity(identity);
    let tls = Some(DeviceTls { config, valid_until_unix_secs: not_after_unix_secs });
    Ok(Credentials { name: caller.name.clone(), coin, tls })
}
