//! The simulated world: real training on a virtual clock.
//!
//! A [`Crew`](fedflip_learn::Crew) really trains the devices; the time that training and upload take on a device comes from
//! the fleet.
//!
//! # Layout
//!
//! - [`world`]: [`SimWorld`]: the virtual clock and the events of a round.
//! - [`buffered`]: [`BufferedWorld`]: devices that work without rounds; [`timeline`]: who works when, without training;
//!   `task`: the work of one device.
//! - [`fates`]: who arrives in a round, who is lost, and when; [`clock`]: the same for programs with rounds of their own.
//! - `received`: the model as devices receive it.

pub mod buffered;
pub mod clock;
pub mod fates;
mod received;
mod task;
pub mod timeline;
pub mod world;

pub use buffered::BufferedWorld;
pub use clock::{TimedRound, VirtualClock};
pub use timeline::Timeline;
pub use world::SimWorld;
