//! Names of devices and of servers.

use std::path::{Component, Path};
use std::sync::LazyLock;

use fedflip_net::identity::DeviceName;
use fedflip_net::identity::mint::{self, Signer, Validity};

use crate::memory;

/// Any moment will do.
const NOW_UNIX_SECS: i64 = 1_800_000_000;

static SIGNER: LazyLock<Signer> = LazyLock::new(|| {
    let authority = mint::authority(NOW_UNIX_SECS).expect("an authority");
    Signer::new(&authority).expect("its own key")
});

/// What is taken for a name stays in its folder, and reads back the same; what is taken for a host gets a
/// certificate.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match memory::within((1 << 12) + 2 * text.len(), || text.parse::<DeviceName>()) {
        Ok(name) => {
            assert_eq!(name.to_string(), text);
            let parts: Vec<Component<'_>> = Path::new(text).components().collect();
            assert!(matches!(parts[..], [Component::Normal(_)]), "{text:?} leaves its folder");
        }
        Err(error) => {
            assert!(!error.hint().is_empty());
            assert!(error.to_string().len() < 1024, "a refusal repeats all of a long name");
        }
    }
    let validity = Validity { now_unix_secs: NOW_UNIX_SECS, days: 1 };
    match SIGNER.server(&[text.to_owned()], validity) {
        Ok(identity) => assert!(identity.certificate_pem.starts_with("-----BEGIN CERTIFICATE-----")),
        Err(error) => assert!(!error.hint().is_empty()),
    }
}
