//! Text between the tags of HTML, its comments, and the attributes that people read; scripts are read as JavaScript.

use super::{Kind, Lines, Passage, javascript};

/// Attributes whose values are shown or read aloud.
const SPOKEN: &[&str] = &["alt=", "aria-label=", "placeholder=", "title="];

/// Tags within a sentence; any other tag ends a passage.
const INLINE: &[&str] =
    &["a", "abbr", "b", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "var", "wbr"];

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let (mut passages, mut lines) = (Vec::new(), Lines::default());
    let (mut at, mut line) = (0, 1);
    while at < text.len() {
        let rest = &text[at..];
        let length = if rest.starts_with("<!--") {
            let end = rest.find("-->").map_or(rest.len(), |end| end + 3);
            lines.end(Kind::Paragraph, &mut passages);
            add(
                rest[..end].trim_start_matches("<!--").trim_end_matches("-->"),
                line,
                Kind::Comment,
                &mut passages,
            );
            end
        } else if let Some(tag) = tag(rest) {
            if !INLINE.contains(&name(tag)) {
                lines.end(Kind::Paragraph, &mut passages);
            }
            spoken(tag).for_each(|value| add(value, line, Kind::String, &mut passages));
            tag.len() + raw(&rest[tag.len()..], tag, line, &mut passages)
        } else {
            let end = rest.match_indices('<').map(|(at, _)| at).find(|at| *at > 0).unwrap_or(rest.len());
            lines.push_all(line, &rest[..end]);
            end
        };
        line += text[at..at + length].matches('\n').count();
        at += length;
    }
    lines.end(Kind::Paragraph, &mut passages);
    passages
}

/// A text without its tags.
pub(super) fn without_tags(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(start) = rest.find('<') {
        plain.push_str(&rest[..start]);
        let tag = tag(&rest[start..]);
        if tag.is_none() {
            plain.push('<');
        }
        rest = &rest[start + tag.map_or(1, str::len)..];
    }
    plain + rest
}

fn add(text: &str, line: usize, kind: Kind, passages: &mut Vec<Passage>) {
    let mut lines = Lines::default();
    lines.push_all(line, text);
    lines.end(kind, passages);
}

/// The tag that begins the text, up to its closing bracket outside quotes.
fn tag(text: &str) -> Option<&str> {
    let is_tag =
        text.strip_prefix('<')?.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!');
    let mut quote = None;
    let end = text.char_indices().find(|(_, next)| {
        match quote {
            Some(open) if open == *next => quote = None,
            None if "\"'".contains(*next) => quote = Some(*next),
            _ => {}
        }
        quote.is_none() && *next == '>'
    });
    is_tag.then_some(&text[..end.map_or(text.len(), |(at, _)| at + 1)])
}

fn name(tag: &str) -> &str {
    let name = tag.trim_start_matches(['<', '/']);
    &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())]
}

/// The values of the attributes that people read.
fn spoken(tag: &str) -> impl Iterator<Item = &str> {
    SPOKEN.iter().filter_map(move |attribute| {
        let start = tag.match_indices(attribute).find(|(at, _)| tag[..*at].ends_with(char::is_whitespace))?.0;
        let value = tag[start + attribute.len()..].strip_prefix('"')?;
        value.split_once('"').map(|(value, _)| value)
    })
}

/// The length of what a tag of another language holds; the prose of a script is added.
fn raw(text: &str, tag: &str, line: usize, passages: &mut Vec<Passage>) -> usize {
    let close = match name(tag) {
        "script" if !tag.starts_with("</") => "</script",
        "style" if !tag.starts_with("</") => "</style",
        _ => return 0,
    };
    let end = text.find(close).unwrap_or(text.len());
    if close == "</script" {
        let before = line + tag.matches('\n').count() - 1;
        let of_script = javascript::passages(&text[..end]).into_iter();
        passages.extend(of_script.map(|passage| Passage { line: passage.line + before, ..passage }));
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String)> {
        passages(text).into_iter().map(|passage| (passage.line, passage.text)).collect()
    }

    #[test]
    fn text_comments_and_attributes_are_read_on_their_lines() {
        let text = "<!doctype html>\n<!-- why\nso -->\n<p title=\"a tip\" data-title=\"no\">One <b>bold</b>\ntwo.</p>\n<p>x > y</p>\n";
        let expected = [(2, "why so"), (4, "a tip"), (4, "One bold two."), (6, "x > y")];
        assert_eq!(read(text), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn a_script_is_read_as_one_and_a_style_is_left_out() {
        let text =
            "<style>\n/* no */\n</style>\n<script>\nlet a = 'two words'; // why\n</script>\n<p>End</p>";
        let found: Vec<(usize, String)> = read(text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert_eq!((found[0].0, found[2].clone()), (5, (7, "End".to_owned())));
    }

    #[test]
    fn broken_tags_end_with_the_text() {
        for text in ["<", "<p", "<p title=\"x", "<!--", "<script>", "a < b", "é<é"] {
            read(text);
        }
        assert_eq!(without_tags("<b>a</b> < c<br"), "a < c");
    }
}
