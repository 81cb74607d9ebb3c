//! The simulated world: real training on a virtual clock.
//!
//! A [`Crew`](fedflip_learn::Crew) really trains the devices; the time that training and upload take on a device comes from
//! the fleet.
//!
//! # Layout
//!
//! - [`world`]: [`SimWorld`]: the virtual clock and the events of a round.

pub mod world;

pub use world::SimWorld;
