//! The hosts in a server's certificate.

use std::net::{Ipv4Addr, Ipv6Addr};

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

/// The names and addresses in a certificate; none for other bytes.
pub(super) fn hosts_of(pem: &[u8]) -> Option<Vec<String>> {
    let certificate = CertificateDer::from_pem_slice(pem).ok()?;
    let (_, certificate) = X509Certificate::from_der(&certificate).ok()?;
    let names = &certificate.subject_alternative_name().ok()??.value.general_names;
    names
        .iter()
        .map(|name| match name {
            GeneralName::DNSName(host) => Some((*host).to_owned()),
            GeneralName::IPAddress(bytes) => match **bytes {
                [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).to_string()),
                _ => Some(Ipv6Addr::from(<[u8; 16]>::try_from(*bytes).ok()?).to_string()),
            },
            _ => None,
        })
        .collect()
}
