//! Winograd's algorithm F(2·2, 5·5): the linear maps between images and frequencies.
//!
//! A 5·5 convolution gives 2·2 outputs from a tile of 6·6 inputs. As polynomials, both factors are evaluated at
//! the points 0, ±p, ±q and ∞, in rows and in columns; there the convolution is a product, 36 of them instead of
//! 100. With p = 3/4 and q = 3/2 all constants are exact in binary, and rounding errors come out about as large
//! as those of the plain sum; the textbook's 1 and 2 lose twice as much.

use std::marker::PhantomData;

use pulp::Simd;

use crate::nn::vectors::Lanes;

/// Points of a row or column: the side of a tile.
pub(crate) const POINTS: usize = 6;
/// Frequencies: pairs of points.
pub(crate) const FREQUENCIES: usize = POINTS * POINTS;
/// Outputs of a tile in a row or column.
pub(crate) const OUTPUTS: usize = 2;
/// The side of the kernels that this is for.
pub(crate) const KERNEL: usize = 5;

pub(crate) const P: f64 = 0.75;
pub(crate) const Q: f64 = 1.5;
pub(crate) const P2: f64 = P * P;
pub(crate) const Q2: f64 = Q * Q;

/// A linear map of `I` vectors to `O`.
pub(crate) trait Map<const I: usize, const O: usize> {
    fn apply<T: Lanes, S: Simd>(simd: S, x: &[T::Vector<S>; I]) -> [T::Vector<S>; O];
}

/// The map from inputs to frequencies.
pub(crate) struct Inputs;
/// Its transpose: gradients of frequencies to gradients of inputs.
pub(crate) struct InputsTransposed;
/// The map from frequencies to outputs.
pub(crate) struct Outputs;
/// Its transpose: gradients of outputs to gradients of frequencies.
pub(crate) struct OutputsTransposed;

/// a + b, a − b and a·x + b of vectors, with less to write.
#[derive(Clone, Copy)]
struct Arithmetic<T, S>(S, PhantomData<T>);

impl<T: Lanes, S: Simd> Arithmetic<T, S> {
    #[inline(always)]
    fn add(self, a: T::Vector<S>, b: T::Vector<S>) -> T::Vector<S> {
        T::add_vectors(self.0, a, b)
    }

    #[inline(always)]
    fn sub(self, a: T::Vector<S>, b: T::Vector<S>) -> T::Vector<S> {
        T::sub_vectors(self.0, a, b)
    }

    #[inline(always)]
    fn scale(self, a: f64, x: T::Vector<S>) -> T::Vector<S> {
        T::mul_vectors(self.0, T::from_f64(a).splat(self.0), x)
    }

    #[inline(always)]
    fn add_scaled(self, a: f64, x: T::Vector<S>, b: T::Vector<S>) -> T::Vector<S> {
        T::mul_add_vectors(self.0, T::from_f64(a).splat(self.0), x, b)
    }
}

impl Map<6, 6> for Inputs {
    #[inline(always)]
    fn apply<T: Lanes, S: Simd>(simd: S, x: &[T::Vector<S>; 6]) -> [T::Vector<S>; 6] {
        let v = Arithmetic::<T, S>(simd, PhantomData);
        let (even_p, odd_p) = (v.add_scaled(-Q2, x[2], x[4]), v.add_scaled(-Q2, x[1], x[3]));
        let (even_q, odd_q) = (v.add_scaled(-P2, x[2], x[4]), v.add_scaled(-P2, x[1], x[3]));
        [
            v.add_scaled(P2 * Q2, x[0], v.add_scaled(-(P2 + Q2), x[2], x[4])),
            v.add_scaled(P, odd_p, even_p),
            v.add_scaled(-P, odd_p, even_p),
            v.add_scaled(Q, odd_q, even_q),
            v.add_scaled(-Q, odd_q, even_q),
            v.add_scaled(P2 * Q2, x[1], v.add_scaled(-(P2 + Q2), x[3], x[5])),
        ]
    }
}

impl Map<6, 6> for InputsTransposed {
    #[inline(always)]
    fn apply<T: Lanes, S: Simd>(simd: S, y: &[T::Vector<S>; 6]) -> [T::Vector<S>; 6] {
        let v = Arithmetic::<T, S>(simd, PhantomData);
        let (even_p, odd_p) = (v.add(y[1], y[2]), v.scale(P, v.sub(y[1], y[2])));
        let (even_q, odd_q) = (v.add(y[3], y[4]), v.scale(Q, v.sub(y[3], y[4])));
        [
            v.scale(P2 * Q2, y[0]),
            v.add_scaled(-Q2, odd_p, v.add_scaled(-P2, odd_q, v.scale(P2 * Q2, y[5]))),
            v.add_scaled(-Q2, even_p, v.add_scaled(-P2, even_q, v.scale(-(P2 + Q2), y[0]))),
            v.add_scaled(-(P2 + Q2), y[5], v.add(odd_p, odd_q)),
            v.add(y[0], v.add(even_p, even_q)),
            y[5],
        ]
    }
}

impl Map<6, 2> for Outputs {
    #[inline(always)]
    fn apply<T: Lanes, S: Simd>(simd: S, x: &[T::Vector<S>; 6]) -> [T::Vector<S>; 2] {
        let v = Arithmetic::<T, S>(simd, PhantomData);
        [
            v.add(x[0], v.add(v.add(x[1], x[2]), v.add(x[3], x[4]))),
            v.add_scaled(P, v.sub(x[1], x[2]), v.add_scaled(Q, v.sub(x[3], x[4]), x[5])),
        ]
    }
}

impl Map<2, 6> for OutputsTransposed {
    #[inline(always)]
    fn apply<T: Lanes, S: Simd>(simd: S, y: &[T::Vector<S>; 2]) -> [T::Vector<S>; 6] {
        let v = Arithmetic::<T, S>(simd, PhantomData);
        [
            y[0],
            v.add_scaled(P, y[1], y[0]),
            v.add_scaled(-P, y[1], y[0]),
            v.add_scaled(Q, y[1], y[0]),
            v.add_scaled(-Q, y[1], y[0]),
            y[1],
        ]
    }
}
