//! A device's files, and what a certificate says of its device.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::SystemTime;

use fedflip_net::door;
use fedflip_net::identity::Store;
use fedflip_net::identity::mint::Validity;
use pem::Pem;

use crate::{memory, scratch};

const NAME: &str = "phone-01";
const FILES: [&str; 4] = ["cert.pem", "key.pem", "coin.key", "ca.pem"];

/// The folder of a device that would be let in, and its files.
static DEVICE: LazyLock<(PathBuf, [Vec<u8>; 4])> = LazyLock::new(|| {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a clock that is set");
    let validity = Validity { now_unix_secs: since_1970.as_secs() as i64, days: 365 };
    let authority = scratch::folder().join("issuer");
    let mut store = Store::create(&authority, &["localhost".to_owned()], validity).expect("an authority");
    let folder = store.device(&NAME.parse().expect("a name"), validity).expect("an identity");
    let files = FILES.map(|name| fs::read(folder.join(name)).expect("it was just written"));
    (folder, files)
});

/// The bytes take the place of each file in turn, and once more of the certificate without its letters: whatever
/// they are, no device but the one that was issued comes of it.
pub fn check(bytes: &[u8]) {
    for place in 0..FILES.len() {
        read_with(place, bytes);
    }
    read_with(0, pem::encode(&Pem::new("CERTIFICATE", bytes)).as_bytes());
}

fn read_with(place: usize, bytes: &[u8]) {
    let (folder, files) = &*DEVICE;
    let write = |bytes: &[u8]| {
        fs::write(folder.join(FILES[place]), bytes).expect("the folder for temporary files takes a file");
    };
    write(bytes);
    // The others are a few kilobytes, and what is made of them not many more.
    match memory::within((1 << 20) + 64 * bytes.len(), || door::client_config(folder)) {
        Ok(pass) => assert_eq!(pass.name.as_str(), NAME),
        Err(error) => assert!(!error.hint().is_empty()),
    }
    write(&files[place]);
}
