//! `cargo xtask package`: the crates for other people, packed as a registry would get them.
//!
//! All crates but the lab, the planner of the site, the extension module of Python and these tasks are for others: who installs the program
//! from a registry needs every library below it. `cargo package` packs them in the order of their dependencies.

use std::fs;
use std::path::Path;

use crate::dist;
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::wheel::file_error;

/// A package of ours is source code and some assets; golden files of tests would make it larger.
const BYTES_MAX: u64 = 400_000;

/// Every package must have these.
const NEEDED: [&str; 5] = ["Cargo.toml", "Cargo.lock", "README.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Packs all crates and builds each from its package; with `--quick`, packs them and looks at the files.
pub(crate) fn run(repo: &Repo, args: &[String]) -> Result<(), TaskError> {
    match args {
        [] => pack(repo, true),
        [quick] if quick == "--quick" => pack(repo, false),
        other => {
            Err(TaskError::Usage(format!("`package` takes --quick or nothing, not `{}`", other.join(" "))))
        }
    }
}

/// The part of it that takes seconds, for the step `deny`.
pub(crate) fn quick(repo: &Repo) -> Result<(), TaskError> {
    pack(repo, false)
}

fn pack(repo: &Repo, build: bool) -> Result<(), TaskError> {
    let manifests = manifests(repo)?;
    // A target folder of its own: a package is built without the profiles of the workspace.
    let target = repo.target().join("packages");
    let mut cmd = Cmd::words("cargo package --locked --workspace --allow-dirty --quiet --target-dir")
        .arg(target.display().to_string())
        .env("CARGO_PROFILE_DEV_DEBUG", "false");
    for private in manifests.iter().filter(|manifest| manifest.is_private()) {
        cmd = cmd.args(["--exclude", private.name()?]);
    }
    if !build {
        cmd = cmd.args(["--no-verify", "--offline"]);
    }
    cmd.run(repo)?;
    let version = dist::version(repo)?;
    for manifest in manifests.iter().filter(|manifest| !manifest.is_private()) {
        let stem = format!("{}-{version}", manifest.name()?);
        let path = target.join("package").join(format!("{stem}.crate"));
        let bytes = fs::metadata(&path).map_err(|source| file_error(&path, source))?.len();
        let files = files_in(repo, &path)?;
        check_files(&stem, &files, bytes)
            .map_err(|problem| TaskError::Answer(format!("{}: {problem}", path.display())))?;
        println!("   {stem}: {} files, {:.0} kB", files.len(), bytes as f64 / 1e3);
    }
    Ok(())
}

fn files_in(repo: &Repo, path: &Path) -> Result<Vec<String>, TaskError> {
    let list = Cmd::words("tar --list --gzip --file").arg(path.display().to_string()).output(repo)?;
    Ok(list.lines().map(str::to_owned).collect())
}

fn check_files(stem: &str, files: &[String], bytes: u64) -> Result<(), String> {
    if let Some(lost) = NEEDED.iter().find(|name| !files.contains(&format!("{stem}/{name}"))) {
        return Err(format!("`{lost}` is missing"));
    }
    if let Some(stray) = files.iter().find(|file| file.starts_with(&format!("{stem}/tests/"))) {
        return Err(format!("`{stray}` is a file of tests, which stay in the repository"));
    }
    if bytes > BYTES_MAX {
        return Err(format!("{bytes} bytes, but must be at most {BYTES_MAX}"));
    }
    Ok(())
}

/// The manifest of a crate in this repository.
struct Manifest {
    folder: String,
    text: String,
}

impl Manifest {
    /// The value of a key that stands at the start of a line, with quotes if it has some.
    fn value(&self, key: &str) -> Option<&str> {
        let package = self.text.split("\n[").next()?;
        package.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix('=').map(str::trim))
    }

    fn name(&self) -> Result<&str, TaskError> {
        let name = self.value("name").map(|name| name.trim_matches('"'));
        name.ok_or_else(|| TaskError::Answer(format!("{}/Cargo.toml has no name", self.folder)))
    }

    fn is_private(&self) -> bool {
        self.value("publish") == Some("false")
    }
}

/// The manifests of all crates of the workspace.
fn manifests(repo: &Repo) -> Result<Vec<Manifest>, TaskError> {
    let crates = repo.path("crates");
    let entries = fs::read_dir(&crates).map_err(|source| file_error(&crates, source))?;
    let names = entries.flatten().map(|entry| format!("crates/{}", entry.file_name().to_string_lossy()));
    let mut folders: Vec<String> =
        names.filter(|folder| repo.path(folder).join("Cargo.toml").is_file()).collect();
    folders.push("xtask".to_owned());
    folders.sort();
    folders
        .into_iter()
        .map(|folder| Ok(Manifest { text: repo.read(&format!("{folder}/Cargo.toml"))?, folder }))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What people find a crate by, and what the checks of registries ask for.
    #[test]
    fn every_crate_for_others_says_what_it_is_and_the_rest_are_private() {
        let all = manifests(&Repo::here()).unwrap();
        let private: Vec<&str> =
            all.iter().filter(|one| one.is_private()).map(|one| one.name().unwrap()).collect();
        assert!(private.contains(&"xtask") && private.contains(&"fedflip-lab"), "{private:?}");
        for one in all.iter().filter(|one| !one.is_private()) {
            for key in ["description", "keywords.workspace", "categories", "include.workspace"] {
                assert!(
                    one.value(key).is_some(),
                    "{}/Cargo.toml lacks {key}: add it, or publish = false",
                    one.folder
                );
            }
            let readme = one.value("readme").or_else(|| one.value("readme.workspace"));
            assert!(
                readme.is_some(),
                "{}/Cargo.toml lacks readme.workspace: add it, or publish = false",
                one.folder
            );
            let ends = one.value("description").unwrap().ends_with(".\"");
            assert!(ends, "{}: a description is a sentence", one.folder);
            for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
                let path = format!("{}/{name}", one.folder);
                let text = Repo::here().read(&path);
                assert!(text.is_ok_and(|text| text.len() > 1000), "{path} should link to ../../{name}");
            }
        }
    }

    #[test]
    fn the_crates_of_a_release_need_each_other_in_its_version() {
        let repo = Repo::here();
        let wanted = format!("version = \"={}\"", dist::version(&repo).unwrap());
        let manifest = repo.read("Cargo.toml").unwrap();
        let ours: Vec<&str> = manifest.lines().filter(|line| line.contains("path = \"crates/")).collect();
        assert!(ours.len() > 10 && ours.iter().all(|line| line.contains(&wanted)), "{ours:#?}");
    }

    #[test]
    fn lost_stray_and_large_files_are_noticed() {
        let files: Vec<String> = NEEDED.iter().map(|name| format!("a-1/{name}")).collect();
        assert_eq!(check_files("a-1", &files, 1000), Ok(()));
        assert!(check_files("a-1", &files[1..], 1000).unwrap_err().contains("Cargo.toml"));
        assert!(check_files("a-1", &files, BYTES_MAX + 1).is_err());
        let stray = [files, vec!["a-1/tests/golden.json".to_owned()]].concat();
        assert!(check_files("a-1", &stray, 1000).unwrap_err().contains("golden.json"));
    }
}
