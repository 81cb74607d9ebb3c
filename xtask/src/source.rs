//! Just enough of Rust's grammar for the rules and the counter: what is code, what is a comment, what is a
//! string, and which lines are tests.

use std::ops::Range;

/// One source file, read once. All offsets are bytes of the original text.
#[derive(Debug)]
pub(crate) struct Source {
    /// The text with comments as blanks and the insides of strings as underscores; every other byte is where it was.
    pub(crate) code: String,
    pub(crate) strings: Vec<Literal>,
    /// From the first slash to the end of the line or of the block.
    pub(crate) comments: Vec<Range<usize>>,
    /// What `#[cfg(test)]` compiles for tests alone.
    tests: Vec<Range<usize>>,
}

/// A string literal, from its opening quote to its closing one.
#[derive(Debug)]
pub(crate) struct Literal {
    pub(crate) place: Range<usize>,
    pub(crate) value: String,
}

impl Source {
    pub(crate) fn read(text: &str) -> Self {
        let mut source =
            Self { code: String::new(), strings: Vec::new(), comments: Vec::new(), tests: Vec::new() };
        let mut at = 0;
        while at < text.len() {
            at += source.take(text, at);
        }
        source.tests = test_items(&source.code);
        source
    }

    /// Takes the token that begins here; returns its length.
    fn take(&mut self, text: &str, at: usize) -> usize {
        let rest = &text[at..];
        if let Some(length) = comment(rest) {
            self.fill(&rest[..length], ' ');
            self.comments.push(at..at + length);
            return length;
        }
        // A name is taken whole, so that the `r` at its end does not open a raw string.
        let name = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let prefix = if ["r", "b", "br", "c", "cr"].contains(&&rest[..name]) { name } else { 0 };
        if let Some((open, close)) = string(&rest[prefix..], rest[..prefix].contains('r')) {
            let (start, end) = (prefix + open, prefix + close);
            // Both ends are as long: a quote, and a raw string's hashes.
            let length = (end + open).min(rest.len());
            self.code.push_str(&rest[..start]);
            self.fill(&rest[start..end], '_');
            self.code.push_str(&rest[end..length]);
            self.strings.push(Literal { place: at..at + length, value: rest[start..end].to_owned() });
            return length;
        }
        let length = match character(rest) {
            Some(length) => {
                self.fill(&rest[..length], '_');
                return length;
            }
            None if name > 0 => name,
            None => rest.chars().next().map_or(1, char::len_utf8),
        };
        self.code.push_str(&rest[..length]);
        length
    }

    /// As many bytes of another character, with the line breaks kept.
    fn fill(&mut self, text: &str, with: char) {
        self.code.extend(text.bytes().map(|byte| if byte == b'\n' { '\n' } else { with }));
    }

    pub(crate) fn is_test(&self, at: usize) -> bool {
        self.tests.iter().any(|test| test.contains(&at))
    }

    /// The line of an offset, counted from 1.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        1 + self.code[..at].matches('\n').count()
    }

    /// Lines outside tests that hold more than comments and white space.
    pub(crate) fn lines_of_code(&self) -> usize {
        self.production_lines().filter(|line| !line.trim().is_empty()).count()
    }

    /// All lines outside tests, comments and blank lines included.
    pub(crate) fn lines(&self) -> usize {
        self.production_lines().count()
    }

    fn production_lines(&self) -> impl Iterator<Item = &str> {
        let mut at = 0;
        self.code.split_inclusive('\n').filter(move |line| {
            let start = at;
            at += line.len();
            // An item may be indented; its line is a test's nevertheless.
            let indent = line.find(|c: char| !c.is_whitespace()).unwrap_or(0);
            !self.is_test(start) && !self.is_test(start + indent)
        })
    }

    /// The place behind the brace that closes the one at `open`.
    pub(crate) fn closing(&self, open: usize) -> usize {
        closing(&self.code, open)
    }
}

/// The length of a comment that begins the text.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    Some(text.len())
}

/// Where the inside of a string that begins the text, behind its prefix, starts and ends.
fn string(text: &str, raw: bool) -> Option<(usize, usize)> {
    if raw {
        let hashes = text.len() - text.trim_start_matches('#').len();
        text[hashes..].strip_prefix('"')?;
        let open = hashes + 1;
        let close = format!("\"{}", "#".repeat(hashes));
        return Some((open, open + text[open..].find(&close).unwrap_or(text.len() - open)));
    }
    text.strip_prefix('"')?;
    let mut escaped = false;
    let end = text[1..].char_indices().find(|(_, c)| match c {
        _ if escaped => {
            escaped = false;
            false
        }
        '\\' => {
            escaped = true;
            false
        }
        c => *c == '"',
    });
    Some((1, end.map_or(text.len(), |(at, _)| 1 + at)))
}

/// The length of a character literal that begins the text; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let inside = text.strip_prefix('\'')?;
    let first = inside.chars().next()?;
    let length = match first {
        '\\' => 2 + inside.get(2..)?.find('\'')?,
        _ => first.len_utf8(),
    };
    inside.get(length..)?.starts_with('\'').then_some(length + 2)
}

/// Items behind `#[cfg(test)]`, from the attribute to the end of the item.
fn test_items(code: &str) -> Vec<Range<usize>> {
    let mut items: Vec<Range<usize>> = Vec::new();
    for (start, attribute) in code.match_indices("#[cfg(test)]") {
        if items.last().is_some_and(|last| last.contains(&start)) {
            continue;
        }
        let behind = start + attribute.len();
        let stop = code[behind..].find(['{', ';']).map_or(code.len(), |at| behind + at);
        let end =
            if code[stop..].starts_with('{') { closing(code, stop) } else { (stop + 1).min(code.len()) };
        items.push(start..end);
    }
    items
}

fn closing(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Whether a file holds tests, benchmarks or examples by its place: folders of such, and modules called `tests`.
pub(crate) fn is_test_file(path: &str) -> bool {
    path.ends_with("/tests.rs")
        || ["/tests/", "/benches/", "/examples/"].iter().any(|folder| path.contains(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let text =
            "let a = \"x // \\\" {\"; // } \"quoted\"\nlet b = r#\"{ \"in\" }\"#; /* a /* b */ c */ d\n";
        let source = Source::read(text);
        assert_eq!(source.code.len(), text.len());
        assert!(!source.code.contains(['{', '}', '/']), "{}", source.code);
        assert!(source.code.ends_with(" d\n") && !source.code.contains("quoted"));
        let values: Vec<&str> = source.strings.iter().map(|literal| literal.value.as_str()).collect();
        assert_eq!(values, ["x // \\\" {", "{ \"in\" }"]);
        assert!(source.strings.iter().all(|literal| text[literal.place.clone()].ends_with(['"', '#'])));
    }

    #[test]
    fn quotes_in_characters_open_no_string_and_lifetimes_no_character() {
        let source = Source::read("fn f<'a>(c: &'a str) { c.split(['\"', '\\'', '{', 'é']); \"s\" }");
        assert_eq!(source.strings.len(), 1);
        assert_eq!(source.code.matches('{').count(), 1);
        assert_eq!(source.closing(source.code.find('{').unwrap()), source.code.len());
    }

    #[test]
    fn an_unfinished_file_is_read_to_its_end() {
        for text in ["\"open", "r#\"open\"", "/* open", "'", "'\\", "#[cfg(test)]", "b'\\''", "ü\"ü"] {
            assert_eq!(Source::read(text).code.len(), text.len(), "{text}");
        }
    }

    #[test]
    fn tests_comments_and_blank_lines_do_not_count() {
        let text = "//! Docs.\n\nfn f() {\n    let s = \"two\n        lines\"; // why\n}\n\n\
                    #[cfg(test)]\nmod tests {\n    fn t() { \"}\"; }\n}\n";
        let source = Source::read(text);
        assert_eq!((source.lines_of_code(), source.lines()), (4, 7));
        let helper = "struct A;\nimpl A {\n    #[cfg(test)]\n    fn h() {\n    }\n    fn g() {}\n}\n";
        assert_eq!(Source::read(helper).lines_of_code(), 4);
    }

    #[test]
    fn braces_balance_in_every_file_of_the_repository() {
        let tree = crate::tidy::tree::Tree::load(&crate::repo::Repo::here()).unwrap();
        for (path, text) in tree.rust() {
            let source = Source::read(text);
            assert_eq!(source.code.len(), text.len(), "{path}");
            assert_eq!(source.code.matches('{').count(), source.code.matches('}').count(), "{path}");
        }
    }

    #[test]
    fn whole_files_of_tests_are_known_by_their_place() {
        assert!(is_test_file("crates/net/tests/faults.rs") && is_test_file("crates/a/src/b/tests.rs"));
        assert!(!is_test_file("crates/net/src/testing.rs"));
    }
}
