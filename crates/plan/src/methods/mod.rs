//! The sampling schemes, one file each or one for a family. The table in `scheme` has a row for each.
//!
//! - `planned`: q that is optimised; the solvers are in `solve`.
//! - `baseline`: q that follows a fixed rule or a file, with independent coins.
//! - `best`: the best q of a one-dimensional family.
//! - `fedavg`: K of N devices without replacement.
//! - `fedbuff`: no rounds; the server steps after every K updates.
//! - `multinomial`: K draws with replacement, by share of the data.

pub(crate) mod baseline;
pub(crate) mod best;
pub(crate) mod fedavg;
pub(crate) mod fedbuff;
pub(crate) mod multinomial;
pub(crate) mod planned;
