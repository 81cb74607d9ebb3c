//! The names and coins of devices without certificates, on loopback only.
//!
//! Nothing here is a secret. The coin of a name is made from the name, so that a restarted agent flips the same coins; any
//! program that knows the name could do the same.

use sha2::{Digest, Sha256};
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::coin::{CoinKey, KEY_BYTES};
use crate::door::Caller;
use crate::identity::DeviceName;

const NAME: &str = "fedflip-device";

/// The coin of a device that has no identity.
pub fn coin(name: &DeviceName) -> Option<CoinKey> {
    // Not every 32 bytes are a key: this finds the first that are.
    (0_u8..=u8::MAX).find_map(|attempt| {
        let hash = Sha256::new().chain_update(b"fedflip insecure coin 1").chain_update([attempt]);
        let bytes: [u8; KEY_BYTES] = hash.chain_update(name.as_str()).finalize().into();
        CoinKey::from_bytes(bytes)
    })
}

/// Writes a device's name to a call.
pub(crate) fn announce(metadata: &mut MetadataMap, name: &DeviceName) {
    if let Ok(value) = MetadataValue::try_from(name.as_str()) {
        metadata.insert(NAME, value);
    }
}

/// The device that a call says it is from.
pub(crate) fn caller(metadata: &MetadataMap) -> Option<Caller> {
    let name: DeviceName = metadata.get(NAME)?.to_str().ok()?.parse().ok()?;
    let coin = coin(&name)?.public();
    Some(Caller { name, coin })
}
