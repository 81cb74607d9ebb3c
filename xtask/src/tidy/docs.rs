//! A reader finds the way: every crate opens with its layout, and ARCHITECTURE.md knows every
//! crate.

use super::Problem;
use super::manifest::Manifest;
use super::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.packages() {
        for root in ["lib.rs", "main.rs"] {
            let path = format!("{folder}/src/{root}");
            if tree.text(&path).is_some_and(|text| has_modules(text) && !opens_with_layout(text)) {
                let message = "must open with `//!` docs that have a `# Layout` section: one line \
                               for each module";
                problems.push(Problem::in_file(&path, message));
            }
        }
    }
    let Some(map) = tree.text(MAP) else {
        problems.push(Problem::in_file(MAP, "is missing"));
        return problems;
    };
    for folder in tree.packages() {
        let manifest = Manifest::parse(tree.text(&format!("{folder}/Cargo.toml")).unwrap_or(""));
        if !mentions(map, folder) && !mentions(map, &manifest.name) {
            let message = format!("does not mention `{folder}`");
            problems.push(Problem::in_file(MAP, message));
        }
    }
    problems
}

/// Whether there is anything to lay out: a program may be a few lines around a library.
fn has_modules(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        line.starts_with("mod ") && line.ends_with(';')
    })
}

/// Whether the file's first lines are crate docs with a heading of that name, at any depth.
fn opens_with_layout(text: &str) -> bool {
    text.lines()
        .map_while(|line| line.strip_prefix("//!"))
        .any(|line| line.trim().trim_start_matches('#') == " Layout")
}

/// Whether the text has the name as a whole word: `fedflip` is not mentioned by `fedflip-plan`.
fn mentions(text: &str, name: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '-' || c == '_' || c == '/';
    !name.is_empty()
        && text.match_indices(name).any(|(start, found)| {
            let before = text[..start].chars().next_back();
            let after = text[start + found.len()..].chars().next();
            !before.is_some_and(part_of_name) && !after.is_some_and(|c| part_of_name(c) && c != '/')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_must_be_in_the_opening_docs() {
        assert!(opens_with_layout("//! A crate.\n//!\n//! # Layout\n//!\n//! - a\n"));
        assert!(opens_with_layout("//! A crate.\n//! ## Layout\n"));
        assert!(!opens_with_layout("//! A crate.\n\n//! # Layout\n"));
        assert!(!opens_with_layout("//! A crate with a Layout somewhere.\n"));
        assert!(!opens_with_layout("fn main() {}\n"));
    }

    #[test]
    fn a_program_around_a_library_has_nothing_to_lay_out() {
        assert!(!has_modules("fn main() { fedflip::run(); }\n#[cfg(test)]\nmod tests {}\n"));
        assert!(has_modules("mod args;\n") && has_modules("pub(crate) mod args;\n"));
    }

    #[test]
    fn a_longer_name_does_not_stand_for_a_shorter_one() {
        assert!(mentions("see `fedflip`.", "fedflip"));
        assert!(!mentions("see `fedflip-plan`.", "fedflip"));
        assert!(mentions("in crates/plan/src", "crates/plan"));
        assert!(!mentions("in crates/planner", "crates/plan"));
    }

    #[test]
    fn a_crate_that_the_map_forgot_is_named() {
        let tree = Tree::of(&[
            (MAP, "`fedflip-fleet` and nothing else\n"),
            ("crates/fleet/Cargo.toml", "[package]\nname = \"fedflip-fleet\"\n"),
            ("crates/plan/Cargo.toml", "[package]\nname = \"fedflip-plan\"\n"),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.contains("crates/plan"));
    }
}
