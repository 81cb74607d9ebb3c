//! `cargo xtask lines [FOLDER]`: production lines of code by crate. Comments, blank lines, tests, benchmarks and
//! examples do not count. With FOLDER another checkout is counted, such as a `git worktree` of an older commit.

use std::collections::BTreeMap;

use crate::error::TaskError;
use crate::repo::Repo;
use crate::source::Source;
use crate::tidy::tree::Tree;

pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let tree = match args {
        [] => Tree::load(repo)?,
        [folder] => Tree::load(&Repo::at(folder))?,
        _ => return Err(TaskError::Usage("`lines` takes one folder at most".to_owned())),
    };
    let counts = count(&tree);
    for (package, lines) in &counts {
        println!("{package:<20} {lines:>7}");
    }
    println!("{:<20} {:>7}", "total", counts.values().sum::<usize>());
    Ok(())
}

fn count(tree: &Tree) -> BTreeMap<&str, usize> {
    let of = |package: &str| {
        let sources = format!("{package}/src/");
        let files = tree.production().filter(|(path, _)| path.starts_with(&sources));
        files.map(|(_, text)| Source::read(text).lines_of_code()).sum()
    };
    tree.packages().map(|package| (package, of(package))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_ships_is_counted() {
        let tree = Tree::of(&[
            ("crates/one/Cargo.toml", ""),
            ("crates/one/src/lib.rs", "//! One.\n\nfn f() {}\n\n#[cfg(test)]\nmod tests;\n"),
            ("crates/one/src/tests.rs", "fn t() {}\n"),
            ("crates/one/examples/e.rs", "fn main() {}\n"),
            ("xtask/Cargo.toml", ""),
            ("xtask/src/main.rs", "fn main() {\n}\n"),
        ]);
        assert_eq!(count(&tree), BTreeMap::from([("crates/one", 1), ("xtask", 2)]));
    }
}
