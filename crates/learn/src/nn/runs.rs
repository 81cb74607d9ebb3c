//! The places of the runs of numbers that kernels work on.
//!
//! With samples innermost, a line of an image is one run of consecutive numbers, and each entry of a kernel reads
//! a run of the same length at its own offset: nothing has to be laid out anew.

/// Runs that start at `i·strides[0] + j·strides[1] + k·strides[2]`, numbered with `k` innermost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taps {
    pub(crate) counts: [usize; 3],
    pub(crate) strides: [usize; 3],
}

impl Taps {
    /// `count` runs, `stride` apart.
    pub(crate) fn evenly(count: usize, stride: usize) -> Self {
        Self { counts: [1, 1, count], strides: [0, 0, stride] }
    }

    /// Those of a kernel, in the order of a weight: channels, rows, columns, of images
    /// `[channel][row][column][sample]`.
    pub(crate) fn of_kernel(channels: usize, kernel: usize, side: usize, batch: usize) -> Self {
        Self { counts: [channels, kernel, kernel], strides: [side * side * batch, side * batch, batch] }
    }

    /// The number of runs.
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.counts.iter().product()
    }

    /// Where a run starts.
    #[inline(always)]
    pub(crate) fn offset(&self, tap: usize) -> usize {
        let [_, rows, columns] = self.counts;
        let (i, j, k) = (tap / (rows * columns), tap / columns % rows, tap % columns);
        i * self.strides[0] + j * self.strides[1] + k * self.strides[2]
    }
}

/// Several lines that are treated alike: from one to the next, places in up to three slices move on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines {
    pub(crate) count: usize,
    pub(crate) strides: [usize; 3],
}

/// Splits `len` into as few parts of at most `most` as possible, all of about the same size: where each starts
/// and how long it is.
#[inline(always)]
pub(crate) fn parts(len: usize, most: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = len.div_ceil(most).max(1);
    // Longer ones first. One division instead of one per part: kernels call this often.
    let (short, longer) = (len / count, len % count);
    (0..count).map(move |part| (part * short + part.min(longer), short + usize::from(part < longer)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_cover_everything_evenly() {
        for (len, most) in [(1, 6), (6, 6), (7, 6), (20, 6), (64, 6), (25, 4)] {
            let mut next = 0;
            for (start, count) in parts(len, most) {
                assert_eq!(start, next);
                assert!(count <= most && count >= len / len.div_ceil(most));
                next += count;
            }
            assert_eq!(next, len);
        }
    }

    #[test]
    fn taps_in_the_order_of_a_weight() {
        let taps = Taps::of_kernel(2, 2, 3, 10);
        let offsets: Vec<usize> = (0..taps.len()).map(|tap| taps.offset(tap)).collect();
        assert_eq!(offsets, [0, 10, 30, 40, 90, 100, 120, 130]);
        assert_eq!(Taps::evenly(3, 7).offset(2), 14);
    }
}
