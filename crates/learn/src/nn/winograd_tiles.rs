//! Winograd's algorithm F(2·2, 5·5): tiles of the image to 36 frequencies and back.
//!
//! A 5·5 convolution gives 2·2 outputs from a tile of 6·6 inputs. As polynomials, both factors are evaluated at
//! the points 0, ±p, ±q and ∞, in rows and in columns; there the convolution is a product, 36 of them instead of
//! 100. With p = 3/4 and q = 3/2 all constants are exact in binary, and rounding errors come out about as large
//! as those of the plain sum; the textbook's 1 and 2 lose twice as much.

use pulp::NullaryFnOnce;

use crate::nn::lanes::{LANES, load, run, store};
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

/// A linear map of `I` numbers to `O`, for groups of `N` neighbours at once.
pub(crate) trait Map<const I: usize, const O: usize> {
    fn apply<T: Real, const N: usize>(x: &[[T; N]; I]) -> [[T; N]; O];
}

/// Inputs to frequencies.
pub(crate) struct Inputs;
/// Its transpose: gradients of frequencies to gradients of inputs.
pub(crate) struct InputsTransposed;
/// Frequencies to outputs.
pub(crate) struct Outputs;
/// Its transpose: gradients of outputs to gradients of frequencies.
pub(crate) struct OutputsTransposed;

impl Map<6, 6> for Inputs {
    #[inline(always)]
    fn apply<T: Real, const N: usize>(x: &[[T; N]; 6]) -> [[T; N]; 6] {
        let [p, q, p2, q2] = [P, Q, P2, Q2].map(T::from_f64);
        let mut y = [[T::ZERO; N]; 6];
        for n in 0..N {
            let [even_p, odd_p] = [x[4][n] - q2 * x[2][n], p * (x[3][n] - q2 * x[1][n])];
            let [even_q, odd_q] = [x[4][n] - p2 * x[2][n], q * (x[3][n] - p2 * x[1][n])];
            y[0][n] = p2 * q2 * x[0][n] - (p2 + q2) * x[2][n] + x[4][n];
            y[1][n] = even_p + odd_p;
            y[2][n] = even_p - odd_p;
            y[3][n] = even_q + odd_q;
            y[4][n] = even_q - odd_q;
            y[5][n] = p2 * q2 * x[1][n] - (p2 + q2) * x[3][n] + x[5][n];
        }
        y
    }
}

impl Map<6, 6> for InputsTransposed {
    #[inline(always)]
    fn apply<T: Real, const N: usize>(y: &[[T; N]; 6]) -> [[T; N]; 6] {
        let [p, q, p2, q2] = [P, Q, P2, Q2].map(T::from_f64);
        let mut x = [[T::ZERO; N]; 6];
        for n in 0..N {
            let [even_p, odd_p] = [y[1][n] + y[2][n], p * (y[1][n] - y[2][n])];
            let [even_q, odd_q] = [y[3][n] + y[4][n], q * (y[3][n] - y[4][n])];
            x[0][n] = p2 * q2 * y[0][n];
            x[1][n] = p2 * q2 * y[5][n] - q2 * odd_p - p2 * odd_q;
            x[2][n] = -(p2 + q2) * y[0][n] - q2 * even_p - p2 * even_q;
            x[3][n] = odd_p + odd_q - (p2 + q2) * y[5][n];
            x[4][n] = y[0][n] + even_p + even_q;
            x[5][n] = y[5][n];
        }
        x
    }
}

impl Map<6, 2> for Outputs {
    #[inline(always)]
    fn apply<T: Real, const N: usize>(x: &[[T; N]; 6]) -> [[T; N]; 2] {
        let [p, q] = [P, Q].map(T::from_f64);
        let mut y = [[T::ZERO; N]; 2];
        for n in 0..N {
            y[0][n] = x[0][n] + (x[1][n] + x[2][n]) + (x[3][n] + x[4][n]);
            y[1][n] = p * (x[1][n] - x[2][n]) + q * (x[3][n] - x[4][n]) + x[5][n];
        }
        y
    }
}

impl Map<2, 6> for OutputsTransposed {
    #[inline(always)]
    fn apply<T: Real, const N: usize>(y: &[[T; N]; 2]) -> [[T; N]; 6] {
        let [p, q] = [P, Q].map(T::from_f64);
        let mut x = [[T::ZERO; N]; 6];
        for n in 0..N {
            let [at_p, at_q] = [p * y[1][n], q * y[1][n]];
            x[0][n] = y[0][n];
            x[1][n] = y[0][n] + at_p;
            x[2][n] = y[0][n] - at_p;
            x[3][n] = y[0][n] + at_q;
            x[4][n] = y[0][n] - at_q;
            x[5][n] = y[1][n];
        }
        x
    }
}

/// The map on the columns of a square, then on its rows.
#[inline(always)]
fn both_ways<T: Real, M: Map<I, O>, const N: usize, const I: usize, const O: usize>(
    square: &[[[T; N]; I]; I],
) -> [[[T; N]; O]; O] {
    let mut half = [[[T::ZERO; N]; I]; O];
    for j in 0..I {
        let column: [[T; N]; I] = std::array::from_fn(|i| square[i][j]);
        for (half, mapped) in half.iter_mut().zip(M::apply(&column)) {
            half[j] = mapped;
        }
    }
    half.each_ref().map(M::apply)
}

/// A row of tiles in images `[channel][row][column][sample]`, of which some samples are looked at, and where
/// its frequencies are: `[frequency][channel][tile][sample]`, with those samples only.
#[derive(Clone, Copy)]
pub(crate) struct TileRow {
    pub(crate) channels: usize,
    /// The side of the images.
    pub(crate) side: usize,
    /// Tiles in a row, and which row it is.
    pub(crate) tiles: usize,
    pub(crate) row: usize,
    /// Samples in the images; the first one that is looked at, and how many.
    pub(crate) batch: usize,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl TileRow {
    /// Numbers of one frequency of one channel.
    pub(crate) fn columns(&self) -> usize {
        self.tiles * self.count
    }

    /// Maps pixels to frequencies.
    pub(crate) fn to_frequencies<T: Real, M: Map<I, POINTS>, const I: usize>(
        self,
        pixels: &[T],
        frequencies: &mut [T],
    ) {
        run(ToFrequencies::<T, M, I> { row: self, pixels, frequencies, map: std::marker::PhantomData });
    }

    /// Maps frequencies to pixels: added to what is there, or in its place with a start value per channel.
    pub(crate) fn to_pixels<T: Real, M: Map<POINTS, O>, const O: usize>(
        self,
        frequencies: &[T],
        start: Option<&[T]>,
        pixels: &mut [T],
    ) {
        run(ToPixels::<T, M, O> { row: self, frequencies, start, pixels, map: std::marker::PhantomData });
    }

    /// Where the pixel (0, 0) of a tile is.
    #[inline(always)]
    fn corner(&self, channel: usize, tile: usize) -> usize {
        ((channel * self.side + OUTPUTS * self.row) * self.side + OUTPUTS * tile) * self.batch + self.first
    }
}

struct ToFrequencies<'a, T, M, const I: usize> {
    row: TileRow,
    pixels: &'a [T],
    frequencies: &'a mut [T],
    map: std::marker::PhantomData<M>,
}

impl<T: Real, M: Map<I, POINTS>, const I: usize> NullaryFnOnce for ToFrequencies<'_, T, M, I> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let wide = self.row.count / LANES * LANES;
        for channel in 0..self.row.channels {
            for tile in 0..self.row.tiles {
                (0..wide).step_by(LANES).for_each(|sample| self.tile::<LANES>(channel, tile, sample));
                (wide..self.row.count).for_each(|sample| self.tile::<1>(channel, tile, sample));
            }
        }
    }
}

impl<T: Real, M: Map<I, POINTS>, const I: usize> ToFrequencies<'_, T, M, I> {
    #[inline(always)]
    fn tile<const N: usize>(&mut self, channel: usize, tile: usize, sample: usize) {
        let row = self.row;
        let corner = row.corner(channel, tile) + sample;
        let mut square = [[[T::ZERO; N]; I]; I];
        for (i, line) in square.iter_mut().enumerate() {
            for (j, pixel) in line.iter_mut().enumerate() {
                *pixel = load(self.pixels, corner + (i * row.side + j) * row.batch);
            }
        }
        let mapped = both_ways::<T, M, N, I, POINTS>(&square);
        let mut place = (channel * row.tiles + tile) * row.count + sample;
        for frequency in mapped.as_flattened() {
            store(self.frequencies, place, *frequency);
            place += row.channels * row.columns();
        }
    }
}

struct ToPixels<'a, T, M, const O: usize> {
    row: TileRow,
    frequencies: &'a [T],
    start: Option<&'a [T]>,
    pixels: &'a mut [T],
    map: std::marker::PhantomData<M>,
}

impl<T: Real, M: Map<POINTS, O>, const O: usize> NullaryFnOnce for ToPixels<'_, T, M, O> {
    type Output = ();

    #[inline(always)]
    fn call(mut self) {
        let wide = self.row.count / LANES * LANES;
        for channel in 0..self.row.channels {
            for tile in 0..self.row.tiles {
                (0..wide).step_by(LANES).for_each(|sample| self.tile::<LANES>(channel, tile, sample));
                (wide..self.row.count).for_each(|sample| self.tile::<1>(channel, tile, sample));
            }
        }
    }
}

impl<T: Real, M: Map<POINTS, O>, const O: usize> ToPixels<'_, T, M, O> {
    #[inline(always)]
    fn tile<const N: usize>(&mut self, channel: usize, tile: usize, sample: usize) {
        let row = self.row;
        let mut place = (channel * row.tiles + tile) * row.count + sample;
        let mut square = [[[T::ZERO; N]; POINTS]; POINTS];
        for frequency in square.as_flattened_mut() {
            *frequency = load(self.frequencies, place);
            place += row.channels * row.columns();
        }
        let mapped = both_ways::<T, M, N, POINTS, O>(&square);
        let corner = row.corner(channel, tile) + sample;
        for (i, line) in mapped.iter().enumerate() {
            for (j, values) in line.iter().enumerate() {
                let at = corner + (i * row.side + j) * row.batch;
                let mut sums = match self.start {
                    Some(start) => [start[channel]; N],
                    None => load(self.pixels, at),
                };
                crate::nn::lanes::add(&mut sums, *values);
                store(self.pixels, at, sums);
            }
        }
    }
}
