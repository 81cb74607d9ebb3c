//! Makes certificates of authorities, servers and devices, and the list of revoked certificates.

use std::net::IpAddr;

use rand_core::RngCore;
use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose, PublicKeyData,
    RevocationReason, RevokedCertParams, SanType, SerialNumber, SubjectPublicKeyInfo,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use time::OffsetDateTime;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::name::DeviceName;
use crate::coin::{CoinPublic, KEY_BYTES};
use crate::error::NetError;

/// The length of a serial number, so that no two are ever the same.
pub const SERIAL_BYTES: usize = 16;
/// The validity of an authority.
const AUTHORITY_DAYS: u32 = 3650;
/// The last moment that a certificate can hold, at the end of the year 9999.
const UNIX_SECS_MAX: i64 = 253_402_300_799;
/// Certificates are valid from this long before they are made, because clocks of devices may be behind.
const GRACE_SECS: i64 = 3600;

/// A certificate and its key, as PEM.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate_pem: String,
    /// A secret of its owner.
    pub key_pem: String,
}

/// The start of a certificate's validity, and its days.
#[derive(Clone, Copy, Debug)]
pub struct Validity {
    pub now_unix_secs: i64,
    pub days: u32,
}

impl Validity {
    /// The last moment of the validity.
    pub(super) fn until_unix_secs(self) -> i64 {
        self.now_unix_secs.saturating_add(86_400 * i64::from(self.days))
    }

    fn apply(self, params: &mut CertificateParams) -> Result<(), NetError> {
        params.not_before = moment(self.now_unix_secs.saturating_sub(GRACE_SECS))?;
        params.not_after = moment(self.until_unix_secs())?;
        Ok(())
    }
}

fn moment(unix_secs: i64) -> Result<OffsetDateTime, NetError> {
    let refuse = |problem: String| NetError::damaged("the clock", problem);
    // The library accepts earlier moments, but panics when it writes them.
    if !is_moment(unix_secs) {
        return Err(refuse(format!("says {unix_secs} s since 1970, a time that no certificate can hold")));
    }
    OffsetDateTime::from_unix_timestamp(unix_secs)
        .map_err(|error| refuse(format!("says {unix_secs} s since 1970: {error}")))
}

/// Whether a certificate can hold this moment.
pub(super) fn is_moment(unix_secs: i64) -> bool {
    (0..=UNIX_SECS_MAX).contains(&unix_secs)
}

pub fn authority(now_unix_secs: i64) -> Result<Identity, NetError> {
    let mut params = named("fedflip authority");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Validity { now_unix_secs, days: AUTHORITY_DAYS }.apply(&mut params)?;
    let key = KeyPair::generate()?;
    let certificate_pem = params.self_signed(&key)?.pem();
    Ok(Identity { certificate_pem, key_pem: key.serialize_pem() })
}

pub struct Signer(Issuer<'static, KeyPair>);

impl Signer {
    /// Signs with an authority's certificate and key.
    pub fn new(authority: &Identity) -> Result<Self, NetError> {
        let key = KeyPair::from_pem(&authority.key_pem)?;
        Ok(Self(Issuer::from_ca_cert_pem(&authority.certificate_pem, key)?))
    }

    /// The identity of a server that devices reach by these names and addresses.
    pub fn server(&self, hosts: &[String], validity: Validity) -> Result<Identity, NetError> {
        let mut params = named("fedflip server");
        for host in hosts {
            params.subject_alt_names.push(match host.parse::<IpAddr>() {
                Ok(address) => SanType::IpAddress(address),
                Err(_) if is_host(host) => SanType::DnsName(Ia5String::try_from(host.as_str())?),
                Err(_) => return Err(NetError::BadHost { host: host.clone() }),
            });
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, serial(), validity)
    }

    /// The identity of a device: the certificate holds its name and the public half of its coin.
    pub fn device(
        &self,
        name: &DeviceName,
        coin: &CoinPublic,
        serial: [u8; SERIAL_BYTES],
        validity: Validity,
    ) -> Result<Identity, NetError> {
        self.issue(device_params(name, &coin.to_bytes())?, serial, validity)
    }

    /// Another certificate of a device, as PEM, for the key of its last one: the device's secrets are not needed.
    pub fn renewed(
        &self,
        name: &DeviceName,
        coin: &[u8; KEY_BYTES],
        last_pem: &str,
        serial: [u8; SERIAL_BYTES],
        validity: Validity,
    ) -> Result<String, NetError> {
        let invalid = |error: &dyn std::fmt::Display| rcgen::Error::X509(error.to_string());
        let last = CertificateDer::from_pem_slice(last_pem.as_bytes()).map_err(|error| invalid(&error))?;
        let (_, last) = X509Certificate::from_der(&last).map_err(|error| invalid(&error))?;
        let key = SubjectPublicKeyInfo::from_der(last.public_key().raw)?;
        self.sign(device_params(name, coin)?, serial, validity, &key)
    }

    fn issue(
        &self,
        params: CertificateParams,
        serial: [u8; SERIAL_BYTES],
        validity: Validity,
    ) -> Result<Identity, NetError> {
        let key = KeyPair::generate()?;
        let certificate_pem = self.sign(params, serial, validity, &key)?;
        Ok(Identity { certificate_pem, key_pem: key.serialize_pem() })
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        serial: [u8; SERIAL_BYTES],
        validity: Validity,
        key: &impl PublicKeyData,
    ) -> Result<String, NetError> {
        params.serial_number = Some(SerialNumber::from_slice(&serial));
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        validity.apply(&mut params)?;
        Ok(params.signed_by(key, &self.0)?.pem())
    }

    /// The list of revoked certificates, from serial numbers and times, as PEM.
    pub fn revocations(
        &self,
        revoked: &[([u8; SERIAL_BYTES], i64)],
        number: u64,
        now_unix_secs: i64,
    ) -> Result<String, NetError> {
        let entry = |&(serial, unix_secs): &([u8; SERIAL_BYTES], i64)| {
            Ok(RevokedCertParams {
                serial_number: SerialNumber::from_slice(&serial),
                revocation_time: moment(unix_secs)?,
                reason_code: Some(RevocationReason::Unspecified),
                invalidity_date: None,
            })
        };
        let list = CertificateRevocationListParams {
            this_update: moment(now_unix_secs)?,
            // Every revocation replaces the list, whatever its date.
            next_update: moment(now_unix_secs.saturating_add(86_400 * i64::from(AUTHORITY_DAYS)))?,
            crl_number: SerialNumber::from(number),
            issuing_distribution_point: None,
            revoked_certs: revoked.iter().map(entry).collect::<Result<_, NetError>>()?,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        Ok(list.signed_by(&self.0)?.pem()?)
    }
}

pub fn serial() -> [u8; SERIAL_BYTES] {
    let mut serial = [0; SERIAL_BYTES];
    rand_core::OsRng.fill_bytes(&mut serial);
    // Serial numbers are positive.
    serial[0] &= 0x7f;
    serial[0] |= 0x40;
    serial
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that [`hex`] writes with exactly these digits.
pub(crate) fn unhex<const BYTES: usize>(digits: &str) -> Option<[u8; BYTES]> {
    let is_digit = |digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if digits.len() != 2 * BYTES || !digits.bytes().all(is_digit) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(bytes)
}

fn device_params(name: &DeviceName, coin: &[u8; KEY_BYTES]) -> Result<CertificateParams, NetError> {
    let mut params = named(name.as_str());
    let uri = format!("fedflip:device/{name}/coin/{}", hex(coin));
    params.subject_alt_names = vec![SanType::URI(Ia5String::try_from(uri)?)];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    Ok(params)
}

fn named(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// Whether the text is a host name by the rules of DNS.
fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}
