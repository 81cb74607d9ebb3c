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
//! - [`images`], [`plays`], [`archives`]: data sets, and what they come in.
//! - [`coin`], [`protocol`], [`encoding`]: what comes from a device; [`names`], [`identity`], [`pass`]: who it is.
//! - [`memory`]: how much a decoder takes; [`scratch`]: files for decoders that open their own.
//! - `scenario`: the scenario's reader, from the binary's sources; `error`: what it needs of the binary's errors.

pub mod archives;
pub mod checkpoint;
pub mod coin;
pub mod encoding;
mod error;
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
// The binary has no library, and with one the fuzzer would have to build all that the binary is made of.
#[allow(
    dead_code,
    unused_imports,
    reason = "only what reads a scenario is fuzzed, not what prints or runs it"
)]
#[path = "../../crates/fedflip/src/scenario/mod.rs"]
mod scenario;
pub mod scenario_file;
pub mod scratch;
