//! A doc comment says what an item is for. Three words rarely do: they repeat the item's name, or a symbol of the paper.

use super::prose::{self, Kind};
use super::ratchet::{Offender, Ratchet};
use super::tree::Tree;

pub(super) const RATCHET: Ratchet = Ratchet {
    list: "xtask/tidy/trivial-docs.txt",
    limit: 0,
    unit: "doc comments of under four words",
    remedy: "say what the value is, in which unit, or why it exists; a private item may go without",
    offenders,
};

const WORDS_MIN: usize = 4;

fn offenders(tree: &Tree) -> Vec<Offender> {
    let mut found: Vec<Offender> = Vec::new();
    let rust = tree.production();
    let python = tree.files().iter().filter(|(path, _)| path.starts_with("python/fedflip/"));
    for (path, text) in rust.chain(python.map(|(path, text)| (path.as_str(), text.as_str()))) {
        for (line, doc) in trivial(path, text) {
            match found.iter_mut().find(|known| known.path == path && known.what == doc) {
                Some(known) => known.count += 1,
                None => found.push(Offender { path: path.to_owned(), line, what: doc, count: 1 }),
            }
        }
    }
    found
}

/// The doc comments that are one passage of fewer words than a sentence has.
fn trivial(path: &str, text: &str) -> Vec<(usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_doc = |line: usize| {
        let line = lines.get(line.wrapping_sub(1)).map_or("", |line| line.trim_start());
        line.starts_with("///") || line.starts_with("//!")
    };
    let passages = prose::passages(path, text).into_iter();
    let docs =
        passages.filter(|passage| passage.kind == Kind::Doc && prose::words(&passage.text) < WORDS_MIN);
    let alone = docs.filter(|passage| match path.ends_with(".rs") {
        true => !is_doc(passage.line - 1) && !is_doc(passage.line + 1),
        // A docstring of one line has both of its ends there.
        false => lines.get(passage.line - 1).is_some_and(|line| line.matches("\"\"\"").count() == 2),
    });
    alone.map(|passage| (passage.line, passage.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let tree = Tree::of(&[("crates/one/Cargo.toml", ""), (path, text)]);
        offenders(&tree).into_iter().map(|offender| (offender.line, offender.what)).collect()
    }

    #[test]
    fn a_doc_comment_of_three_words_is_found() {
        assert_eq!(
            found("crates/one/src/a.rs", "fn f() {}\n/// `τ_n`.\nfn g() {}\n"),
            [(2, "`τ_n`.".to_owned())]
        );
        assert_eq!(
            found("python/fedflip/a.py", "def f():\n    \"\"\"As given.\"\"\"\n"),
            [(2, "As given.".to_owned())]
        );
    }

    #[test]
    fn longer_ones_comments_and_tests_are_not() {
        for text in [
            "/// The compute time, in seconds.\n",
            "/// Time:\n/// of one round.\n",
            "/// A.\n///\n/// B.\n",
            "// Why.\n",
        ] {
            assert_eq!(found("crates/one/src/a.rs", text), [], "{text}");
        }
        assert_eq!(found("crates/one/tests/a.rs", "/// As given.\n"), []);
        assert_eq!(found("python/fedflip/a.py", "\"\"\"One.\n\nMore.\n\"\"\"\nx = \"\"\"a b\"\"\"\n"), []);
    }
}
