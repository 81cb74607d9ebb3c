//! CSV as lines of fields: enough of RFC 4180 for tables of names and numbers.
//!
//! Ours rather than the `csv` crate's for two reasons found by test: a refusal has to name the right line
//! also after blank lines (the crate reports where the blank lines began), and a file without a single
//! newline must not be read into memory whole. A quoted field may not run over the end of its line.

use std::io::{self, BufRead, Read, Write};

/// No line of a fleet file is near this long; a longer one is not a fleet file.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 16;

/// Some editors begin a UTF-8 file with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why the next line could not be had.
#[derive(Debug)]
pub(crate) enum LineError {
    Io(io::Error),
    TooLong,
    UnclosedQuote { field: usize },
}

/// The current line of an input, taken apart.
pub(crate) struct Lines<R> {
    input: R,
    /// Of the current line, from 1.
    number: u64,
    /// The line as read; quoted fields are unquoted in place.
    text: Vec<u8>,
    /// Where in `text` each field starts and ends, blanks around it left out.
    fields: Vec<(usize, usize)>,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input, number: 0, text: Vec::new(), fields: Vec::new() }
    }

    /// Moves to the next line that is not blank; false at the end of the input.
    pub(crate) fn advance(&mut self) -> Result<bool, LineError> {
        loop {
            self.text.clear();
            self.number += 1;
            let limit = LINE_BYTES_MAX as u64 + 1;
            let read = Read::take(&mut self.input, limit)
                .read_until(b'\n', &mut self.text)
                .map_err(LineError::Io)?;
            if read == 0 {
                return Ok(false);
            }
            if read > LINE_BYTES_MAX {
                return Err(LineError::TooLong);
            }
            if self.number == 1 && self.text.starts_with(BYTE_ORDER_MARK) {
                self.text.drain(..BYTE_ORDER_MARK.len());
            }
            let end = self.text.trim_ascii_end().len();
            self.text.truncate(end);
            if !self.text.trim_ascii_start().is_empty() {
                self.split()?;
                return Ok(true);
            }
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    pub(crate) fn get(&self, field: usize) -> Option<&[u8]> {
        self.fields.get(field).map(|&(start, end)| &self.text[start..end])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.fields.iter().map(|&(start, end)| &self.text[start..end])
    }

    fn split(&mut self) -> Result<(), LineError> {
        self.fields.clear();
        let mut at = 0;
        loop {
            while self.text.get(at).is_some_and(|&byte| byte == b' ' || byte == b'\t') {
                at += 1;
            }
            if self.text.get(at) == Some(&b'"') {
                at = self.quoted_field(at + 1)?;
            } else {
                let length = self.text[at..].iter().position(|&byte| byte == b',');
                let end = length.map_or(self.text.len(), |length| at + length);
                self.fields.push((at, at + self.text[at..end].trim_ascii_end().len()));
                at = end;
            }
            if at >= self.text.len() {
                return Ok(());
            }
            at += 1; // the comma
        }
    }

    /// Unquotes the field whose text begins at `start`; returns where its comma is, or the line's end.
    fn quoted_field(&mut self, start: usize) -> Result<usize, LineError> {
        let (mut from, mut to) = (start, start);
        loop {
            match (self.text.get(from), self.text.get(from + 1)) {
                (Some(b'"'), Some(b'"')) => from += 1,
                (Some(b'"'), _) => break,
                (Some(_), _) => {}
                (None, _) => return Err(LineError::UnclosedQuote { field: self.fields.len() }),
            }
            self.text[to] = self.text[from];
            (from, to) = (from + 1, to + 1);
        }
        self.fields.push((start, to));
        let rest = &self.text[from + 1..];
        let blanks = rest.iter().take_while(|&&byte| byte == b' ' || byte == b'\t').count();
        match rest.get(blanks) {
            None => Ok(self.text.len()),
            Some(b',') => Ok(from + 1 + blanks),
            Some(_) => Err(LineError::UnclosedQuote { field: self.fields.len() - 1 }),
        }
    }
}

/// What makes a spreadsheet compute a cell instead of showing it, where a text begins with it.
const FORMULA_STARTS: [char; 10] = ['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠'];

/// Writes a text field for people who open the file as a spreadsheet: a text that would be taken for a formula gets a
/// single quote in front. Files that fedflip reads again are written with [`write_text`], which changes nothing.
pub fn write_text_for_spreadsheets(output: &mut impl Write, text: &str) -> io::Result<()> {
    if text.starts_with(FORMULA_STARTS) {
        write_text(output, &format!("'{text}"))
    } else {
        write_text(output, text)
    }
}

/// Writes a text field, in quotes where it would otherwise not read back the same.
pub fn write_text(output: &mut impl Write, text: &str) -> io::Result<()> {
    if text.contains([',', '"', '\n', '\r']) || text.trim() != text {
        write!(output, "\"{}\"", text.replace('"', "\"\""))
    } else {
        output.write_all(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Option<Vec<String>> {
        let mut lines = Lines::new(line.as_bytes());
        lines.advance().ok()?;
        Some(lines.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect())
    }

    #[test]
    fn lines_are_taken_apart() {
        assert_eq!(fields("a,b,,c").unwrap(), ["a", "b", "", "c"]);
        assert_eq!(fields("  a b ,\tc \r\n").unwrap(), ["a b", "c"]);
        assert_eq!(fields("a,").unwrap(), ["a", ""]);
        assert_eq!(fields(",").unwrap(), ["", ""]);
        assert_eq!(fields("\"a,\"\"b\"\"\" ,\"\",c").unwrap(), ["a,\"b\"", "", "c"]);
        assert_eq!(fields("a\"b,c").unwrap(), ["a\"b", "c"], "a quote inside a field is a character");
        assert_eq!(fields("\"a"), None);
        assert_eq!(fields("\"a\"b,c"), None);
    }

    #[test]
    fn blank_lines_count_but_do_not_show() {
        let mut lines = Lines::new("\n \r\na\n\nb".as_bytes());
        let mut seen = Vec::new();
        while lines.advance().unwrap() {
            seen.push((lines.number(), lines.get(0).unwrap().to_vec()));
        }
        assert_eq!(seen, [(3, b"a".to_vec()), (5, b"b".to_vec())]);
    }

    #[test]
    fn a_spreadsheet_has_nothing_to_compute() {
        let written = |text: &str| {
            let mut bytes = Vec::new();
            write_text_for_spreadsheets(&mut bytes, text).unwrap();
            String::from_utf8(bytes).unwrap()
        };
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "＝1"] {
            assert_eq!(written(text), format!("'{text}"));
        }
        assert_eq!(written("=HYPERLINK(\"http://x\",\"y\")"), "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
        assert_eq!(written("\t=1"), "'\t=1");
        for text in ["phone-01", "fixed=0.2", "–", "1e-9"] {
            assert_eq!(written(text), text);
        }
    }

    #[test]
    fn an_endless_line_is_not_read_to_its_end() {
        let mut lines = Lines::new(io::BufReader::new(io::repeat(b'x')));
        assert!(matches!(lines.advance(), Err(LineError::TooLong)));
    }
}
