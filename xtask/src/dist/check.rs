//! A release as those who download it see it: unpacked and looked at.

use std::fs;
use std::path::Path;

use super::documents::{MANUAL, NAMES, SHELLS};
use super::{PROGRAMS, Release, Target, Wanted, archive, checksums, elf, names_in, sbom};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;
use crate::wheel::{empty, file_error};

/// A word that completes to a command, on a shell that has read the script.
const COMPLETE: &str = "source \"$1\"; COMP_WORDS=(fedflip comp); COMP_CWORD=1; _fedflip fedflip comp fedflip; \
                        printf '%s ' \"${COMPREPLY[@]}\"";

/// Fails unless checksums, lists, archives and programs are as they should be.
pub(super) fn release(repo: &Repo, release: &Release, wanted: &Wanted) -> Result<(), TaskError> {
    checksums::check(repo, &release.folder)?;
    sbom::check(repo, release, wanted)?;
    let stage = repo.target().join("dist/unpacked");
    for target in wanted.targets() {
        empty(&stage)?;
        let stem = release.stem(target);
        let archive = release.folder.join(format!("{stem}.tar.gz")).display().to_string();
        Cmd::words("tar --extract --gzip --file")
            .args([&archive, "--directory", &stage.display().to_string()])
            .run(repo)?;
        let only = names_in(&stage)?;
        if only != [stem.clone()] {
            return Err(TaskError::Answer(format!("{archive} holds {only:?} and not {stem} alone")));
        }
        unpacked(repo, &stage.join(&stem), target)?;
    }
    fs::remove_dir_all(&stage).map_err(|source| file_error(&stage, source))
}

fn unpacked(repo: &Repo, folder: &Path, target: &Target) -> Result<(), TaskError> {
    for file in archive::FILES.into_iter().chain([archive::THIRD_PARTY]) {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).map_err(|source| file_error(&path, source))?;
        if text.trim().is_empty() {
            return Err(TaskError::Answer(format!("{} is empty", path.display())));
        }
    }
    for program in PROGRAMS.iter().filter(|program| program.target.rust == target.rust) {
        let path = folder.join("bin").join(program.name);
        let bytes = fs::read(&path).map_err(|source| file_error(&path, source))?;
        let refused = |problem: String| TaskError::Answer(format!("{}: {problem}", path.display()));
        elf::check_static(&bytes, target.machine).map_err(refused)?;
        let root = repo.root().display().to_string();
        if bytes.windows(root.len()).any(|part| part == root.as_bytes()) {
            return Err(refused(format!("names {root}, a folder of this machine")));
        }
        if program.runs_here() {
            let version = Cmd::new(path.display().to_string()).arg("--version").output(repo)?;
            println!("   {}", version.trim());
        }
    }
    completions(repo, folder)?;
    manual(repo, folder)
}

/// Every script is there; bash, zsh and fish can read theirs, and bash completes a word.
fn completions(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    for (shell, place) in SHELLS {
        for name in NAMES {
            let path = folder.join(place.replace("{}", name));
            let text = fs::read_to_string(&path).map_err(|source| file_error(&path, source))?;
            if !text.contains(name) {
                return Err(TaskError::Answer(format!("{} does not name {name}", path.display())));
            }
            if ["bash", "zsh", "fish"].contains(&shell) {
                tools::ensure_by_apt(repo, shell, &[shell])?;
                Cmd::new(shell).args(["-n", &path.display().to_string()]).run(repo)?;
            }
        }
    }
    let script = folder.join(SHELLS[0].1.replace("{}", "fedflip")).display().to_string();
    let words = Cmd::new("bash").args(["-c", COMPLETE, "bash", &script]).output(repo)?;
    if words.trim() != "compare completions" {
        return Err(TaskError::Answer(format!("bash completes `fedflip comp` to `{}`", words.trim())));
    }
    Ok(())
}

/// Every page can be set without a warning.
fn manual(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    let folder = folder.join(MANUAL);
    let pages = names_in(&folder)?;
    for needed in ["fedflip.1", "fedflip-join.1", "fedflip-plan.1"] {
        if !pages.iter().any(|page| page == needed) {
            return Err(TaskError::Answer(format!("{} lacks {needed}", folder.display())));
        }
    }
    tools::ensure_by_apt(repo, "groff", &["groff"])?;
    for page in &pages {
        // Warnings go to standard error, which `man` shows nobody. Pages are read as UTF-8, as `man` does.
        let words = Cmd::words("groff -man -Kutf8 -Tutf8 -ww -z").arg(page).inside(&folder);
        let output = words.prepare(repo).output().map_err(|source| words.cannot_start(source))?;
        if !output.status.success() || !output.stderr.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(TaskError::Answer(format!("{page}: groff warns: {}", said.trim())));
        }
    }
    println!("   {} manual pages are without a warning of groff", pages.len());
    Ok(())
}
