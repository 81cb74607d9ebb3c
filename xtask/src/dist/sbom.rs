//! Lists of what is built into each program and each wheel (CycloneDX), made by cargo-cyclonedx.
//!
//! Own code could write such a list from `cargo tree`, but the tool is that of the format's authors, and so
//! `cargo tree` is left for the check. The tool writes beside the manifests and names the folders of this machine.

use std::fs;
use std::path::PathBuf;

use super::{PROGRAMS, Release, TARGETS, Target, Wanted, licences, names_in, write};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;
use crate::wheel::file_error;

/// The name of the lists while they lie beside the manifests.
const NAME: &str = "fedflip-bom";

/// What has a list of its own.
struct Listed {
    package: &'static str,
    target: &'static Target,
    path: PathBuf,
}

/// The programs, and the extension module of each wheel, which has the same crates with musl and with glibc.
fn listed(release: &Release, wanted: &Wanted) -> Vec<Listed> {
    let programs = PROGRAMS.iter().map(|program| (program.package, program.name, program.target));
    let wheels = TARGETS.into_iter().filter(|_| !wanted.no_wheels);
    let all = programs.chain(wheels.map(|target| ("fedflip-py", "fedflip-wheel", target)));
    all.filter(|(_, _, target)| wanted.has(target))
        .map(|(package, name, target)| {
            let path = release.folder.join(format!("{name}-{}-{}.cdx.json", release.version, target.rust));
            Listed { package, target, path }
        })
        .collect()
}

/// One list for each program and wheel, for each machine.
pub(super) fn make(repo: &Repo, release: &Release, wanted: &Wanted) -> Result<(), TaskError> {
    tools::ensure(repo, &tools::CYCLONEDX)?;
    for target in TARGETS.into_iter().filter(|target| wanted.has(target)) {
        let made = Cmd::words("cargo cyclonedx --quiet --format json --spec-version 1.5 --override-filename")
            .args([NAME, "--target", target.rust])
            .env("SOURCE_DATE_EPOCH", &release.commit_secs)
            .run(repo);
        let all = listed(release, wanted);
        let mut of_target = all.iter().filter(|one| one.target.rust == target.rust);
        let kept = made.and_then(|()| of_target.try_for_each(|one| keep(repo, one)));
        tidy_up(repo)?;
        kept?;
    }
    Ok(())
}

fn keep(repo: &Repo, list: &Listed) -> Result<(), TaskError> {
    let folder = list.package.strip_prefix("fedflip-").unwrap_or(list.package);
    let text = repo.read(&format!("crates/{folder}/{NAME}.json"))?;
    let text = text.replace(&format!("file://{}", repo.root().display()), "file:///fedflip");
    write(&list.path, &text)
}

/// Removes all lists from the source tree: the tool writes one for each crate.
fn tidy_up(repo: &Repo) -> Result<(), TaskError> {
    let crates = repo.path("crates");
    let folders = names_in(&crates)?.into_iter().map(|name| crates.join(name));
    for list in folders.chain([repo.path("xtask")]).map(|folder: PathBuf| folder.join(format!("{NAME}.json")))
    {
        if list.exists() {
            fs::remove_file(&list).map_err(|source| file_error(&list, source))?;
        }
    }
    Ok(())
}

/// Fails unless each list names every crate that is linked into its program or wheel.
pub(super) fn check(repo: &Repo, release: &Release, wanted: &Wanted) -> Result<(), TaskError> {
    for Listed { package, target, path } in listed(release, wanted) {
        let text = fs::read_to_string(&path).map_err(|source| file_error(&path, source))?;
        let linked = licences::linked(repo, package, target.rust)?;
        let refused = |what: String| TaskError::Answer(format!("{}: {what}", path.display()));
        if let Some(lost) = linked.iter().find(|one| !names(&text, &one.name, &one.version)) {
            return Err(refused(format!("{} {} is linked, but is not in the list", lost.name, lost.version)));
        }
        if text.contains(&repo.root().display().to_string()) {
            return Err(refused("names a folder of this machine".to_owned()));
        }
        println!("   {package} {}: the list has all {} linked crates", target.rust, linked.len());
    }
    Ok(())
}

/// Whether a list has the crate. What follows a version is the end of the address or where the sources are.
fn names(list: &str, name: &str, version: &str) -> bool {
    // A plus sign in a version is written as such or escaped.
    [version.to_owned(), version.replace('+', "%2B"), version.replace('+', "%2b")].iter().any(|version| {
        ['"', '?', '#'].iter().any(|end| list.contains(&format!("\"pkg:cargo/{name}@{version}{end}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_name_or_version_does_not_stand_for_a_shorter_one() {
        let list =
            "\"purl\": \"pkg:cargo/rand_core@0.10.1\", \"purl\": \"pkg:cargo/fedflip@0.1.0?download_url=x\"";
        assert!(names(list, "rand_core", "0.10.1") && names(list, "fedflip", "0.1.0"));
        assert!(!names(list, "rand_core", "0.10") && !names(list, "rand", "0.10.1"));
        assert!(names("\"pkg:cargo/toml@1.1.0%2Bspec-1.1.0\"", "toml", "1.1.0+spec-1.1.0"));
    }
}
