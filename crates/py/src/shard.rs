//! Parts of comparisons and sweeps.

use fedflip_run::shard::{Part, Shard};

use crate::error::Failure;

/// Part `index` of `count` of all runs.
pub(crate) fn part_of(index: u64, count: u64) -> Result<Part, Failure> {
    let shard = Shard::new(index, count).ok_or_else(|| {
        let problem = format!("shard is ({index}, {count}), and there is no such part");
        Failure::input(problem, "write shard=(i, n), where i counts from 0 and is below n").at("shard")
    })?;
    Ok(Part { shard, first: 0 })
}
