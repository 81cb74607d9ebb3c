//! The sampling schemes, one file each or one for a family. The table in `scheme` has a row for each.
//!
//! - `planned`: q that is optimised; the solvers are in `solve`.
//! - `baseline`: q that follows a fixed rule or a file, with independent coins.
//! - `best`: the best q of a one-dimensional family.
//! - `custom`: the scheme of a program.
//! - `fedavg`: K of N devices without replacement.
//! - `fedbuff`: no rounds; the server steps after every K updates.
//! - `multinomial`: K draws with replacement, by share of the data.
//! - `luo`: K draws with replacement, by probabilities that minimise a bound on the time.
//! - `ocs`: coins by the norms of updates.
//! - `power_of_choice`: of some candidates, those with the largest losses.
//! - `oort`: devices by utility and speed, as earlier rounds showed them.

pub(crate) mod baseline;
pub(crate) mod best;
pub(crate) mod custom;
pub(crate) mod fedavg;
pub(crate) mod fedbuff;
pub(crate) mod luo;
pub(crate) mod multinomial;
pub(crate) mod ocs;
pub(crate) mod oort;
pub(crate) mod planned;
pub(crate) mod power_of_choice;
