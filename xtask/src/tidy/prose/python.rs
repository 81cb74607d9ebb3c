//! Comments, docstrings and strings of Python.

use super::{Kind, Lines, Passage};

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let (mut passages, mut comment) = (Vec::new(), Lines::default());
    let (mut at, mut line, mut last_comment) = (0, 1, 0);
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if next == '#' {
            let length = rest.find('\n').unwrap_or(rest.len());
            if line != last_comment + 1 {
                comment.end(Kind::Comment, &mut passages);
            }
            last_comment = line;
            comment.push(line, rest[..length].trim_start_matches(['#', ':']));
            length
        } else if let Some((open, close)) = string(rest) {
            let length = (close + open).min(rest.len());
            add_string(text, at, &rest[open..close], line, &mut passages);
            length
        } else {
            next.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    comment.end(Kind::Comment, &mut passages);
    passages.sort_by_key(|passage| passage.line);
    passages
}

/// Where the inside of a string that begins the text starts and ends.
fn string(text: &str) -> Option<(usize, usize)> {
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| text.starts_with(quote))?;
    let open = quote.len();
    let mut at = open;
    while at < text.len() && !text[at..].starts_with(quote) {
        let escaped = text[at..].starts_with('\\');
        // A string of one line that does not end there is none: the quote was part of something else.
        if open == 1 && text[at..].starts_with('\n') {
            return None;
        }
        at += usize::from(escaped);
        at += text[at..].chars().next().map_or(0, char::len_utf8);
    }
    Some((open, at.min(text.len())))
}

/// A docstring stands alone on its line and is split into paragraphs.
fn add_string(text: &str, at: usize, inside: &str, line: usize, passages: &mut Vec<Passage>) {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let before = text[start..at].trim().trim_end_matches('r');
    let is_doc = before.is_empty() && text[at..].starts_with("\"\"\"");
    if !is_doc {
        if inside.trim().contains(' ') {
            let joined: Vec<&str> = inside.split('\n').map(str::trim).collect();
            passages.push(Passage { kind: Kind::String, line, text: joined.join(" ") });
        }
        return;
    }
    let mut lines = Lines::default();
    for (index, content) in inside.lines().enumerate() {
        let content = content.trim();
        // Examples are code, and the output below them ends with a blank line.
        if content.is_empty() || content.starts_with(">>>") || content.starts_with("...") {
            lines.end(Kind::Doc, passages);
        } else {
            lines.push(line + index, content);
        }
    }
    lines.end(Kind::Doc, passages);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Kind, usize, String)> {
        passages(text).into_iter().map(|passage| (passage.kind, passage.line, passage.text)).collect()
    }

    #[test]
    fn docstrings_comments_and_strings_are_found_on_their_lines() {
        let text = "\"\"\"One\ntwo.\n\nThree.\"\"\"\n# why\n# so\nraise E(f\"two words\", 'name')  # here\n";
        let expected = [
            (Kind::Doc, 1, "One two.".to_owned()),
            (Kind::Doc, 4, "Three.".to_owned()),
            (Kind::Comment, 5, "why so here".to_owned()),
            (Kind::String, 7, "two words".to_owned()),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn a_hash_in_a_string_is_no_comment_and_a_quote_in_a_comment_no_string() {
        let text = "a = \"# not \\\" this\"\n# it's one\nb = 'x y'\n";
        let kinds: Vec<Kind> = read(text).into_iter().map(|(kind, _, _)| kind).collect();
        assert_eq!(kinds, [Kind::String, Kind::Comment, Kind::String]);
        for text in ["\"open", "\"\"\"open", "'\\", "#", "é'"] {
            read(text);
        }
    }
}
