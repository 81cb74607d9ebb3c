//! `cargo xtask site`: the documentation site, built by MkDocs from `docs/` to `target/site`, and the step that guards it.
//!
//! MkDocs and its plugins are a Python of their own below the tools folder; KaTeX and the fonts are packages of npm's there. The
//! hooks in `docs/hooks` put them into the site, so that no page asks another host for anything.

use std::fs;
use std::path::PathBuf;

use crate::browser;
use crate::error::TaskError;
use crate::programs;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;
use crate::wasm;

const REQUIREMENTS: &str = "docs/requirements.txt";
const PACKAGES: &str = "docs/package.json";
/// The runner of the blocks of pages, and the pages.
const TESTS: &str = "tests/site";
const BROWSER_TESTS: &str = "tests/site/site.test.mjs";

/// `cargo xtask site`: builds it, or serves it with every change of a page.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    let mut command = "build";
    let mut draft = false;
    for arg in args {
        match arg.as_str() {
            "--serve" => command = "serve",
            "--draft" => draft = true,
            other => {
                return Err(TaskError::Usage(format!("`site` takes --serve and --draft, and not `{other}`")));
            }
        }
    }
    let mut mkdocs = mkdocs(repo)?.arg(command);
    if draft {
        // It lacks pages, and shows its warnings without failing.
        mkdocs = mkdocs.arg("--no-strict").env("FEDFLIP_SITE_DRAFT", "yes");
    }
    if command == "build" {
        mkdocs = mkdocs.arg("--quiet");
    }
    mkdocs.run(repo)?;
    if command == "build" {
        println!("   open {}", repo.target().join("site/index.html").display());
    }
    Ok(())
}

/// The step `site`: no warning, every block of every page that needs no Python, and the built pages in a browser.
pub(crate) fn step(repo: &Repo, chromium: &str) -> Result<(), TaskError> {
    let built = repo.target().join("site").display().to_string();
    mkdocs(repo)?.args(["build", "--quiet", "--site-dir", &built]).run(repo)?;
    let program = programs::built(repo, "fedflip")?;
    let python = tools::python_with(repo, "site", REQUIREMENTS)?;
    Cmd::new(python)
        .args(["-B", "-m", "pytest", "--quiet", "--durations=5", "-p", "no:cacheprovider"])
        .args(["--numprocesses=2", TESTS])
        .env("FEDFLIP_BIN", program)
        .run(repo)?;
    Cmd::words("node --test")
        .arg(BROWSER_TESTS)
        .env(browser::CHROMIUM, chromium)
        .env("FEDFLIP_SITE", built)
        .run(repo)
}

/// MkDocs, with all that its hooks need.
fn mkdocs(repo: &Repo) -> Result<Cmd, TaskError> {
    let python = tools::python_with(repo, "site", REQUIREMENTS)?;
    let packages = packages(repo)?;
    let mkdocs = Cmd::new(python)
        .args(["-B", "-m", "mkdocs"])
        .env("FEDFLIP_SITE_PACKAGES", packages.display().to_string())
        // A message about another program of the theme's authors.
        .env("NO_MKDOCS_2_WARNING", "1");
    Ok(match wasm::for_pages(repo)? {
        Some(module) => mkdocs.env(wasm::MODULE, module.display().to_string()),
        None => mkdocs,
    })
}

/// The folder of npm's packages below the tools folder. Only the first call uses the network.
fn packages(repo: &Repo) -> Result<PathBuf, TaskError> {
    browser::ensure_node(repo)?;
    let wanted = repo.read(PACKAGES)?;
    let folder = repo.tools().join("site-npm");
    let modules = folder.join("node_modules");
    let stamp = modules.join("installed.json");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(modules);
    }
    let failed = |source| TaskError::File { path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    fs::write(folder.join("package.json"), &wanted).map_err(failed)?;
    let prefix = folder.display().to_string();
    Cmd::words("npm install --silent --no-audit --no-fund --no-package-lock --prefix")
        .arg(prefix)
        .run(repo)?;
    fs::write(&stamp, wanted).map_err(failed)?;
    Ok(modules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned_to_one_version() {
        let repo = Repo::here();
        for line in repo.read(REQUIREMENTS).unwrap().lines() {
            assert!(line.split_once("==").is_some_and(|(_, version)| version.contains('.')), "{line}");
        }
        let packages = repo.read(PACKAGES).unwrap();
        let (_, dependencies) = packages.split_once("\"dependencies\"").unwrap();
        assert!(!dependencies.contains(['^', '~', '*']), "{dependencies}");
        assert!(repo.path(BROWSER_TESTS).is_file() && repo.path(TESTS).is_dir());
    }
}
