//! One number in 16 bits: IEEE 754 half precision, rounded by chance.
//!
//! No branches, so that a loop over these becomes vector code.

/// The largest that there is; an update beyond it is sent as this.
pub const MAX: f32 = 65_504.0;

/// Of a number in 32 bits: where its exponent begins, and the bits of what is infinite or no number.
const EXPONENT_AT: u32 = 23;
const NOT_FINITE: u32 = 0xff << EXPONENT_AT;
/// The exponent of 2⁻¹⁴ in 32 bits: below it the values of half precision are equally spaced.
const SMALLEST_NORMAL: u32 = 113 << EXPONENT_AT;
/// Bits after the point.
const FRACTION_BITS: u32 = 10;

/// What is no number, and the first code that is none.
const NO_NUMBER: u16 = 0x7e00;
const FIRST_NO_NUMBER: u16 = 0x7c00;

/// A chance of 32 bits as a number from 0 to below 1: its upper 24 bits, which f32 holds exactly.
#[inline(always)]
pub(super) fn uniform(chance: u32) -> f32 {
    (chance >> 8).cast_signed() as f32 * (1.0 / (1 << 24) as f32)
}

/// One of the two nearest, such that the mean is the number: up with the chance that is its share of the way.
#[inline(always)]
pub fn code(number: f32, chance: u32) -> u16 {
    let bits = number.to_bits();
    let size_bits = bits & !(1 << 31);
    let size = f32::from_bits(size_bits).min(MAX);
    // The spacing of half precision at this size, a power of two: multiplying by its inverse is exact.
    let exponent = (size.to_bits() & NOT_FINITE).max(SMALLEST_NORMAL);
    let spacing = exponent - (FRACTION_BITS << EXPONENT_AT);
    let steps = size * f32::from_bits((254 << EXPONENT_AT) - spacing);
    let whole = steps as i32;
    let up = uniform(chance) < steps - whole as f32;
    // Codes count steps from 0 up, through the places where the spacing doubles: a carry is right.
    let base = (exponent - SMALLEST_NORMAL) >> (EXPONENT_AT - FRACTION_BITS);
    let code = base + whole.cast_unsigned() + u32::from(up);
    let code = if size_bits >= NOT_FINITE { u32::from(NO_NUMBER) } else { code };
    (bits >> 16 & 0x8000 | code) as u16
}

/// What a code stands for; no number for those that stand for none.
#[inline(always)]
pub fn number(code: u16) -> f32 {
    let size = code & 0x7fff;
    // Read as 32 bits the exponent is 112 too small, also of the equally spaced ones near 0.
    let shifted = f32::from_bits(u32::from(size) << (EXPONENT_AT - FRACTION_BITS));
    let number = shifted * f32::from_bits((127 + 112) << EXPONENT_AT);
    let number = if size >= FIRST_NO_NUMBER { f32::NAN } else { number };
    f32::from_bits(number.to_bits() | u32::from(code & 0x8000) << 16)
}
