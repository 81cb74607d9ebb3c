//! Messages of the protocol.
