//! What others wrote and we ship: unchanged, in one place, with its licence beside it.

use std::collections::BTreeSet;

use super::Problem;
use super::tree::Tree;

/// The only folders for it. What is below them has a folder of its own for each work.
const FOLDERS: &[&str] = &["crates/dashboard/assets/vendor/"];

/// Beside every work: the terms on which we may ship it, and where it is from.
const COMPANIONS: &[(&str, &str)] =
    &[("LICENSE", "its terms"), ("ORIGIN.md", "its name, its version, and how to fetch it again")];

/// Whether the file is somebody else's, so that our taste does not apply to it.
pub(super) fn is_vendored(path: &str) -> bool {
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let works: BTreeSet<&str> = tree.files().keys().filter_map(|path| work_of(path)).collect();
    let mut problems = Vec::new();
    for work in works {
        for (name, what) in COMPANIONS {
            let path = format!("{work}/{name}");
            if tree.text(&path).is_none_or(|text| text.trim().is_empty()) {
                problems.push(Problem::in_file(&path, format!("is missing: {what}")));
            }
        }
    }
    problems
}

/// The folder of the work that a file belongs to; the folder for all of them if it lies loose there.
fn work_of(path: &str) -> Option<&str> {
    let folder = FOLDERS.iter().find(|folder| path.starts_with(**folder))?;
    let name = path[folder.len()..].split_once('/').map_or("", |(name, _)| name);
    Some(path[..folder.len() + name.len()].trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|problem| problem.path).collect()
    }

    #[test]
    fn every_work_has_its_licence_and_its_origin() {
        let code = ("crates/dashboard/assets/vendor/uplot/u.js", "x");
        let licence = ("crates/dashboard/assets/vendor/uplot/LICENSE", "MIT");
        let origin = ("crates/dashboard/assets/vendor/uplot/ORIGIN.md", "uplot 1.6\n");
        assert_eq!(missing(&[code, licence, origin]), Vec::<String>::new());
        assert_eq!(missing(&[code, origin]), [licence.0]);
        assert_eq!(missing(&[code, licence, (origin.0, "\n")]), [origin.0]);
    }

    #[test]
    fn a_loose_file_is_noticed_and_other_folders_are_none_of_its_business() {
        assert_eq!(missing(&[("crates/dashboard/assets/vendor/loose.js", "x")]).len(), 2);
        assert_eq!(missing(&[("crates/plan/vendor/a.js", "x")]), Vec::<String>::new());
        assert!(!is_vendored("crates/plan/vendor/a.js"));
    }
}
