//! The symbols of a text: those of the Shakespeare task, or those that a scenario lists.

use std::collections::BTreeMap;

use crate::task::TaskError;
use fedflip_datasets::alphabet;

/// The most symbols, with the one that stands for all characters outside the alphabet: codes are bytes.
pub const SYMBOLS_MAX: usize = 256;

/// The code of every character.
#[derive(Clone, Debug)]
pub(super) enum Alphabet {
    /// The 80 symbols of the Shakespeare task.
    Usual,
    /// Listed characters, counted from 1.
    Listed(BTreeMap<char, u8>),
}

impl Alphabet {
    /// The characters of a list; the usual ones if it is empty.
    pub(super) fn new(listed: &str) -> Result<Self, TaskError> {
        if listed.is_empty() {
            return Ok(Self::Usual);
        }
        let codes: BTreeMap<char, u8> = listed.chars().zip(1..=u8::MAX).collect();
        match codes.len() == listed.chars().count() {
            true => Ok(Self::Listed(codes)),
            false => Err(TaskError::Alphabet { characters: listed.chars().count() }),
        }
    }

    /// The number of symbols: classes, and codes of the network.
    pub(super) fn symbols(&self) -> usize {
        match self {
            Self::Usual => alphabet::SYMBOLS,
            Self::Listed(codes) => codes.len() + 1,
        }
    }

    /// The code of a character; a carriage return is no symbol at all.
    pub(super) fn encode(&self, character: char) -> Option<u8> {
        match self {
            _ if character == '\r' => None,
            Self::Usual => Some(alphabet::encode(character)),
            Self::Listed(codes) => Some(codes.get(&character).copied().unwrap_or(alphabet::OTHER)),
        }
    }
}

/// The characters of texts, the most frequent first, as many as an alphabet may have.
pub fn alphabet_of<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    let mut counts: BTreeMap<char, usize> = BTreeMap::new();
    for character in texts.into_iter().flat_map(str::chars).filter(|character| *character != '\r') {
        *counts.entry(character).or_default() += 1;
    }
    let mut counts: Vec<(char, usize)> = counts.into_iter().collect();
    // Equals stay in the order of Unicode.
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.into_iter().take(SYMBOLS_MAX - 1).map(|(character, _)| character).collect()
}

/// Refuses a list that is no alphabet.
pub fn check_alphabet(listed: &str) -> Result<(), TaskError> {
    Alphabet::new(listed).map(drop)
}

/// The number of symbols of an alphabet that a scenario lists; of the usual one if the list is empty.
pub fn symbols_of(listed: &str) -> usize {
    if listed.is_empty() { alphabet::SYMBOLS } else { listed.chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_characters_come_first() {
        assert_eq!(alphabet_of(["t\u{e9}t\r\n", "tact"]), "t\nac\u{e9}");
        let all: String = (0..400_u32).filter_map(|n| char::from_u32(0x4e00 + n)).collect();
        let found = alphabet_of([all.as_str()]);
        assert_eq!((found.chars().count(), symbols_of(&found)), (255, 256));
        let alphabet = Alphabet::new(&found).unwrap();
        assert_eq!((alphabet.symbols(), alphabet.encode('\u{4e00}')), (256, Some(1)));
        assert_eq!((alphabet.encode('a'), alphabet.encode('\r')), (Some(0), None));
    }

    #[test]
    fn an_alphabet_has_every_character_once_and_not_too_many() {
        assert!(Alphabet::new("aba").is_err());
        let all: String = (0..256_u32).filter_map(|n| char::from_u32(0x4e00 + n)).collect();
        assert!(Alphabet::new(&all).is_err());
        let usual = Alphabet::new("").unwrap();
        assert_eq!((usual.symbols(), usual.encode('\t')), (80, usual.encode(' ')));
    }
}
