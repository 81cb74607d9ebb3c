//! What a wheel must hold, and what it must not.

use std::fs;
use std::path::Path;

use super::file_error;
use crate::error::TaskError;

/// The extension module inside the wheel.
pub(super) const LIBRARY: &str = "fedflip/_fedflip.abi3.so";

/// Files beside the sources that no wheel may lack, by the ends of their paths.
const NEEDED: &[&str] = &[
    "fedflip/_fedflip.pyi",
    "fedflip/py.typed",
    ".dist-info/METADATA",
    ".dist-info/WHEEL",
    ".dist-info/RECORD",
    ".dist-info/entry_points.txt",
    ".dist-info/licenses/LICENSE-APACHE",
    ".dist-info/licenses/LICENSE-MIT",
    ".dist-info/licenses/crates/dashboard/assets/vendor/uplot/LICENSE",
    ".dist-info/licenses/crates/report/assets/font/LICENSE",
];

/// The name of a wheel says where it can be installed.
pub(super) fn check_name(name: &str, arch: &str, glibc: u32) -> Result<(), String> {
    for part in ["fedflip-", "-cp311-abi3-", &format!("manylinux_2_{glibc}_{arch}")] {
        if !name.contains(part) {
            return Err(format!("the name should have `{part}`"));
        }
    }
    Ok(())
}

/// Compares the files of a wheel with the sources of the package.
pub(super) fn check_files(files: &[String], sources: &[String]) -> Result<(), String> {
    let has = |end: &str| files.iter().any(|file| file.ends_with(end));
    let is_source = |path: &str| path.ends_with(".py") || path.ends_with(".pyi");
    let mut wanted = NEEDED.iter().copied().chain([LIBRARY]);
    if let Some(missing) = wanted.find(|end| !has(end)) {
        return Err(format!("`{missing}` is missing"));
    }
    if let Some(missing) = sources.iter().find(|path| is_source(path) && !files.contains(path)) {
        return Err(format!("the source `{missing}` is missing"));
    }
    let known = |file: &String| {
        file == LIBRARY
            || file == "fedflip/py.typed"
            || is_source(file) && sources.contains(file)
            || file.split('/').next().is_some_and(|top| top.ends_with(".dist-info"))
    };
    match files.iter().find(|file| !known(file)) {
        Some(stray) => Err(format!("`{stray}` does not belong there")),
        None => Ok(()),
    }
}

/// The files below a folder of a root, in order, by their path from the root.
pub(super) fn files_below(root: &Path, folder: &str) -> Result<Vec<String>, TaskError> {
    let path = root.join(folder);
    let mut files = Vec::new();
    for entry in fs::read_dir(&path).map_err(|source| file_error(&path, source))? {
        let entry = entry.map_err(|source| file_error(&path, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let inner = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.path().is_dir() {
            files.extend(files_below(root, &inner)?);
        } else {
            files.push(inner);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repo::Repo;

    fn wheel() -> Vec<String> {
        let at =
            |end: &&str| if end.starts_with('.') { format!("fedflip-1{end}") } else { (*end).to_owned() };
        let own = [LIBRARY, "fedflip/__init__.py"];
        NEEDED.iter().chain(&own).map(at).collect()
    }

    #[test]
    fn lost_and_stray_files_are_named() {
        let sources = ["fedflip/__init__.py".to_owned(), "fedflip/_fedflip.pyi".to_owned()];
        assert_eq!(check_files(&wheel(), &sources), Ok(()));
        for lost in 0..wheel().len() {
            let mut files = wheel();
            let name = files.remove(lost);
            let refused = check_files(&files, &sources).unwrap_err();
            assert!(refused.contains("is missing"), "{name}: {refused}");
        }
        for stray in ["fedflip/notes.txt", "fedflip/old.py", "tests/a.py", "fedflip/_fedflip.so"] {
            let mut files = wheel();
            files.push(stray.to_owned());
            assert!(check_files(&files, &sources).unwrap_err().contains(stray));
        }
    }

    #[test]
    fn the_name_has_the_stable_abi_the_glibc_and_the_machine() {
        let name = "fedflip-0.1.0-cp311-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";
        assert_eq!(check_name(name, "x86_64", 17), Ok(()));
        assert!(check_name(name, "aarch64", 17).is_err());
        assert!(check_name(name, "x86_64", 28).is_err());
        assert!(check_name(&name.replace("abi3", "cp311"), "x86_64", 17).is_err());
    }

    #[test]
    fn the_sources_of_the_package_are_found() {
        let sources = files_below(&Repo::here().path("python"), "fedflip").unwrap();
        assert!(sources.contains(&"fedflip/__init__.py".to_owned()), "{sources:?}");
    }
}
