//! Paragraphs, list items and headings of Markdown; code blocks, tables and tags are left out.

use super::{Kind, Lines, Passage, html};

pub(super) fn passages(text: &str) -> Vec<Passage> {
    let (mut passages, mut lines) = (Vec::new(), Lines::default());
    let mut fence: Option<&str> = None;
    let mut in_front_matter = text.starts_with("---\n");
    for (index, raw) in text.lines().enumerate() {
        let line = raw.trim();
        if in_front_matter {
            in_front_matter = index == 0 || line != "---";
            continue;
        }
        if let Some(mark) = fence {
            if line.starts_with(mark) {
                fence = None;
            }
            continue;
        }
        fence = ["```", "~~~", "$$"].into_iter().find(|mark| line.starts_with(mark));
        // A formula may begin and end on one line.
        if fence == Some("$$") && line.len() > 2 && line.ends_with("$$") {
            fence = None;
            lines.end(Kind::Paragraph, &mut passages);
            continue;
        }
        if fence.is_some()
            || line.is_empty()
            || ["|", "<!--", "[^", "!["].iter().any(|mark| line.starts_with(mark))
        {
            lines.end(Kind::Paragraph, &mut passages);
            continue;
        }
        if let Some((level, title)) = heading(raw) {
            lines.end(Kind::Paragraph, &mut passages);
            passages.push(Passage { kind: Kind::Heading(level), line: index + 1, text: title.to_owned() });
            continue;
        }
        let plain;
        let line = if line.starts_with('<') {
            // A line of HTML is a passage of its own: tags end paragraphs.
            lines.end(Kind::Paragraph, &mut passages);
            plain = html::without_tags(line);
            plain.trim()
        } else {
            line
        };
        let content = item(line.trim_start_matches("> "));
        if content.len() < line.len() {
            lines.end(Kind::Paragraph, &mut passages);
        }
        lines.push(index + 1, &without_links(content));
    }
    lines.end(Kind::Paragraph, &mut passages);
    passages
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..=6).contains(&level).then_some(())?;
    title.strip_prefix(' ').map(|title| (level, title.trim()))
}

/// The content of a list item; any other line is returned whole.
fn item(line: &str) -> &str {
    let behind_number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = (behind_number.len() < line.len()).then(|| behind_number.strip_prefix(". ")).flatten();
    let bullet = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark));
    numbered.or(bullet).unwrap_or(line)
}

/// The line with `text` in the place of `[text](target)`.
fn without_links(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some(middle) = rest.find("](") {
        let Some(end) = rest[middle..].find(')') else { break };
        match rest[..middle].rfind('[') {
            Some(open) => {
                plain.push_str(&rest[..open]);
                plain.push_str(&rest[open + 1..middle]);
            }
            None => plain.push_str(&rest[..middle]),
        }
        rest = &rest[middle + end + 1..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String)> {
        passages(text).into_iter().map(|passage| (passage.line, passage.text)).collect()
    }

    #[test]
    fn paragraphs_items_and_headings_are_passages_of_their_own() {
        let text = "# Title\n\nOne\ntwo.\n- first\n  and more\n2. second\n> quoted\n## Next\n";
        let expected = ["Title", "One two.", "first and more", "second", "quoted", "Next"];
        let found: Vec<String> = read(text).into_iter().map(|(_, text)| text).collect();
        assert_eq!(found, expected);
        let kinds: Vec<Kind> = passages(text).into_iter().map(|passage| passage.kind).collect();
        assert_eq!((kinds[0], kinds[1], kinds[5]), (Kind::Heading(1), Kind::Paragraph, Kind::Heading(2)));
    }

    #[test]
    fn code_tables_html_formulas_and_front_matter_are_left_out() {
        let text =
            "---\ntitle: x\n---\n```sh\n# no heading\n```\n| a | b |\n<!-- c -->\n$$x$$\n$$\ny\n$$\nEnd.\n";
        assert_eq!(read(text), [(13, "End.".to_owned())]);
    }

    #[test]
    fn text_between_tags_is_read() {
        let text = "One.\n<p class=\"x\">Two <b>words</b></p>\n<hr>\nThree.\n";
        let expected = [(1, "One.".to_owned()), (2, "Two words".to_owned()), (4, "Three.".to_owned())];
        assert_eq!(read(text), expected);
    }

    #[test]
    fn links_are_read_as_their_texts() {
        assert_eq!(without_links("see [the guide](a/b.md) and [c](d)."), "see the guide and c.");
        assert_eq!(without_links("broken ](x"), "broken ](x");
    }
}
