//! What every decoder of bytes from a peer or a file must hold, whatever the bytes.
//!
//! A module a target, each with one function from bytes to a panic or none. No decoder may panic, take more
//! memory than its input justifies, or accept what does not read back the same once it is written again; a
//! refusal names a line that the input has.
//!
//! # Layout
//!
//! - [`fleet_csv`], [`scenario_file`]: what people write: fleets, scenarios.
//! - [`records`], [`checkpoint`], [`model_file`]: what a run leaves behind.
//! - [`images`], [`plays`], [`archives`]: data sets, and what they come in; [`samples`]: a user's own.
//! - [`coin`], [`protocol`], [`encoding`]: what comes from a device; [`names`], [`identity`], [`pass`]: who it is.
//! - [`memory`]: how much a decoder takes; [`scratch`]: files for decoders that open their own.

pub mod archives;
pub mod checkpoint;
pub mod coin;
pub mod encoding;
pub mod fleet_csv;
pub mod identity;
pub mod images;
pub mod memory;
pub mod model_file;
pub mod names;
pub mod pass;
pub mod plays;
pub mod protocol;
pub mod records;
pub mod samples;
pub mod scenario_file;
pub mod scratch;
