//! Every source file is part of a crate. One that no `mod` leads to is not compiled, not tested
//! and not linted, and still looks alive to whoever greps.

use std::collections::BTreeSet;

use super::Problem;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for folder in tree.packages() {
        let sources = format!("{folder}/src/");
        let reached = reached_from_roots(tree, &sources);
        let lost = tree
            .rust()
            .map(|(path, _)| path)
            .filter(|path| path.starts_with(&sources) && !reached.contains(*path));
        problems.extend(
            lost.map(|path| Problem::in_file(path, "no `mod` leads here: declare the module or delete it")),
        );
    }
    problems
}

/// The files that the compiler would visit, starting from those that cargo hands to it.
fn reached_from_roots(tree: &Tree, sources: &str) -> BTreeSet<String> {
    let mut waiting: Vec<String> = tree
        .rust()
        .map(|(path, _)| path)
        .filter(|path| path.strip_prefix(sources).is_some_and(is_root))
        .map(str::to_owned)
        .collect();
    let mut reached = BTreeSet::new();
    // Each file enters once, so this ends even if modules named each other in a ring.
    while let Some(path) = waiting.pop() {
        let Some(text) = tree.text(&path) else {
            continue;
        };
        if !reached.insert(path.clone()) {
            continue;
        }
        let folder = folder_of_children(&path, sources);
        for module in declared_modules(text) {
            waiting.push(format!("{folder}{module}.rs"));
            waiting.push(format!("{folder}{module}/mod.rs"));
        }
    }
    reached
}

/// Files of modules that are declared right below `#[cfg(test)]`.
pub(super) fn test_modules(tree: &Tree, sources: &str) -> Vec<String> {
    let mut files = Vec::new();
    for (path, text) in tree.rust().filter(|(path, _)| path.starts_with(sources)) {
        let (folder, lines) = (folder_of_children(path, sources), text.lines());
        let pairs = lines.clone().zip(lines.skip(1));
        for (_, line) in pairs.filter(|(above, _)| above.trim() == "#[cfg(test)]") {
            files.extend(declared_modules(line).map(|module| format!("{folder}{module}.rs")));
        }
    }
    files
}

/// Whether cargo compiles this file, named from `src/`, without being told.
fn is_root(name: &str) -> bool {
    let binary =
        name.strip_prefix("bin/").is_some_and(|rest| !rest.contains('/') || rest.ends_with("/main.rs"));
    name == "lib.rs" || name == "main.rs" || binary
}

/// Where the modules that a file declares are looked for.
fn folder_of_children(path: &str, sources: &str) -> String {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    let is_root = path.strip_prefix(sources).is_some_and(is_root);
    if is_root || name == "mod" { format!("{folder}/") } else { format!("{stem}/") }
}

/// The names in lines such as `mod a;`, `pub(crate) mod b;` and `#[cfg(test)] mod c;`.
fn declared_modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut rest = line.trim();
        while rest.starts_with("#[") {
            rest = rest.split_once(']')?.1.trim_start();
        }
        if let Some(public) = rest.strip_prefix("pub") {
            rest = match public.strip_prefix('(') {
                Some(within) => within.split_once(')')?.1,
                None => public,
            };
        }
        let name = rest.trim_start().strip_prefix("mod ")?.split_once(';')?.0;
        Some(name.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_followed_through_both_layouts() {
        let tree = Tree::of(&[
            ("crates/one/Cargo.toml", ""),
            ("crates/one/src/lib.rs", "mod a;\npub(crate) mod b;\n#[cfg(test)] mod c;\n"),
            ("crates/one/src/a.rs", "pub mod deep;\n"),
            ("crates/one/src/a/deep.rs", ""),
            ("crates/one/src/b/mod.rs", "mod deep;\n"),
            ("crates/one/src/b/deep.rs", ""),
            ("crates/one/src/c.rs", ""),
            ("crates/one/src/bin/tool.rs", ""),
            ("crates/one/tests/any.rs", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn modules_of_tests_are_found_wherever_their_files_are() {
        let tree = Tree::of(&[
            ("crates/one/src/lib.rs", "#[cfg(test)]\nmod helpers;\nmod a;\n"),
            ("crates/one/src/a.rs", "#[cfg(test)]\npub(crate) mod toys;\n"),
        ]);
        let found = test_modules(&tree, "crates/one/src/");
        assert_eq!(found, ["crates/one/src/a/toys.rs", "crates/one/src/helpers.rs"]);
    }

    #[test]
    fn a_file_that_nothing_declares_is_lost_with_what_it_declares() {
        let tree = Tree::of(&[
            ("crates/one/Cargo.toml", ""),
            ("crates/one/src/lib.rs", "// mod lost;\nmod inline { }\n"),
            ("crates/one/src/lost.rs", "mod deep;\n"),
            ("crates/one/src/lost/deep.rs", ""),
        ]);
        let lost: Vec<String> = check(&tree).into_iter().map(|lost| lost.path).collect();
        assert_eq!(lost, ["crates/one/src/lost.rs", "crates/one/src/lost/deep.rs"]);
    }
}
