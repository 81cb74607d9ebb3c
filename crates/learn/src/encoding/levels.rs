//! Numbers as levels of their block: the largest of them is the scale, and each is a whole number of its parts,
//! rounded by chance.
//!
//! The largest itself, and zero, come out as they went in.

use super::Chance;
use super::half::uniform;

/// Levels on each side of zero in 8 bits.
pub const EIGHT_BITS: i8 = 127;
/// The largest code in 4 bits.
pub const FOUR_BITS: i8 = 7;

/// The largest magnitude; not finite if one of them is not. Compared as bits, which sort magnitudes alike and what
/// is no number above all.
#[inline(always)]
fn scale(numbers: &[f32]) -> f32 {
    let bits = numbers.iter().fold(0, |most, number| (number.to_bits() & !(1 << 31)).max(most));
    f32::from_bits(bits)
}

/// One of the two nearest levels, such that the mean is the number. Of a scale of 0 all are 0: no comparison with
/// what is no number holds.
#[inline(always)]
fn level<const LEVELS: i8>(number: f32, scale: f32, chance: u32) -> i8 {
    // Divided first: the largest is then exactly all of its parts, and nothing overflows.
    let parts = number.abs() / scale * f32::from(LEVELS);
    let whole = parts as i32;
    let up = uniform(chance) < parts - whole as f32;
    let size = whole + i32::from(up);
    (if number < 0.0 { -size } else { size }) as i8
}

#[inline(always)]
fn number<const LEVELS: i8>(level: i8, scale: f32) -> f32 {
    f32::from(level) / f32::from(LEVELS) * scale
}

/// Writes the levels of some numbers as bytes, and returns their scale.
#[inline(always)]
pub(super) fn encode<const LEVELS: i8>(numbers: &[f32], chance: &Chance, codes: &mut [u8]) -> f32 {
    let scale = scale(numbers);
    if scale.is_finite() {
        for ((code, &number), &chance) in codes.iter_mut().zip(numbers).zip(chance) {
            *code = level::<LEVELS>(number, scale, u32::from_le_bytes(chance)).cast_unsigned();
        }
    }
    scale
}

/// Whether all of them are numbers.
#[inline(always)]
pub(super) fn decode<const LEVELS: i8>(scale: f32, codes: &[u8], numbers: &mut [f32]) -> bool {
    let mut are_levels = true;
    for (number, &code) in numbers.iter_mut().zip(codes) {
        let level = code.cast_signed();
        are_levels &= (-LEVELS..=LEVELS).contains(&level);
        *number = self::number::<LEVELS>(level, scale);
    }
    are_levels && scale.is_finite() && scale.is_sign_positive()
}

#[inline(always)]
pub(super) fn round_trip<const LEVELS: i8>(numbers: &mut [f32], chance: &Chance) {
    let scale = scale(numbers);
    if !scale.is_finite() {
        numbers.fill(f32::NAN);
        return;
    }
    for (x, &chance) in numbers.iter_mut().zip(chance) {
        *x = number::<LEVELS>(level::<LEVELS>(*x, scale, u32::from_le_bytes(chance)), scale);
    }
}

/// Two levels a byte, the first one in its lower half; beside a last one alone there is 0.
#[inline(always)]
pub(super) fn pack(codes: &[u8], pairs: &mut [u8]) {
    let (whole, last) = codes.as_chunks::<2>();
    for (pair, &[low, high]) in pairs.iter_mut().zip(whole) {
        *pair = low & 0x0f | high << 4;
    }
    if let ([code], Some(pair)) = (last, pairs.last_mut()) {
        *pair = code & 0x0f;
    }
}

/// Whether there is nothing beside a last one alone.
#[inline(always)]
pub(super) fn unpack(pairs: &[u8], codes: &mut [u8]) -> bool {
    let signed = |half: u8| (half.cast_signed() << 4 >> 4).cast_unsigned();
    let (whole, last) = codes.as_chunks_mut::<2>();
    for (&pair, codes) in pairs.iter().zip(whole) {
        *codes = [signed(pair), signed(pair >> 4)];
    }
    match (last, pairs.last()) {
        ([code], Some(&pair)) => {
            *code = signed(pair);
            pair >> 4 == 0
        }
        _ => true,
    }
}
