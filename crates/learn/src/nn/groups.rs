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
