//! Messages of the protocol.

/// Nothing to decode yet.
pub fn check(_bytes: &[u8]) {}
