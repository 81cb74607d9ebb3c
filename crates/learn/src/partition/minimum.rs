//! The minimum of samples that every device gets.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;

use fedflip_fleet::StreamKey;

use super::draws;

/// What it took to give every device its minimum of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// Samples that every device was to have.
    pub asked: usize,
    /// Samples of the smallest device in the end.
    pub smallest: usize,
    /// Samples of the smallest device as drawn.
    pub smallest_drawn: usize,
    /// Devices that had too few as drawn.
    pub raised: usize,
    /// Samples that changed hands.
    pub moved: usize,
    /// Samples of roles that were left out because they had too few.
    pub left_out: usize,
}

impl fmt::Display for Minimum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, smallest, smallest_drawn, raised, moved, left_out } = self;
        let plural = if *asked == 1 { "" } else { "s" };
        write!(f, "at least {asked} sample{plural} per device: the smallest has {smallest}")?;
        if *raised > 0 {
            let moved = counted(*moved);
            write!(f, "; {raised} had fewer (down to {smallest_drawn}), so {moved} moved")?;
        }
        if *left_out > 0 {
            write!(f, "; {} left out", counted(*left_out))?;
        }
        Ok(())
    }
}

fn counted(samples: usize) -> String {
    if samples == 1 { "1 sample was".to_owned() } else { format!("{samples} samples were") }
}

impl Minimum {
    /// As drawn, with nothing done about it.
    pub(super) fn drawn(asked: usize, parts: &[Vec<u32>]) -> Self {
        let smallest = parts.iter().map(Vec::len).min().unwrap_or(0);
        let raised = parts.iter().filter(|part| part.len() < asked).count();
        Self { asked, smallest, smallest_drawn: smallest, raised, moved: 0, left_out: 0 }
    }
}

/// Takes samples from the largest devices until every device has the minimum; returns how many.
pub(super) fn raise(parts: &mut [Vec<u32>], min: usize, key: StreamKey) -> usize {
    let mut largest: BinaryHeap<(usize, Reverse<usize>)> =
        parts.iter().enumerate().map(|(device, part)| (part.len(), Reverse(device))).collect();
    let mut moved = 0;
    for needy in 0..parts.len() {
        let mut stream = key.device(needy as u64);
        while parts[needy].len() < min {
            // The needy device's own entry is stale, but with less than the minimum it is never on top:
            // by the pigeonhole principle somebody has more.
            let Some((_, Reverse(donor))) = largest.pop() else { return moved };
            let taken = draws::below(&mut stream, parts[donor].len());
            let sample = parts[donor].swap_remove(taken);
            parts[needy].push(sample);
            largest.push((parts[donor].len(), Reverse(donor)));
            moved += 1;
        }
    }
    moved
}
