//! Tiles of an image to Winograd's frequencies and back.

#![allow(clippy::needless_range_loop, reason = "rows of one array are columns of another")]

use std::marker::PhantomData;

use pulp::{Arch, Simd, WithSimd};

use crate::nn::vectors::{Lanes, load, store};
use crate::nn::winograd_maps::{Map, POINTS};

/// Where the squares of numbers of a tile lie: `outer` times `inner` of them, side by side.
///
/// The inner ones are neighbours in memory, and become lanes of vectors: samples of one channel, or channels of
/// one sample.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) outer: usize,
    pub(crate) inner: usize,
    /// Where the first number is.
    pub(crate) corner: usize,
    /// To the number below, to the one on the right, and to the next of the outer ones.
    pub(crate) strides: [usize; 3],
}

impl Tile {
    /// From one frequency to the next; one cache line more than needed, because 36 writes that are a multiple of
    /// 4 kB apart would push each other out of the cache.
    pub(crate) fn frequency_stride(self) -> usize {
        self.outer * self.inner + 16
    }

    /// The frequencies of these squares: `[frequency][outer][inner]`.
    fn frequencies(self) -> Self {
        let stride = self.frequency_stride();
        Self { corner: 0, strides: [POINTS * stride, stride, self.inner], ..self }
    }

    /// Writes the frequencies of pixels.
    pub(crate) fn to_frequencies<T: Lanes, M: Map<I, POINTS>, const I: usize>(
        self,
        pixels: &[T],
        frequencies: &mut [T],
    ) {
        let (places, map) = ([self, self.frequencies()], PhantomData);
        let (from, to, start) = (pixels, frequencies, None);
        Arch::new().dispatch(Transform::<T, M, I, POINTS, false> { places, from, to, start, map });
    }

    /// Adds the pixels of frequencies to what is there, or to a start value per outer one.
    pub(crate) fn to_pixels<T: Lanes, M: Map<POINTS, O>, const O: usize>(
        self,
        frequencies: &[T],
        start: Option<&[T]>,
        pixels: &mut [T],
    ) {
        let (places, map) = ([self.frequencies(), self], PhantomData);
        let (from, to) = (frequencies, pixels);
        Arch::new().dispatch(Transform::<T, M, POINTS, O, true> { places, from, to, start, map });
    }
}

/// Maps the columns and then the rows of squares. If `STARTED`, the results are added to a start value for each of the
/// outer ones, or to what is there.
struct Transform<'a, T, M, const I: usize, const O: usize, const STARTED: bool> {
    /// Where squares are read and written.
    places: [Tile; 2],
    from: &'a [T],
    to: &'a mut [T],
    start: Option<&'a [T]>,
    map: PhantomData<M>,
}

impl<T: Lanes, M: Map<I, O>, const I: usize, const O: usize, const STARTED: bool> WithSimd
    for Transform<'_, T, M, I, O, STARTED>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let lanes = T::lanes::<S>();
        let [tile, _] = self.places;
        for outer in 0..tile.outer {
            let mut inner = 0;
            while inner + lanes <= tile.inner {
                self.vectors::<S, false>(simd, outer, inner);
                inner += lanes;
            }
            if inner < tile.inner {
                self.vectors::<S, true>(simd, outer, inner);
            }
        }
    }
}

impl<T: Lanes, M: Map<I, O>, const I: usize, const O: usize, const STARTED: bool>
    Transform<'_, T, M, I, O, STARTED>
{
    /// One vector of the inner ones, or the rest that fills none.
    #[inline(always)]
    fn vectors<S: Simd, const SHORT: bool>(&mut self, simd: S, outer: usize, inner: usize) {
        let len = self.places[0].inner - inner;
        let [(from, [from_below, from_right]), (to, [to_below, to_right])] = self.places.map(|place| {
            let [below, right, next] = place.strides;
            (place.corner + outer * next + inner, [below, right])
        });
        // No array of zeros: the compiler would call `memset` for it, each time.
        let [first] = load::<T, S, 1, SHORT>(simd, self.from, from, len);
        let mut half = [[first; I]; O];
        for j in 0..I {
            let mut column = [first; I];
            for i in 0..I {
                let at = from + i * from_below + j * from_right;
                [column[i]] = load::<T, S, 1, SHORT>(simd, self.from, at, len);
            }
            let mapped = M::apply::<T, S>(simd, &column);
            for i in 0..O {
                half[i][j] = mapped[i];
            }
        }
        for (i, line) in half.iter().enumerate() {
            for (j, &values) in M::apply::<T, S>(simd, line).iter().enumerate() {
                let at = to + i * to_below + j * to_right;
                let values = match self.start {
                    _ if !STARTED => values,
                    Some(start) => T::add_vectors(simd, start[outer].splat(simd), values),
                    None => {
                        let [before] = load::<T, S, 1, SHORT>(simd, self.to, at, len);
                        T::add_vectors(simd, before, values)
                    }
                };
                store::<T, S, 1, SHORT>(simd, self.to, at, len, &[values]);
            }
        }
    }
}
