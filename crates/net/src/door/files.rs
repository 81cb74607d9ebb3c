//! Reads certificates and keys from files, and checks that they can be used.

use std::fs;
use std::path::Path;

use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use webpki::{
    CertRevocationList, EndEntityCert, KeyUsage, OwnedCertRevocationList, RevocationOptionsBuilder,
};
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::error::{CANNOT_BE_READ, NetError};

pub(super) fn read(path: &Path) -> Result<Vec<u8>, NetError> {
    fs::read(path).map_err(NetError::io(path, CANNOT_BE_READ))
}

/// Reads at least one certificate.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NetError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&read(path)?).collect();
    match found {
        Ok(found) if found.is_empty() => Err(NetError::damaged(path, "holds no certificate")),
        Ok(found) => Ok(found),
        Err(error) => Err(NetError::damaged(path, format!("holds no certificate: {error}"))),
    }
}

pub(super) fn key(path: &Path) -> Result<PrivateKeyDer<'static>, NetError> {
    PrivateKeyDer::from_pem_slice(&read(path)?)
        .map_err(|error| NetError::damaged(path, format!("holds no private key: {error}")))
}

/// The last second of a certificate; none for other bytes.
pub(super) fn not_after_unix_secs(certificate: &CertificateDer<'_>) -> Option<i64> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    Some(certificate.validity().not_after.timestamp())
}

/// The list of revoked certificates, as bytes and parsed.
pub(super) fn revocations(
    path: &Path,
) -> Result<(CertificateRevocationListDer<'static>, CertRevocationList<'static>), NetError> {
    let list = CertificateRevocationListDer::from_pem_slice(&read(path)?).map_err(|error| {
        NetError::damaged(path, format!("holds no list of revoked certificates: {error}"))
    })?;
    let parsed = OwnedCertRevocationList::from_der(&list).map_err(|error| {
        NetError::damaged(path, format!("holds no list of revoked certificates: {error}"))
    })?;
    Ok((list, parsed.into()))
}

/// Whether the authority, and its list of revoked certificates if given, allows this use of the first certificate now.
pub(super) fn check(
    path: &Path,
    chain: &[CertificateDer<'_>],
    authorities: &[CertificateDer<'_>],
    list: Option<&CertRevocationList<'_>>,
    usage: KeyUsage,
) -> Result<(), NetError> {
    let verdict = || {
        let (certificate, between) = chain.split_first().ok_or(webpki::Error::UnknownIssuer)?;
        let anchors: Vec<_> =
            authorities.iter().map(webpki::anchor_from_trusted_cert).collect::<Result<_, _>>()?;
        let lists: Vec<_> = list.into_iter().collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok().map(RevocationOptionsBuilder::build);
        EndEntityCert::try_from(certificate)?
            .verify_for_usage(
                webpki::ALL_VERIFICATION_ALGS,
                &anchors,
                between,
                UnixTime::now(),
                usage,
                revocation,
                None,
            )
            .map(|_| ())
    };
    let path = || path.display().to_string();
    verdict().map_err(|error| {
        let problem = match error {
            webpki::Error::CertNotValidYet { .. } => return NetError::NotYetValid { path: path() },
            webpki::Error::CertExpired { .. } => "has expired".to_owned(),
            webpki::Error::CertRevoked => "was revoked".to_owned(),
            webpki::Error::UnknownIssuer => "was not issued by the authority beside it".to_owned(),
            other => format!("cannot be used: {other:?}"),
        };
        NetError::Unfit { path: path(), problem }
    })
}
