//! Plays as plain text, turned into what each role says.
//!
//! 1. Stage directions in square brackets go, across lines too (an unclosed bracket stays).
//! 2. Paragraphs are separated by blank lines. A paragraph is a speech if it has two lines or more and the
//!    first is the name of a role; everything else (headings, lists, what follows a stage direction inside
//!    a speech) is left out.
//! 3. A line is a name if it has at most 40 characters and consists of letters, digits, spaces, `'`, `&`,
//!    `-` and `.`, and either is all in capitals (`HAMLET`, `FIRST WITCH.`), or ends in `.` and has at most
//!    four words that begin with a capital or a digit (`Ber.`, `1 Player.`; `of`, `and`, `the`, `to`, `in`,
//!    `a` may be small). It is no name if it begins with `ACT`, `SCENE`, `PERSONS` or `DRAMATIS` or is a
//!    Roman number.
//! 4. A role is its name in capitals within one play: the servants of two plays are two roles. Its text is
//!    its speeches in order, each line trimmed and ended by a newline.

use std::collections::BTreeMap;

const NAME_CHARS_MAX: usize = 40;

/// One role of a play.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// In capitals, without the full stop.
    pub name: String,
    /// All lines of the role, joined.
    pub text: String,
}

/// The roles of one play, in the order in which they first speak. Any bytes have some answer.
pub fn roles(play: &[u8]) -> Vec<Role> {
    let text = without_directions(&String::from_utf8_lossy(play).replace('\r', ""));
    let mut roles: Vec<Role> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    let mut lines = text.lines().map(str::trim).peekable();
    while lines.peek().is_some() {
        let paragraph: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        let [first, speech @ ..] = paragraph.as_slice() else { continue };
        let Some(name) = role_name(first).filter(|_| !speech.is_empty()) else { continue };
        let position = *known.entry(name).or_insert_with_key(|name| {
            roles.push(Role { name: name.clone(), text: String::new() });
            roles.len() - 1
        });
        for line in speech {
            roles[position].text.push_str(line);
            roles[position].text.push('\n');
        }
    }
    roles
}

fn role_name(line: &str) -> Option<String> {
    let name = line.trim_end_matches('.').trim_end();
    let fits = name.len() <= NAME_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || " '&-.".contains(c));
    let first_word = name.split([' ', '.']).next()?;
    let heading =
        ["ACT", "SCENE", "PERSONS", "DRAMATIS"].iter().any(|word| first_word.eq_ignore_ascii_case(word));
    let roman = name.chars().all(|c| "IVXLC".contains(c));
    if !fits || heading || roman {
        return None;
    }
    let capitals =
        name.contains(|c: char| c.is_ascii_uppercase()) && !name.contains(|c: char| c.is_ascii_lowercase());
    let small = ["of", "and", "the", "to", "in", "a"];
    let titled = line.ends_with('.')
        && name.split_whitespace().count() <= 4
        && name.split_whitespace().all(|word| {
            small.contains(&word) || word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit())
        });
    (capitals || titled).then(|| name.to_ascii_uppercase())
}

/// Cuts out everything from `[` to the next `]`.
fn without_directions(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        kept.push_str(before);
        // One without an end is no direction: dropping the rest of the play would be worse.
        let Some((_, following)) = after.split_once(']') else {
            kept.push('[');
            rest = after;
            break;
        };
        rest = following;
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAY: &str = "THE PLAY\r\n\r\nPersons Represented.\nHAMLET, a prince.\n\nACT I.\nScene I. A place.\n\n\
        [Enter Hamlet\nand others.]\n\nHam.\nTo be, [Aside.] or not\n  to be.\n\nFIRST WITCH.\nWhen shall we\n\n\
        [Thunder.]\n\nmeet again?\n\nHAM.\nWords.\n\nAlone.\n\nLADY MACBETH\nOut!\n\nIII\nYes\n";

    #[test]
    fn speeches_are_gathered_by_role_and_directions_go() {
        let role = |name: &str, text: &str| Role { name: name.to_owned(), text: text.to_owned() };
        assert_eq!(
            roles(PLAY.as_bytes()),
            [
                role("HAM", "To be,  or not\nto be.\nWords.\n"),
                role("FIRST WITCH", "When shall we\n"),
                role("LADY MACBETH", "Out!\n"),
            ]
        );
    }

    #[test]
    fn names_and_what_only_looks_like_one() {
        for name in ["HAMLET", "Ber.", "1 Player.", "DUKE OF YORK.", "Sir And.", "ALL'S"] {
            assert!(role_name(name).is_some(), "{name}");
        }
        for other in
            ["", ".", "Stay!", "Who comes here?", "I'll see it done.", "SCENE II", "IV.", "A, B", "Ham"]
        {
            assert!(role_name(other).is_none(), "{other}");
        }
    }

    #[test]
    fn an_unclosed_bracket_loses_nothing() {
        assert_eq!(without_directions("a [b] c [d\ne"), "a  c [d\ne");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), text in "[A-Za-z .\\[\\]\n]{0,200}") {
            let _ = roles(&bytes);
            let _ = roles(text.as_bytes());
        }
    }
}
