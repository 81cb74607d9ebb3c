//! The 80 symbols of the Shakespeare task.
//!
//! Code 0 stands for every character that is not in the list (in the plays: a few braces and slashes).
//! Then come newline, space, 15 punctuation marks, the digits, A–Z and a–z, in this order. A tab counts
//! as a space; a carriage return is no symbol at all.

/// How many symbols there are.
pub const SYMBOLS: usize = 80;

/// What stands for everything else; shown as this character.
pub const OTHER: u8 = 0;

const LISTED: &[u8; SYMBOLS - 1] =
    b"\n ,.'\";:?!-()[]&@0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

const CODES: [u8; 128] = {
    let mut codes = [OTHER; 128];
    let mut n = 0;
    while n < LISTED.len() {
        codes[LISTED[n] as usize] = n as u8 + 1;
        n += 1;
    }
    codes[b'\t' as usize] = codes[b' ' as usize];
    codes
};

/// The code of a character, below [`SYMBOLS`].
pub fn encode(character: char) -> u8 {
    CODES.get(character as usize).copied().unwrap_or(OTHER)
}

/// The character of a code; `�` for [`OTHER`] and for what is no code.
pub fn decode(code: u8) -> char {
    match code.checked_sub(1).and_then(|n| LISTED.get(usize::from(n))) {
        Some(&byte) => char::from(byte),
        None => char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_comes_back() {
        for code in 1..SYMBOLS as u8 {
            assert_eq!(encode(decode(code)), code);
        }
        assert_eq!((encode('\n'), encode(' '), encode('z')), (1, 2, 79));
    }

    #[test]
    fn everything_else_is_one_symbol() {
        assert!(['{', '/', 'é', '\0', '🎭', '\u{7f}'].into_iter().all(|other| encode(other) == OTHER));
        assert_eq!(encode('\t'), encode(' '));
        assert_eq!((decode(0), decode(80), decode(255)), ('�', '�', '�'));
    }
}
