//! Text of others, safe for a terminal.
//!
//! Names, reasons and messages may come from a file that somebody else made. A terminal obeys control characters,
//! and marks of writing direction make a line look like another one.

use std::borrow::Cow;

/// Whether a terminal would do something else with a character than show it.
pub fn is_unprintable(c: char) -> bool {
    let turns_text_around =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns_text_around
}

/// The text on one line, with a replacement character for whatever cannot be shown.
pub fn printable(text: &str) -> Cow<'_, str> {
    without(text, is_unprintable)
}

/// The same, with its line breaks.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    without(text, |c| c != '\n' && is_unprintable(c))
}

fn without(text: &str, is_wrong: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(&is_wrong) {
        Cow::Owned(text.replace(is_wrong, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert!(matches!(printable("Gerät 7, ≥ 3 h 🦀"), Cow::Borrowed(_)));
        assert_eq!(printable("a\u{1b}[31mb\u{9b}2J\r\n"), "a\u{fffd}[31mb\u{fffd}2J\u{fffd}\u{fffd}");
        assert_eq!(printable("\u{202e}fdp.exe\u{7}"), "\u{fffd}fdp.exe\u{fffd}");
        assert_eq!(printable_lines("error\n\u{1b}c\thint"), "error\n\u{fffd}c\u{fffd}hint");
    }
}
