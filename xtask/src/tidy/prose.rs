//! The English of a file, in passages: paragraphs of Markdown and HTML, comments and strings of code.

mod html;
mod javascript;
mod markdown;
mod python;
mod rust;

use super::vendor;

/// A text without a break: a paragraph, a heading, a comment of several lines, or a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) kind: Kind,
    /// The first line, from 1.
    pub(super) line: usize,
    /// The lines joined by spaces. Code between back quotes is kept.
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A heading of Markdown and its level.
    Heading(usize),
    Paragraph,
    /// A doc comment of Rust, or a docstring of Python.
    Doc,
    Comment,
    String,
}

/// The passages of a file, in order; none if the file is of another language or somebody else's.
pub(super) fn passages(path: &str, text: &str) -> Vec<Passage> {
    let read: fn(&str) -> Vec<Passage> = match path.rsplit_once('.') {
        Some((_, "md")) => markdown::passages,
        Some((_, "rs")) => rust::passages,
        Some((_, "py" | "pyi")) => python::passages,
        Some((_, "js" | "mjs")) => javascript::passages,
        Some((_, "html")) => html::passages,
        _ => return Vec::new(),
    };
    if vendor::is_vendored(path) { Vec::new() } else { read(text) }
}

/// Lines that are collected into one passage.
#[derive(Debug, Default)]
struct Lines {
    first: usize,
    text: String,
}

impl Lines {
    fn push(&mut self, line: usize, text: &str) {
        let text = text.trim();
        if self.text.is_empty() {
            self.first = line;
        } else if !text.is_empty() {
            self.text.push(' ');
        }
        self.text.push_str(text);
    }

    /// Adds all lines of a text that are not empty.
    fn push_all(&mut self, line: usize, text: &str) {
        for (index, content) in text.split('\n').enumerate().filter(|(_, text)| !text.trim().is_empty()) {
            self.push(line + index, content);
        }
    }

    /// Ends the passage, if there is one.
    fn end(&mut self, kind: Kind, passages: &mut Vec<Passage>) {
        let Self { first, text } = std::mem::take(self);
        if !text.is_empty() {
            passages.push(Passage { kind, line: first, text });
        }
    }
}

/// The text with code between back quotes replaced by one word.
pub(super) fn without_code(text: &str) -> String {
    let mut plain = String::new();
    for (index, part) in text.split('`').enumerate() {
        match index % 2 {
            0 => plain.push_str(part),
            _ if part.is_empty() => {}
            _ => plain.push_str("CODE"),
        }
    }
    plain
}

/// The number of words: what holds a letter or a digit.
pub(super) fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_between_back_quotes_is_one_word() {
        assert_eq!(without_code("use `a b` and ``c``"), "use CODE and c");
        assert_eq!(words(&without_code("use `a b` – and")), 3);
    }

    #[test]
    fn other_languages_and_the_work_of_others_have_no_passages() {
        assert_eq!(passages("a.csv", "a,b\n"), []);
        assert_eq!(passages("crates/dashboard/assets/vendor/x/README.md", "# x\n"), []);
        assert_eq!(passages("crates/dashboard/assets/vendor/x/x.js", "// x y\n"), []);
        for (path, text) in
            [("a.md", "# x\n"), ("a.js", "// x\n"), ("a.mjs", "// x\n"), ("a.html", "<p>x</p>\n")]
        {
            assert_eq!(passages(path, text).len(), 1, "{path}");
        }
    }
}
