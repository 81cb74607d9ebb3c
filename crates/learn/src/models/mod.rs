//! The models of the tasks, as networks.
//!
//! - [`lstm`]: the next character of Shakespeare.

pub mod lstm;
