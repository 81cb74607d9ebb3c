//! An array as a file holds it, before it is known what it is for.

use std::io::Read;

use crate::devices::Distinct;
use crate::error::Problem;

/// The values of an array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Values {
    Bytes(Vec<u8>),
    Floats(Vec<f32>),
    Integers(Vec<i64>),
    /// Of eight bytes, which may be larger than any signed integer.
    Unsigned(Vec<u64>),
    Texts(Distinct<String>),
}

/// An array in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Values,
}

/// The types of numbers that files may hold, in little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    U8,
    Signed(usize),
    Unsigned(usize),
    F32,
    F64,
}

impl Number {
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::F32 => 4,
            Self::F64 => 8,
            Self::Signed(bytes) | Self::Unsigned(bytes) => bytes,
        }
    }
}

/// The number of elements, or none if it or their bytes do not fit into memory.
pub(crate) fn elements(shape: &[usize], bytes_each: usize) -> Option<usize> {
    let count = shape.iter().try_fold(1_usize, |product, &length| product.checked_mul(length))?;
    count.checked_mul(bytes_each).filter(|bytes| isize::try_from(*bytes).is_ok())?;
    Some(count)
}

/// Reads `count` numbers. A reader that ends too early is an error of the reader's kind.
pub(crate) fn read_numbers(reader: &mut impl Read, number: Number, count: usize) -> Result<Values, Problem> {
    match number {
        Number::U8 => {
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(count).map_err(|_| too_large(count))?;
            reader.take(count as u64).read_to_end(&mut bytes)?;
            if bytes.len() < count {
                return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into());
            }
            Ok(Values::Bytes(bytes))
        }
        Number::F32 => {
            converted(reader, count, |bytes: [u8; 4]| f32::from_le_bytes(bytes)).map(Values::Floats)
        }
        Number::F64 => {
            converted(reader, count, |bytes: [u8; 8]| f64::from_le_bytes(bytes) as f32).map(Values::Floats)
        }
        Number::Signed(size) => integers(reader, count, size, true).map(Values::Integers),
        Number::Unsigned(8) => converted(reader, count, u64::from_le_bytes).map(Values::Unsigned),
        Number::Unsigned(size) => integers(reader, count, size, false).map(Values::Integers),
    }
}

/// Integers that fit i64.
fn integers(reader: &mut impl Read, count: usize, size: usize, signed: bool) -> Result<Vec<i64>, Problem> {
    match (size, signed) {
        (1, true) => converted(reader, count, |bytes| i64::from(i8::from_le_bytes(bytes))),
        (1, false) => converted(reader, count, |bytes| i64::from(u8::from_le_bytes(bytes))),
        (2, true) => converted(reader, count, |bytes| i64::from(i16::from_le_bytes(bytes))),
        (2, false) => converted(reader, count, |bytes| i64::from(u16::from_le_bytes(bytes))),
        (4, true) => converted(reader, count, |bytes| i64::from(i32::from_le_bytes(bytes))),
        (4, false) => converted(reader, count, |bytes| i64::from(u32::from_le_bytes(bytes))),
        _ => converted(reader, count, i64::from_le_bytes),
    }
}

/// Reads and converts a block at a time, so that only the result takes memory.
fn converted<const SIZE: usize, T>(
    reader: &mut impl Read,
    count: usize,
    convert: impl Fn([u8; SIZE]) -> T,
) -> Result<Vec<T>, Problem> {
    const BLOCK: usize = 1 << 16;
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(count).map_err(|_| too_large(count.saturating_mul(size_of::<T>())))?;
    let mut block = vec![0; BLOCK];
    while values.len() < count {
        let wanted = BLOCK.min((count - values.len()) * SIZE);
        reader.read_exact(&mut block[..wanted])?;
        let (numbers, _) = block[..wanted].as_chunks::<SIZE>();
        values.extend(numbers.iter().map(|bytes| convert(*bytes)));
    }
    Ok(values)
}

pub(crate) fn too_large(bytes: usize) -> Problem {
    Problem::TooLarge { bytes: bytes as u64, limit: isize::MAX as u64 }
}
