//! Winograd's algorithm F(2·2, 5·5): tiles of the image to 36 frequencies and back.
//!
//! A 5·5 convolution gives 2·2 outputs from a tile of 6·6 inputs. As polynomials, both factors are evaluated at
//! the points 0, ±p, ±q and ∞, in rows and in columns; there the convolution is a product, 36 of them instead of
//! 100. With p = 3/4 and q = 3/2 all constants are exact in binary, and rounding errors come out about as large
//! as those of the plain sum; the textbook's 1 and 2 lose twice as much.

#![allow(clippy::needless_range_loop, reason = "rows of one array are columns of another")]

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use crate::nn::vectors::Lanes;
use crate::real::Real;

/// Points of a row or column: the side of a tile.
pub(crate) const POINTS: usize = 6;
/// Frequencies: pairs of points.
pub(crate) const FREQUENCIES: usize = POINTS * POINTS;
/// Outputs of a tile in a row or column.
pub(crate) const OUTPUTS: usize = 2;
/// The side of the kernels that this is for.
pub(crate) const KERNEL: usize = 5;

const P: f64 = 0.75;
const Q: f64 = 1.5;
const P2: f64 = P * P;
const Q2: f64 = Q * Q;

/// The weight's factors: row `i` evaluates a polynomial with five coefficients at point `i`, divided by the
/// products of its differences to the other points.
pub(crate) fn weight_factors<T: Real>() -> [[T; KERNEL]; POINTS] {
    let (at_p, at_q) = (2.0 * P2 * (P2 - Q2), 2.0 * Q2 * (Q2 - P2));
    let row = |point: f64, scale: f64| {
        std::array::from_fn(|power| T::from_f64(f64::powi(point, power as i32) / scale))
    };
    let infinity = std::array::from_fn(|power| if power + 1 == KERNEL { T::ONE } else { T::ZERO });
    [row(0.0, P2 * Q2), row(P, at_p), row(-P, at_p), row(Q, at_q), row(-Q, at_q), infinity]
}

/// A linear map of `I` vectors to `O`.
pub(crate) trait Map<const I: usize, const O: usize> {
    fn apply<T: Lanes, S: Simd>(simd: S, x: &[T::Vector<S>; I]) -> [T::Vector<S>; O];
}

/// Inputs to frequencies.
pub(crate) struct Inputs;
/// Its transpose: gradients of frequencies to gradients of inputs.
pub(crate) struct InputsTransposed;
/// Frequencies to outputs.
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

/// The tile at one place of some images: squares of pixels, `outer` times `inner` of them, side by side.
///
/// The inner ones are neighbours in memory, and become lanes of vectors: samples of one channel, or channels of
/// one sample.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) outer: usize,
    pub(crate) inner: usize,
    /// Where the first pixel is.
    pub(crate) corner: usize,
    /// To the pixel below, to the one on the right, and to the next of the outer ones.
    pub(crate) strides: [usize; 3],
}

impl Tile {
    /// From one frequency to the next; one cache line more than needed, because 36 writes that are a multiple of
    /// 4 kB apart would push each other out of the cache.
    pub(crate) fn frequency_stride(self) -> usize {
        self.outer * self.inner + 16
    }

    /// Pixels to `[frequency][outer][inner]`.
    pub(crate) fn to_frequencies<T: Lanes, M: Map<I, POINTS>, const I: usize>(
        self,
        pixels: &[T],
        frequencies: &mut [T],
    ) {
        Arch::new().dispatch(ToFrequencies::<T, M, I> { tile: self, pixels, frequencies, map: PhantomData });
    }

    /// Frequencies to pixels: added to what is there, or in its place with a start value per outer one.
    pub(crate) fn to_pixels<T: Lanes, M: Map<POINTS, O>, const O: usize>(
        self,
        frequencies: &[T],
        start: Option<&[T]>,
        pixels: &mut [T],
    ) {
        Arch::new().dispatch(ToPixels::<T, M, O> {
            tile: self,
            frequencies,
            start,
            pixels,
            map: PhantomData,
        });
    }
}

/// A vector, or one of which only `len` numbers are there.
#[inline(always)]
fn load<T: Lanes, S: Simd, const SHORT: bool>(simd: S, from: &[T], at: usize, len: usize) -> T::Vector<S> {
    if SHORT {
        T::load_short(simd, &from[at..at + len])
    } else {
        T::vectors::<S>(&from[at..at + T::lanes::<S>()]).0[0]
    }
}

/// The other way round.
#[inline(always)]
fn store<T: Lanes, S: Simd, const SHORT: bool>(
    simd: S,
    to: &mut [T],
    at: usize,
    len: usize,
    vector: T::Vector<S>,
) {
    if SHORT {
        T::store_short(simd, &mut to[at..at + len], vector);
    } else {
        T::vectors_mut::<S>(&mut to[at..at + T::lanes::<S>()]).0[0] = vector;
    }
}

/// What is done to a tile, some of its samples (or channels) at a time.
trait Transform<T: Lanes> {
    /// One vector of them, or the rest that fills none. To be inlined, as everything here.
    fn vectors<S: Simd, const SHORT: bool>(&mut self, simd: S, outer: usize, inner: usize);
}

/// Goes through all of a tile.
#[inline(always)]
fn walk<T: Lanes, S: Simd>(tile: Tile, simd: S, transform: &mut impl Transform<T>) {
    let lanes = T::lanes::<S>();
    for outer in 0..tile.outer {
        let mut inner = 0;
        while inner + lanes <= tile.inner {
            transform.vectors::<S, false>(simd, outer, inner);
            inner += lanes;
        }
        if inner < tile.inner {
            transform.vectors::<S, true>(simd, outer, inner);
        }
    }
}

struct ToFrequencies<'a, T, M, const I: usize> {
    tile: Tile,
    pixels: &'a [T],
    frequencies: &'a mut [T],
    map: PhantomData<M>,
}

impl<T: Lanes, M: Map<I, POINTS>, const I: usize> WithSimd for ToFrequencies<'_, T, M, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        walk(self.tile, simd, &mut self);
    }
}

impl<T: Lanes, M: Map<I, POINTS>, const I: usize> Transform<T> for ToFrequencies<'_, T, M, I> {
    #[inline(always)]
    fn vectors<S: Simd, const SHORT: bool>(&mut self, simd: S, outer: usize, inner: usize) {
        let tile = self.tile;
        let [below, right, next] = tile.strides;
        let len = tile.inner - inner;
        let corner = tile.corner + outer * next + inner;
        // No array of zeros: the compiler would call `memset` for it, each time.
        let first = load::<T, S, SHORT>(simd, self.pixels, corner, len);
        let mut half = [[first; I]; POINTS];
        for j in 0..I {
            let mut column = [first; I];
            for i in 0..I {
                column[i] = load::<T, S, SHORT>(simd, self.pixels, corner + i * below + j * right, len);
            }
            let mapped = M::apply::<T, S>(simd, &column);
            for i in 0..POINTS {
                half[i][j] = mapped[i];
            }
        }
        let mut at = outer * tile.inner + inner;
        for line in &half {
            for vector in M::apply::<T, S>(simd, line) {
                store::<T, S, SHORT>(simd, self.frequencies, at, len, vector);
                at += tile.frequency_stride();
            }
        }
    }
}

struct ToPixels<'a, T, M, const O: usize> {
    tile: Tile,
    frequencies: &'a [T],
    start: Option<&'a [T]>,
    pixels: &'a mut [T],
    map: PhantomData<M>,
}

impl<T: Lanes, M: Map<POINTS, O>, const O: usize> WithSimd for ToPixels<'_, T, M, O> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        walk(self.tile, simd, &mut self);
    }
}

impl<T: Lanes, M: Map<POINTS, O>, const O: usize> Transform<T> for ToPixels<'_, T, M, O> {
    #[inline(always)]
    fn vectors<S: Simd, const SHORT: bool>(&mut self, simd: S, outer: usize, inner: usize) {
        let tile = self.tile;
        let [below, right, next] = tile.strides;
        let len = tile.inner - inner;
        let at = outer * tile.inner + inner;
        let first = load::<T, S, SHORT>(simd, self.frequencies, at, len);
        let mut half = [[first; POINTS]; O];
        for j in 0..POINTS {
            let mut column = [first; POINTS];
            for i in 0..POINTS {
                let at = at + (i * POINTS + j) * tile.frequency_stride();
                column[i] = load::<T, S, SHORT>(simd, self.frequencies, at, len);
            }
            let mapped = M::apply::<T, S>(simd, &column);
            for i in 0..O {
                half[i][j] = mapped[i];
            }
        }
        let corner = tile.corner + outer * next + inner;
        for (i, line) in half.iter().enumerate() {
            for (j, &values) in M::apply::<T, S>(simd, line).iter().enumerate() {
                let at = corner + i * below + j * right;
                let before = match self.start {
                    Some(start) => start[outer].splat(simd),
                    None => load::<T, S, SHORT>(simd, self.pixels, at, len),
                };
                store::<T, S, SHORT>(simd, self.pixels, at, len, T::add_vectors(simd, before, values));
            }
        }
    }
}
