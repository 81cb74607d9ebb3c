//! Comments and strings of JavaScript; the placeholders of a template are replaced by one word.

use super::{Kind, Lines, Passage};

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let (mut passages, mut comment) = (Vec::new(), Lines::default());
    let (mut at, mut line, mut last_comment) = (0, 1, 0);
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let length = if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            if line != last_comment + 1 {
                comment.end(Kind::Comment, &mut passages);
            }
            last_comment = line;
            comment.push(line, rest[..length].trim_start_matches('/'));
            length
        } else if let Some(inside) = rest.strip_prefix("/*") {
            comment.end(Kind::Comment, &mut passages);
            let length = inside.find("*/").map_or(rest.len(), |end| end + 4);
            for (index, content) in rest[..length].split('\n').enumerate() {
                let content = content.trim().trim_start_matches(['/', '*']).trim_end_matches(['/', '*']);
                if !content.trim().is_empty() {
                    comment.push(line + index, content);
                }
            }
            comment.end(Kind::Comment, &mut passages);
            length
        } else if next == '/' && may_be_pattern(&text[..at]) {
            pattern(rest)
        } else if "\"'`".contains(next) {
            let length = string(rest, next);
            add_string(&rest[1..length.max(2).min(rest.len())], next, line, &mut passages);
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

/// Whether a slash after this code begins a regular expression: a value does not end here.
fn may_be_pattern(before: &str) -> bool {
    let before = before.trim_end();
    before.is_empty()
        || before.ends_with("return")
        || before.ends_with(|c: char| "(,=:[!&|?{};+<>~^%".contains(c))
}

/// The length of a regular expression, whose classes may hold a slash.
fn pattern(text: &str) -> usize {
    let (mut is_escaped, mut in_class) = (false, false);
    for (at, next) in text.char_indices().skip(1) {
        match next {
            '\n' => break,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return at + 1,
            _ => {}
        }
    }
    1
}

/// The length of the string that begins the text. Placeholders of a template may hold strings of their own.
fn string(text: &str, quote: char) -> usize {
    let (mut is_escaped, mut depth, mut before) = (false, 0_usize, quote);
    for (at, next) in text.char_indices().skip(1) {
        match next {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '{' if quote == '`' && (before == '$' || depth > 0) => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            // A string of one line that does not end there is none.
            '\n' if quote != '`' => return 1,
            _ if next == quote && depth == 0 => return at + 1,
            _ => {}
        }
        before = next;
    }
    text.len()
}

/// Adds what is between the quotes; one word is a name, not a sentence.
fn add_string(inside: &str, quote: char, line: usize, passages: &mut Vec<Passage>) {
    let inside = inside.trim_end_matches(quote);
    let text = if quote == '`' { without_placeholders(inside) } else { inside.to_owned() };
    if text.trim().contains(' ') {
        let joined: Vec<&str> = text.split('\n').map(str::trim).collect();
        passages.push(Passage { kind: Kind::String, line, text: joined.join(" ") });
    }
}

fn without_placeholders(text: &str) -> String {
    let (mut plain, mut depth) = (String::new(), 0_usize);
    for (at, next) in text.char_indices() {
        match next {
            '{' if depth > 0 || text[..at].ends_with('$') => {
                depth += 1;
                if depth == 1 {
                    plain.pop();
                    plain.push_str("CODE");
                }
            }
            '}' if depth > 0 => depth -= 1,
            _ if depth == 0 => plain.push(next),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Kind, usize, String)> {
        passages(text).into_iter().map(|passage| (passage.kind, passage.line, passage.text)).collect()
    }

    #[test]
    fn comments_and_strings_of_several_words_are_found_on_their_lines() {
        let text = "// why\n// so\nf('two words', \"name\"); // here\n/* one\n * two */\n";
        let expected = [
            (Kind::Comment, 1, "why so here".to_owned()),
            (Kind::String, 3, "two words".to_owned()),
            (Kind::Comment, 4, "one two".to_owned()),
        ];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn placeholders_are_one_word_and_their_strings_end_no_template() {
        let found = read("g(`of ${a ? `x ${b}` : \"`\"} devices`, 'a b')");
        let texts: Vec<&str> = found.iter().map(|(_, _, text)| text.as_str()).collect();
        assert_eq!(texts, ["of CODE devices", "a b"]);
    }

    #[test]
    fn patterns_and_quotients_are_neither_comments_nor_strings() {
        assert_eq!(
            read("x.replace(/[/\"']/g, y); a = b / c; d = '//e f'"),
            [(Kind::String, 1, "//e f".to_owned())]
        );
    }

    #[test]
    fn broken_texts_end_somewhere() {
        for text in ["'", "`", "\"open\n'a b'", "/*", "/", "`${", "'\\", "é`é${é"] {
            read(text);
        }
        assert_eq!(read("\"open\n'a b'").len(), 1);
    }
}
