//! The device in a certificate.

use std::sync::Arc;

use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::coin::CoinPublic;
use crate::identity::DeviceName;
use crate::identity::mint::unhex;

/// A device that calls, as its certificate names it.
#[derive(Clone, Debug, PartialEq)]
pub struct Caller {
    pub name: DeviceName,
    /// The key that checks its coins.
    pub coin: CoinPublic,
}

/// A caller, and the parts of its certificate that the door needs.
#[derive(Clone, Debug)]
pub(super) struct DeviceCertificate {
    pub(super) caller: Arc<Caller>,
    /// The serial number, as in lists of revoked certificates.
    pub(super) serial: Vec<u8>,
    pub(super) not_after_unix_secs: i64,
}

impl DeviceCertificate {
    /// None if the certificate names no device. The TLS library checks that the certificate is genuine.
    pub(super) fn read(certificate: &[u8]) -> Option<Self> {
        let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
        let names = &certificate.subject_alternative_name().ok()??.value.general_names;
        let mut callers = names.iter().filter_map(|name| match name {
            GeneralName::URI(uri) => parse(uri),
            _ => None,
        });
        let caller = callers.next()?;
        // A certificate with two devices could be used as either.
        if callers.next().is_some() {
            return None;
        }
        Some(Self {
            caller: Arc::new(caller),
            serial: certificate.raw_serial().to_vec(),
            not_after_unix_secs: certificate.validity().not_after.timestamp(),
        })
    }
}

/// Parses `fedflip:device/NAME/coin/HEX` into name and coin.
fn parse(uri: &str) -> Option<Caller> {
    let (name, digits) = uri.strip_prefix("fedflip:device/")?.split_once("/coin/")?;
    Some(Caller { name: name.parse().ok()?, coin: CoinPublic::from_bytes(unhex(digits)?)? })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::coin::CoinKey;
    use crate::identity::mint::hex;

    #[test]
    fn a_name_is_read_as_it_was_written_and_no_other_way() {
        let coin = CoinKey::generate().public();
        let digits = hex(&coin.to_bytes());
        let read = parse(&format!("fedflip:device/phone-01/coin/{digits}")).unwrap();
        assert_eq!((read.name.as_str(), read.coin), ("phone-01", coin));
        for bad in [
            String::new(),
            format!("fedflip:device//coin/{digits}"),
            format!("fedflip:device/../coin/{digits}"),
            format!("fedflip:device/a/coin/coin/{digits}"),
            format!("fedflip:device/a/coin/{digits}00"),
            format!("fedflip:device/a/coin/{}", &digits[2..]),
            format!("fedflip:device/a/coin/+{}", &digits[1..]),
            format!("fedflip:device/a/coin/{}", "ff".repeat(32)),
            format!("fedflip:device/a/coin/{}", "é".repeat(32)),
            format!("Fedflip:device/a/coin/{digits}"),
        ] {
            assert!(parse(&bad).is_none(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_bytes_come_are_no_passport(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            prop_assert!(DeviceCertificate::read(&bytes).is_none());
        }
    }
}
