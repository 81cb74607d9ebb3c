//! The simulated world: real training on a virtual clock.
//!
//! What devices compute is computed; how long it would have taken them comes from the fleet. Several workers
//! train at the same time, one device each, and nothing that they do depends on who does it.
//!
//! # Layout
//!
//! - [`world`]: [`SimWorld`]: the virtual clock, the [`Coins`], what becomes of a round.
//! - [`conditions`]: jitter, fading and drop-outs, all from keyed streams.
//! - [`crew`]: the workers, and the work they share.

pub mod conditions;
pub mod crew;
pub mod world;

pub use conditions::Conditions;
pub use crew::{Crew, with_crew};
pub use world::{Coins, SimWorld};
