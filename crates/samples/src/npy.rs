//! NumPy's format of one array: a header that describes type and shape, and the values.

use std::io::Read;

use crate::array::{self, Array, Number, Values};
use crate::devices::Distinct;
use crate::error::{Problem, Shape};

const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The longest header: many times what the description of an array can need.
const HEADER_MAX: usize = 1 << 16;

/// What a header says of its array.
#[derive(Debug, PartialEq, Eq)]
struct Header {
    kind: Kind,
    shape: Vec<usize>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Number(Number),
    /// Characters of four bytes each.
    Unicode(usize),
    /// Strings of this number of bytes.
    Ascii(usize),
}

/// Reads an array. `what` names it in errors, and `bytes` is the number of bytes that the reader has.
pub(crate) fn read(reader: &mut impl Read, what: &str, bytes: u64) -> Result<Array, Problem> {
    let (header, header_bytes) = read_header(reader, what)?;
    let each = match header.kind {
        Kind::Number(number) => number.bytes(),
        Kind::Unicode(length) => 4 * length,
        Kind::Ascii(length) => length,
    };
    let count = array::elements(&header.shape, each).ok_or_else(|| wrong_size(what, &header, bytes))?;
    // Nothing is allocated for values that are not there.
    if (count * each) as u64 + header_bytes > bytes {
        return Err(wrong_size(what, &header, bytes));
    }
    let values = match header.kind {
        Kind::Number(number) => array::read_numbers(reader, number, count)?,
        Kind::Unicode(length) => Values::Texts(texts(reader, count, 4 * length, |bytes| {
            let (characters, _) = bytes.as_chunks::<4>();
            let characters =
                characters.iter().map(|bytes| u32::from_le_bytes(*bytes)).take_while(|code| *code != 0);
            characters.map(char::from_u32).collect()
        })?),
        Kind::Ascii(length) => Values::Texts(texts(reader, count, length, |bytes| {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            String::from_utf8(bytes[..end].to_vec()).ok()
        })?),
    };
    Ok(Array { shape: header.shape, values })
}

fn wrong_size(what: &str, header: &Header, bytes: u64) -> Problem {
    let wanted = format!("the file holds only {bytes} bytes of it");
    Problem::Shape { what: what.to_owned(), found: Shape(header.shape.clone()), wanted }
}

fn texts(
    reader: &mut impl Read,
    count: usize,
    each: usize,
    decode: impl Fn(&[u8]) -> Option<String>,
) -> Result<Distinct<String>, Problem> {
    let mut bytes = vec![0; each];
    let mut texts = Distinct::new();
    for _ in 0..count {
        reader.read_exact(&mut bytes)?;
        let text = decode(&bytes).ok_or_else(|| Problem::malformed("npy", "a text is not Unicode"))?;
        texts.push(text.trim());
    }
    Ok(texts)
}

fn read_header(reader: &mut impl Read, what: &str) -> Result<(Header, u64), Problem> {
    let mut start = [0; 8];
    reader.read_exact(&mut start)?;
    if !start.starts_with(MAGIC) {
        return Err(Problem::malformed("npy", format!("{what} does not begin as NumPy arrays do")));
    }
    let (length, length_bytes) = match start[6] {
        1 => {
            let mut length = [0; 2];
            reader.read_exact(&mut length)?;
            (usize::from(u16::from_le_bytes(length)), 2)
        }
        2 | 3 => {
            let mut length = [0; 4];
            reader.read_exact(&mut length)?;
            (u32::from_le_bytes(length) as usize, 4)
        }
        version => {
            return Err(Problem::malformed("npy", format!("version {version} of the format is not known")));
        }
    };
    if length > HEADER_MAX {
        return Err(Problem::malformed("npy", format!("the header of {what} has {length} bytes")));
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    Ok((parse(&text, what)?, (8 + length_bytes + length) as u64))
}

/// Such as `{'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }`.
fn parse(text: &str, what: &str) -> Result<Header, Problem> {
    let odd = || Problem::malformed("npy", format!("the header of {what} is {:?}", shortened(text)));
    let value = |key: &str| {
        let at = [format!("'{key}':"), format!("\"{key}\":")]
            .iter()
            .find_map(|key| Some(text.find(key)? + key.len()));
        at.map(|at| text[at..].trim_start()).ok_or_else(odd)
    };
    let descr = value("descr")?;
    let shape = value("shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(odd)?.0;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty());
    let shape: Vec<usize> =
        lengths.map(|length| length.parse().map_err(|_| odd())).collect::<Result<_, _>>()?;
    if value("fortran_order")?.starts_with("True") && shape.len() > 1 {
        let wanted = "save it in C order: numpy.ascontiguousarray(array)".to_owned();
        return Err(Problem::Shape { what: what.to_owned(), found: Shape(shape), wanted });
    }
    let quote = descr.chars().next().filter(|c| ['\'', '"'].contains(c));
    let name = quote.and_then(|quote| descr[1..].split(quote).next());
    let found = name.map_or_else(|| "a record".to_owned(), shortened);
    if name.is_some_and(|name| name.contains('O')) {
        return Err(Problem::Objects { what: what.to_owned() });
    }
    let wanted = "little-endian numbers of NumPy, or strings of a fixed width";
    let kind = name.and_then(kind).ok_or_else(|| Problem::Type { what: what.to_owned(), found, wanted })?;
    Ok(Header { kind, shape })
}

fn kind(name: &str) -> Option<Kind> {
    let rest = name.strip_prefix(['<', '|', '='])?;
    let (letter, size) = rest.split_at_checked(1)?;
    let size: usize = size.parse().ok()?;
    Some(match (letter, size) {
        ("u", 1) => Kind::Number(Number::U8),
        ("f", 4) => Kind::Number(Number::F32),
        ("f", 8) => Kind::Number(Number::F64),
        ("i", 1 | 2 | 4 | 8) => Kind::Number(Number::Signed(size)),
        ("u", 2 | 4 | 8) => Kind::Number(Number::Unsigned(size)),
        ("b", 1) => Kind::Number(Number::Unsigned(1)),
        // A text is the name of a device: none is empty or longer than this.
        ("U", 1..=1024) => Kind::Unicode(size),
        ("S", 1..=4096) => Kind::Ascii(size),
        _ => return None,
    })
}

fn shortened(text: &str) -> String {
    let short: String = text.chars().take(80).collect();
    fedflip_fleet::printable(&short).into_owned()
}
