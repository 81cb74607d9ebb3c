//! Who is who: a certificate authority, and an identity for the server and for each device.
//!
//! A device's certificate holds its name and the public half of its coin, so that the authority vouches for
//! both: a device can neither use another's name nor a coin of its choice. The authority's key stays in its
//! folder; devices and servers are handed theirs.
//!
//! # Layout
//!
//! - [`name`]: names that files, certificates and logs can all hold.
//! - [`mint`]: making certificates.
//! - [`store`]: the authority's folder: what was issued, and what was revoked.

mod files;
mod hosts;
pub mod mint;
pub mod name;
pub mod store;

pub use name::DeviceName;
pub use store::{AUTHORITY_KEY, Issued, Store};
