//! The files of a device, ready for a connection.

use std::path::{Path, PathBuf};

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
    /// The folder that a renewed certificate is read from; none if there is no such folder.
    pub folder: Option<PathBuf>,
    /// The device's certificate as it was read.
    pub certificate_pem: Vec<u8>,
}

impl Credentials {
    /// The same identity with a certificate that was renewed since; none if the files are the same, or do not fit
    /// together: files may be read while they are copied.
    pub fn renewed(&self) -> Option<Self> {
        let tls = self.tls.as_ref()?;
        let now = client_config(tls.folder.as_ref()?).ok()?;
        // Another certificate, whatever its end: an operator may shorten the time of a device.
        let is_another = now.tls.as_ref()?.certificate_pem != tls.certificate_pem;
        (is_another && now.name == self.name && now.coin.public() == self.coin.public()).then_some(now)
    }
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
    let certificate_pem = files::read(&certificate_path)?;
    let identity = Identity::from_pem(&certificate_pem, files::read(&key_path)?);
    let authority = Certificate::from_pem(files::read(&authority_path)?);
    let config = ClientTlsConfig::new().ca_certificate(authority).identity(identity);
    let folder = Some(folder.to_owned());
    let valid_until_unix_secs = not_after_unix_secs;
    let tls = Some(DeviceTls { config, valid_until_unix_secs, folder, certificate_pem });
    Ok(Credentials { name: caller.name.clone(), coin, tls })
}
