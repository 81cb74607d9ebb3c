//! Runs made visible, from their records alone.
//!
//! # Layout
//!
//! - [`numbers`]: numbers for people.

pub mod numbers;
