//! How a device's update is sent: as it is, or in fewer bits by unbiased rounding.
//!
//! Every number goes up or down to a neighbouring value that the encoding has, by chance and such that its mean
//! is the number itself. So the server's sum stays an unbiased estimate, with more variance and fewer bytes. Of the
//! same numbers and the same stream the same bytes come, on every processor: no sum is taken.
//!
//! # Layout
//!
//! - here: the encodings, and how a vector goes through them block by block.
//! - [`half`]: one number in 16 bits; [`levels`]: one number as a level of its block.

pub mod half;
pub mod levels;

use pulp::Arch;
use rand::Rng;

use levels::{EIGHT_BITS, FOUR_BITS};

/// Numbers that share a scale, where there is one, and that are encoded in one go.
pub const BLOCK: usize = 256;

/// Of a block's scale.
const SCALE_BYTES: usize = 4;

/// Bits of chance for a block: 32 for every number.
type Chance = [[u8; 4]; BLOCK];

/// How an update is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// As it is: four bytes a number.
    #[default]
    F32,
    /// Half precision, two bytes a number. What is beyond ±65504 is sent as that, and is no longer unbiased.
    F16,
    /// A byte a number, from −127 to 127 parts of the largest of its block; four more a block.
    Int8,
    /// Half a byte a number, from −7 to 7 parts of the largest of its block; four bytes more a block.
    Int4,
}

/// Why bytes are no update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Undecodable {
    /// The update has another number of bytes.
    #[error("{have} bytes were given where an update has {want}")]
    WrongLength {
        /// The number of bytes that were given.
        have: usize,
        /// The length of this number of encoded numbers.
        want: usize,
    },
    /// Not a number, infinite, or a code that stands for none.
    #[error("a code does not encode a number")]
    NoNumber,
}

impl Encoding {
    /// All of them with their names, the longest first.
    pub const ALL: [(&'static str, Self); 4] =
        [("f32", Self::F32), ("f16", Self::F16), ("int8", Self::Int8), ("int4", Self::Int4)];

    /// The exact number of bytes that this number of parameters takes.
    pub fn bytes(self, numbers: usize) -> usize {
        let scales = SCALE_BYTES * numbers.div_ceil(BLOCK);
        match self {
            Self::F32 => 4 * numbers,
            Self::F16 => 2 * numbers,
            Self::Int8 => numbers + scales,
            Self::Int4 => numbers.div_ceil(2) + scales,
        }
    }

    /// Appends the bytes of some numbers. Of a number that is none, or infinite, bytes come that are refused when
    /// they are decoded.
    pub fn encode(self, numbers: &[f32], stream: &mut impl Rng, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        bytes.resize(start + self.bytes(numbers.len()), 0);
        let (arch, mut chance) = (Arch::new(), [[0; 4]; BLOCK]);
        let blocks = numbers.chunks(BLOCK).zip(bytes[start..].chunks_mut(self.bytes(BLOCK)));
        for (numbers, bytes) in blocks {
            self.draw(stream, &mut chance);
            arch.dispatch(
                #[inline(always)]
                || self.encode_block(numbers, &chance, bytes),
            );
        }
    }

    /// Reads the numbers back. Whatever the bytes are, they are finite, or refused.
    pub fn decode(self, bytes: &[u8], numbers: &mut [f32]) -> Result<(), Undecodable> {
        let (have, want) = (bytes.len(), self.bytes(numbers.len()));
        if have != want {
            return Err(Undecodable::WrongLength { have, want });
        }
        let (arch, mut are_numbers) = (Arch::new(), true);
        for (bytes, numbers) in bytes.chunks(self.bytes(BLOCK)).zip(numbers.chunks_mut(BLOCK)) {
            are_numbers &= arch.dispatch(
                #[inline(always)]
                || self.decode_block(bytes, numbers),
            );
        }
        if are_numbers { Ok(()) } else { Err(Undecodable::NoNumber) }
    }

    /// What comes out at the other end, to the bit, without the bytes on the way. What would be refused there is
    /// no number here.
    pub fn round_trip(self, numbers: &mut [f32], stream: &mut impl Rng) {
        if self == Self::F32 {
            return;
        }
        let (arch, mut chance) = (Arch::new(), [[0; 4]; BLOCK]);
        for numbers in numbers.chunks_mut(BLOCK) {
            self.draw(stream, &mut chance);
            arch.dispatch(
                #[inline(always)]
                || self.round_trip_block(numbers, &chance),
            );
        }
    }

    /// A whole block's, also for a last one that is shorter.
    fn draw(self, stream: &mut impl Rng, chance: &mut Chance) {
        if self != Self::F32 {
            stream.fill_bytes(chance.as_flattened_mut());
        }
    }

    #[inline(always)]
    fn encode_block(self, numbers: &[f32], chance: &Chance, bytes: &mut [u8]) {
        match self {
            Self::F32 => {
                let codes = bytes.as_chunks_mut::<4>().0;
                codes.iter_mut().zip(numbers).for_each(|(code, number)| *code = number.to_le_bytes());
            }
            Self::F16 => {
                let codes = bytes.as_chunks_mut::<2>().0;
                for ((code, &number), &chance) in codes.iter_mut().zip(numbers).zip(chance) {
                    *code = half::code(number, u32::from_le_bytes(chance)).to_le_bytes();
                }
            }
            Self::Int8 => {
                if let Some((scale, codes)) = bytes.split_first_chunk_mut() {
                    *scale = levels::encode::<EIGHT_BITS>(numbers, chance, codes).to_le_bytes();
                }
            }
            Self::Int4 => {
                let mut codes = [0; BLOCK];
                if let Some((scale, pairs)) = bytes.split_first_chunk_mut() {
                    let codes = &mut codes[..numbers.len()];
                    *scale = levels::encode::<FOUR_BITS>(numbers, chance, codes).to_le_bytes();
                    levels::pack(codes, pairs);
                }
            }
        }
    }

    /// Whether all of them are numbers.
    #[inline(always)]
    fn decode_block(self, bytes: &[u8], numbers: &mut [f32]) -> bool {
        match self {
            Self::F32 => decode_each(bytes, numbers, f32::from_le_bytes),
            Self::F16 => decode_each(bytes, numbers, |code| half::number(u16::from_le_bytes(code))),
            Self::Int8 => bytes.split_first_chunk().is_some_and(|(&scale, codes)| {
                levels::decode::<EIGHT_BITS>(f32::from_le_bytes(scale), codes, numbers)
            }),
            Self::Int4 => bytes.split_first_chunk().is_some_and(|(&scale, pairs)| {
                let mut codes = [0; BLOCK];
                let codes = &mut codes[..numbers.len()];
                let are_whole = levels::unpack(pairs, codes);
                levels::decode::<FOUR_BITS>(f32::from_le_bytes(scale), codes, numbers) && are_whole
            }),
        }
    }

    #[inline(always)]
    fn round_trip_block(self, numbers: &mut [f32], chance: &Chance) {
        match self {
            Self::F32 => {}
            Self::F16 => {
                for (number, &chance) in numbers.iter_mut().zip(chance) {
                    *number = half::number(half::code(*number, u32::from_le_bytes(chance)));
                }
            }
            Self::Int8 => levels::round_trip::<EIGHT_BITS>(numbers, chance),
            Self::Int4 => levels::round_trip::<FOUR_BITS>(numbers, chance),
        }
    }
}

/// Decodes numbers of `N` bytes each; returns whether all of them are finite.
#[inline(always)]
fn decode_each<const N: usize>(bytes: &[u8], numbers: &mut [f32], number: impl Fn([u8; N]) -> f32) -> bool {
    let mut are_numbers = true;
    for (to, &code) in numbers.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *to = number(code);
        are_numbers &= to.is_finite();
    }
    are_numbers
}
