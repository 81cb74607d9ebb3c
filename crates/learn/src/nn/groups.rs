//! Groups of neighbouring numbers that fit vector registers, for kernels that run channels innermost: plain
//! arrays, which the compiler turns into vectors. Where it matters which instructions there are and how many
//! registers, [`crate::nn::vectors`] has them by name.
//!
//! Kernels are structs that implement [`pulp::NullaryFnOnce`] with everything below them
//! `#[inline(always)]`: [`run`] compiles each of them once per instruction set and picks the best one that
//! the processor has, whatever the build was made for. Closures would not do: nothing forces the compiler
//! to inline them, and what is not inlined is compiled for the oldest processor. Products and sums stay
//! separate operations (a·b + c), because without the instruction a fused one is a slow library call.

use pulp::{Arch, NullaryFnOnce};

use crate::real::Real;

/// Numbers per group: one AVX2 register of f32, and enough independent ones on any other machine.
pub(crate) const LANES: usize = 8;

/// Runs a kernel with the best instructions of this processor.
pub(crate) fn run<K: NullaryFnOnce>(kernel: K) -> K::Output {
    Arch::new().dispatch(kernel)
}

/// A kernel over channels that lie next to each other, all in groups of one size.
pub(crate) trait InGroups: Sized {
    /// How many channels there are.
    fn channels(&self) -> usize;
    /// The kernel with `N` channels in a group, which divides their number. To be inlined, as everything.
    fn groups_of<const N: usize>(self);
}

/// Runs such a kernel: groups that fill a register where the channels allow it, single ones otherwise.
pub(crate) fn run_in_groups<K: InGroups>(kernel: K) {
    run(Whole(kernel));
}

struct Whole<K>(K);

impl<K: InGroups> NullaryFnOnce for Whole<K> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        if self.0.channels().is_multiple_of(LANES) {
            self.0.groups_of::<LANES>();
        } else {
            self.0.groups_of::<1>();
        }
    }
}

/// Calls `group` for places 0 to `count`: `LANES` at a time, and the last ones by themselves.
macro_rules! each_group {
    ($count:expr, |$at:ident, $n:ident| $group:expr) => {{
        let count = $count;
        let whole = count - count % LANES;
        {
            const $n: usize = LANES;
            for $at in (0..whole).step_by(LANES) {
                $group;
            }
        }
        {
            const $n: usize = 1;
            for $at in whole..count {
                $group;
            }
        }
    }};
}
pub(crate) use each_group;

/// `from[at..at + N]`.
#[inline(always)]
pub(crate) fn load<T: Real, const N: usize>(from: &[T], at: usize) -> [T; N] {
    let mut group = [T::ZERO; N];
    group.copy_from_slice(&from[at..at + N]);
    group
}

/// `to[at..at + N] = group`.
#[inline(always)]
pub(crate) fn store<T: Real, const N: usize>(to: &mut [T], at: usize, group: [T; N]) {
    to[at..at + N].copy_from_slice(&group);
}

/// `sum += a·b`, number by number.
#[inline(always)]
pub(crate) fn add_product<T: Real, const N: usize>(sum: &mut [T; N], a: [T; N], b: [T; N]) {
    for lane in 0..N {
        sum[lane] += a[lane] * b[lane];
    }
}

/// `sum += a`, number by number.
#[inline(always)]
pub(crate) fn add<T: Real, const N: usize>(sum: &mut [T; N], a: [T; N]) {
    for lane in 0..N {
        sum[lane] += a[lane];
    }
}
