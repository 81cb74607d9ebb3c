//! The archive of a machine: programs, completions, manual pages, terms. It unpacks over `/usr/local`:
//!
//! ```text
//! fedflip-VERSION-TARGET/
//!   README.md CHANGELOG.md CITATION.cff LICENSE-APACHE LICENSE-MIT THIRD-PARTY-LICENSES.txt
//!   bin/fedflip bin/fedflip-join
//!   share/man/man1/*.1
//!   share/bash-completion/completions/* share/zsh/site-functions/* share/fish/vendor_completions.d/*
//!   share/elvish/lib/* share/powershell/*
//! ```

use super::{PROGRAMS, Release, Target, copy, documents, licences, write};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::wheel;

/// Files of the repository at the top of an archive.
pub(super) const FILES: [&str; 5] =
    ["README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE-APACHE", "LICENSE-MIT"];

/// The terms of everything that is built in.
pub(super) const THIRD_PARTY: &str = "THIRD-PARTY-LICENSES.txt";

/// Equal sources give equal bytes: names in order, one owner, one time.
const TAR: &str = "tar --format=ustar --sort=name --owner=0 --group=0 --numeric-owner --mode=a+rX,u+w,go-w";

pub(super) fn make(repo: &Repo, release: &Release, target: &Target) -> Result<(), TaskError> {
    let (stage, stem) = (repo.target().join("dist/stage"), release.stem(target));
    let folder = stage.join(&stem);
    wheel::empty(&folder)?;
    for file in FILES {
        copy(&repo.path(file), &folder.join(file))?;
    }
    write(&folder.join(THIRD_PARTY), &licences::text(repo, target)?)?;
    for program in PROGRAMS.iter().filter(|program| program.target.rust == target.rust) {
        copy(&program.path(repo), &folder.join("bin").join(program.name))?;
    }
    documents::make(repo, &folder)?;
    let archive = release.folder.join(format!("{stem}.tar")).display().to_string();
    Cmd::words(TAR)
        .args([&format!("--mtime=@{}", release.commit_secs), "--create", "--file", &archive, "--directory"])
        .args([&stage.display().to_string(), &stem])
        .run(repo)?;
    // Without the name and the time of the file.
    Cmd::words("gzip --no-name --best --force").arg(archive).run(repo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_archive_are_in_the_repository() {
        assert!(FILES.iter().all(|file| Repo::here().path(file).is_file()));
    }
}
