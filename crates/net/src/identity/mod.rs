//! A certificate authority, and the identities of the server and of each device.
//!
//! A device's certificate holds its name and the public half of its coin. The authority vouches for both: a device can
//! use neither another name nor a coin of its choice. The authority's key stays in its folder; devices and servers get
//! keys of their own.
//!
//! # Layout
//!
//! - [`name`]: names for files, certificates and logs.
//! - [`mint`]: makes certificates.
//! - [`store`]: the authority's folder, with all issued and revoked identities.

mod files;
mod hosts;
pub mod mint;
pub mod name;
pub mod store;

pub use name::DeviceName;
pub use store::{AUTHORITY_KEY, Issued, Store};
