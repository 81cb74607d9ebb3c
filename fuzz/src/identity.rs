//! The authority's folder: its certificate, its key, its list of identities.

use std::path::PathBuf;
use std::sync::LazyLock;

use fedflip_net::identity::mint::Validity;
use fedflip_net::identity::{Issued, Store};

use crate::{memory, scratch};

/// Any moment will do.
const NOW_UNIX_SECS: i64 = 1_800_000_000;

/// A folder of an authority, and its certificate and key.
static AUTHORITY: LazyLock<(PathBuf, [Vec<u8>; 2])> = LazyLock::new(|| {
    let folder = scratch::folder().join("authority");
    let validity = Validity { now_unix_secs: NOW_UNIX_SECS, days: 1 };
    Store::create(&folder, &["localhost".to_owned()], validity).expect("an authority");
    let pem = ["ca.pem", "ca.key"].map(|name| std::fs::read(folder.join(name)).expect("it was just written"));
    (folder, pem)
});

/// The bytes take the place of what they look like; a list that is accepted can be revoked from, or says why not.
pub fn check(bytes: &[u8]) {
    let (folder, [certificate, key]) = &*AUTHORITY;
    let is_key = bytes.starts_with(b"-----BEGIN PRIVATE");
    let is_certificate = bytes.starts_with(b"-----BEGIN") && !is_key;
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("the folder for temporary files takes a file");
    };
    write("ca.pem", if is_certificate { bytes } else { certificate });
    write("ca.key", if is_key { bytes } else { key });
    write("issued.json", if is_key || is_certificate { b"[]" } else { bytes });
    let opened = memory::within((1 << 18) + 64 * bytes.len(), || Store::open(folder));
    let mut store = match opened {
        Ok(store) => store,
        Err(error) => return assert!(!error.hint().is_empty()),
    };
    let issued = store.issued().to_vec();
    let text = serde_json::to_string(&issued).expect("every list is JSON");
    assert_eq!(serde_json::from_str::<Vec<Issued>>(&text).expect("what is written reads back"), issued);
    if let Some(first) = issued.first() {
        match store.revoke(&first.name, NOW_UNIX_SECS) {
            Ok(()) => assert!(store.issued()[0].revoked_unix_secs.is_some()),
            Err(error) => assert!(!error.hint().is_empty()),
        }
    }
}
