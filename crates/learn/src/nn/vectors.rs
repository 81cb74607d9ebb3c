//! Vectors of f32 and f64 with the width that the processor has, and the two activations of an LSTM gate.

use pulp::Simd;

use crate::nn::activation;
use crate::real::Real;

/// The widest vector that [`Simd`] knows, in numbers: sixteen f32 in 512 bits.
pub const LANES_MAX: usize = 16;

/// A number that comes in vectors.
pub trait Lanes: Real {
    /// As many of them as one instruction takes.
    type Vector<S: Simd>: Copy;

    /// A slice as vectors, and the rest that fills none.
    fn vectors<S: Simd>(slice: &[Self]) -> (&[Self::Vector<S>], &[Self]);
    /// The same for writing.
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [Self::Vector<S>], &mut [Self]);
    /// The same number in every lane.
    fn splat<S: Simd>(self, simd: S) -> Self::Vector<S>;
    /// Adds two vectors: a + b.
    fn add_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a·b + c, with one rounding where the processor can.
    fn mul_add_vectors<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// Subtracts two vectors: a − b.
    fn sub_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// Multiplies two vectors element by element: a·b.
    fn mul_vectors<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// A slice shorter than a vector, filled up with zeros.
    fn load_short<S: Simd>(simd: S, slice: &[Self]) -> Self::Vector<S>;
    /// As many lanes as fit into a slice shorter than a vector.
    fn store_short<S: Simd>(simd: S, slice: &mut [Self], a: Self::Vector<S>);
    /// The sum over the lanes.
    fn sum_vector<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;
    /// 1/(1 + e⁻ˣ). For f32 without a branch or a call, so that a loop over it becomes vector code.
    fn sigmoid(self) -> Self;
    /// tanh x, in the same manner.
    fn tanh_in_loops(self) -> Self;

    /// Numbers in a vector.
    #[inline(always)]
    fn lanes<S: Simd>() -> usize {
        size_of::<Self::Vector<S>>() / size_of::<Self>()
    }
}

/// `V` vectors at `at`, or one of which only `short` numbers are there.
#[inline(always)]
pub(crate) fn load<T: Lanes, S: Simd, const V: usize, const SHORT: bool>(
    simd: S,
    from: &[T],
    at: usize,
    short: usize,
) -> [T::Vector<S>; V] {
    let mut vectors = [T::ZERO.splat(simd); V];
    if SHORT {
        vectors[0] = T::load_short(simd, &from[at..at + short]);
    } else {
        vectors.copy_from_slice(&T::vectors::<S>(&from[at..at + V * T::lanes::<S>()]).0[..V]);
    }
    vectors
}

/// Writes what [`load`] reads.
#[inline(always)]
pub(crate) fn store<T: Lanes, S: Simd, const V: usize, const SHORT: bool>(
    simd: S,
    to: &mut [T],
    at: usize,
    short: usize,
    vectors: &[T::Vector<S>; V],
) {
    if SHORT {
        T::store_short(simd, &mut to[at..at + short], vectors[0]);
    } else {
        T::vectors_mut::<S>(&mut to[at..at + V * T::lanes::<S>()]).0[..V].copy_from_slice(vectors);
    }
}

macro_rules! lanes {
    ($type:ty, $vector:ident, [$($name:ident($($arg:ident),+) = $operation:ident),+], [$as_simd:ident, $as_mut_simd:ident],
     [$splat:ident, $load:ident, $store:ident, $sum:ident], [$sigmoid:expr, $tanh:expr]) => {
        impl Lanes for $type {
            type Vector<S: Simd> = S::$vector;

            $(#[inline(always)]
            fn $name<S: Simd>(simd: S, $($arg: S::$vector),+) -> S::$vector {
                simd.$operation($($arg),+)
            })+

            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> (&[S::$vector], &[Self]) {
                S::$as_simd(slice)
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> (&mut [S::$vector], &mut [Self]) {
                S::$as_mut_simd(slice)
            }

            #[inline(always)]
            fn splat<S: Simd>(self, simd: S) -> S::$vector {
                simd.$splat(self)
            }

            #[inline(always)]
            fn load_short<S: Simd>(simd: S, slice: &[Self]) -> S::$vector {
                simd.$load(slice)
            }

            #[inline(always)]
            fn store_short<S: Simd>(simd: S, slice: &mut [Self], a: S::$vector) {
                simd.$store(slice, a);
            }

            #[inline(always)]
            fn sum_vector<S: Simd>(simd: S, a: S::$vector) -> Self {
                simd.$sum(a)
            }

            #[inline(always)]
            fn sigmoid(self) -> Self {
                $sigmoid(self)
            }

            #[inline(always)]
            fn tanh_in_loops(self) -> Self {
                $tanh(self)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    [
        add_vectors(a, b) = add_f32s,
        sub_vectors(a, b) = sub_f32s,
        mul_vectors(a, b) = mul_f32s,
        mul_add_vectors(a, b, c) = mul_add_e_f32s
    ],
    [as_simd_f32s, as_mut_simd_f32s],
    [splat_f32s, partial_load_f32s, partial_store_f32s, reduce_sum_f32s],
    [activation::sigmoid, activation::tanh]
);
// f64 is there to check gradients: exactness matters, speed does not.
lanes!(
    f64,
    f64s,
    [
        add_vectors(a, b) = add_f64s,
        sub_vectors(a, b) = sub_f64s,
        mul_vectors(a, b) = mul_f64s,
        mul_add_vectors(a, b, c) = mul_add_e_f64s
    ],
    [as_simd_f64s, as_mut_simd_f64s],
    [splat_f64s, partial_load_f64s, partial_store_f64s, reduce_sum_f64s],
    [|x: f64| 1.0 / (1.0 + (-x).exp()), f64::tanh]
);
