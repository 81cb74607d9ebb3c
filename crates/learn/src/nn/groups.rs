//! Arrays that the compiler turns into vectors, for kernels over channels that lie next to each other.
//!
//! A kernel is a function with `#[inline(always)]`, as is everything below it, which a closure with the same attribute
//! hands to [`run`]. [`run`] compiles the kernel once per instruction set and picks the best version that the processor
//! has, whatever the build was made for. Code that is not inlined is compiled for the oldest processor. The body of an
//! inner loop is a function of its own, because the compiler then optimises the loop once more around it. Products and sums stay separate operations (a·b + c), because
//! without the instruction a fused one is a slow library call.

use pulp::{Arch, NullaryFnOnce};

use crate::real::Real;

/// Numbers per group: one AVX2 register of f32, and enough independent ones on any other machine.
pub(crate) const LANES: usize = 8;

/// Runs a kernel with the best instructions of this processor.
pub(crate) fn run(kernel: impl FnMut()) {
    Arch::new().dispatch(Kernel(kernel));
}

/// Calls a closure as `FnMut`. As `FnOnce`, the compiler would put a function of its own between, which it does not
/// inline.
struct Kernel<F>(F);

impl<F: FnMut()> NullaryFnOnce for Kernel<F> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        (self.0)();
    }
}

/// Evaluates `body` with a value as a constant: one version of the code for each of the listed values, of which the
/// first stands for all others.
macro_rules! constant {
    ($value:expr, [$first:tt $(, $other:tt)*], |$name:ident: $type:ty| $body:expr) => {
        match $value {
            $($other => {
                const $name: $type = $other;
                $body
            })*
            _ => {
                const $name: $type = $first;
                $body
            }
        }
    };
}
pub(crate) use constant;

/// Runs a kernel with a value as a constant: see [`constant`].
macro_rules! run_with {
    ($value:expr, $values:tt, |$name:ident: $type:ty| $kernel:expr) => {
        crate::nn::groups::constant!($value, $values, |$name: $type| crate::nn::groups::run(
            #[inline(always)]
            move || $kernel
        ))
    };
}
pub(crate) use run_with;

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

/// Loads `from[at..at + N]` into a group.
#[inline(always)]
pub(crate) fn load<T: Real, const N: usize>(from: &[T], at: usize) -> [T; N] {
    let mut group = [T::ZERO; N];
    group.copy_from_slice(&from[at..at + N]);
    group
}

/// Stores a group in `to[at..at + N]`.
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
