//! The step `browser`: what people see, in a real browser.
//!
//! The tests are node's, in `tests/browser`; they need node, two packages of npm's and a Chromium. What is
//! missing is installed where this runs as root on a Debian, else asked for.

use std::fs;

use crate::error::TaskError;
use crate::programs;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;
use crate::wasm;

const FOLDER: &str = "tests/browser";
/// What drives the browser, and what checks that everybody can use a page.
const PACKAGES: &[&str] = &["playwright-core", "axe-core"];
/// The environment variable that names a Chromium of one's own.
pub(crate) const CHROMIUM: &str = "CHROMIUM";
/// What Chromium is called, by Debian and by others.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser, when all that the tests need is there.
pub(crate) fn ensure(repo: &Repo) -> Result<String, TaskError> {
    ensure_node(repo)?;
    let browser = ensure_chromium(repo)?;
    if !has_packages(repo) {
        Cmd::words("npm install --silent --no-audit --no-fund --prefix").arg(FOLDER).run(repo)?;
    }
    Ok(browser)
}

/// Whether the packages are there in the pinned versions: then nothing is asked of any server.
fn has_packages(repo: &Repo) -> bool {
    let read = |path: &str| repo.read(&format!("{FOLDER}/{path}")).unwrap_or_default();
    let manifest = read("package.json");
    PACKAGES.iter().all(|package| {
        let pinned = value_of(&manifest, package);
        let installed = read(&format!("node_modules/{package}/package.json"));
        pinned.is_some() && value_of(&installed, "version") == pinned
    })
}

/// The text behind a key of a manifest.
fn value_of<'a>(manifest: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = manifest.split_once(&format!("\"{key}\":"))?;
    rest.split('"').nth(1)
}

/// Builds the program and looks at what it shows.
pub(crate) fn run(repo: &Repo, browser: &str) -> Result<(), TaskError> {
    let program = programs::built(repo, "fedflip")?;
    let mut node =
        Cmd::words("node --test").args(tests(repo)?).env(CHROMIUM, browser).env("FEDFLIP_BIN", program);
    if let Some(module) = wasm::for_pages(repo)? {
        node = node.env(wasm::MODULE, module.display().to_string());
    }
    node.run(repo)
}

/// The files of tests, by name: given a folder, node would look into the packages too.
fn tests(repo: &Repo) -> Result<Vec<String>, TaskError> {
    let path = repo.path(FOLDER);
    let failed = |source| TaskError::File { path: path.clone(), source };
    let mut tests = Vec::new();
    for entry in fs::read_dir(&path).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.mjs") {
            tests.push(format!("{FOLDER}/{name}"));
        }
    }
    tests.sort();
    Ok(tests)
}

pub(crate) fn ensure_node(repo: &Repo) -> Result<(), TaskError> {
    let there = || Cmd::words("npm --version").output(repo).and(Cmd::words("node --version").output(repo));
    if there().is_err() {
        tools::install_by_apt(repo, &["nodejs", "npm"])?;
    }
    let missing = |_| TaskError::Missing {
        what: "node".to_owned(),
        hint: "install Node.js 18 or newer with its npm, for example `apt-get install nodejs npm`".to_owned(),
    };
    there().map(|version| println!("   node {} is here", version.trim())).map_err(missing)
}

fn ensure_chromium(repo: &Repo) -> Result<String, TaskError> {
    if let Some(chosen) = tools::variable(CHROMIUM) {
        return Ok(chosen);
    }
    if find_chromium(repo).is_none() {
        // Without a font its pages have no text.
        tools::install_by_apt(repo, &["chromium", "fonts-dejavu-core"])?;
    }
    find_chromium(repo).ok_or_else(|| TaskError::Missing {
        what: "chromium".to_owned(),
        hint: format!(
            "install it, for example with `apt-get install chromium`, or name one in the variable {CHROMIUM}"
        ),
    })
}

/// Where it is: the tests are given the file, because they do not search.
fn find_chromium(repo: &Repo) -> Option<String> {
    std::env::split_paths(&repo.search_path())
        .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)))
        .find(|path| path.is_file())
        .map(|path| {
            println!("   {} is here", path.display());
            path.display().to_string()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_pinned_to_one_version() {
        let manifest = Repo::here().read("tests/browser/package.json").unwrap();
        for package in PACKAGES {
            let pinned = value_of(&manifest, package).unwrap();
            assert!(pinned.starts_with(|c: char| c.is_ascii_digit()), "{pinned}");
        }
        assert_eq!(value_of(&manifest, "no-such-key"), None);
    }

    #[test]
    fn tests_are_found_and_packages_are_not_searched() {
        let found = tests(&Repo::here()).unwrap();
        assert!(found.contains(&"tests/browser/dashboard.test.mjs".to_owned()), "{found:?}");
        assert!(found.iter().all(|path| !path.contains("node_modules")), "{found:?}");
    }
}
