//! Unpacking what packages and authors publish: gzipped tar, wheels (which are zip), Debian packages.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use super::error::DataError;
use super::programs::{Job, Runner};

/// No file of any set is longer as it comes (the longest is MNIST as CSV, 110 MB): an archive that claims
/// more is cut short there, and shows by its length.
const UNPACKED_BYTES_MAX: u64 = 128 << 20;

/// Unpacks the files that are wanted, by their names alone: whatever paths the archive claims, nothing
/// lands outside `folder`. A Debian package is unpacked whole, by dpkg.
pub(super) fn unpack(
    archive: &Path,
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
    runner: &Runner<'_>,
) -> Result<(), DataError> {
    match archive.extension().and_then(|extension| extension.to_str()) {
        Some("deb") => unpack_deb(archive, folder, runner),
        Some("whl") => unpack_zip(archive, folder, wanted),
        _ => unpack_tar(archive, folder, wanted),
    }
}

fn unpack_deb(archive: &Path, folder: &Path, runner: &Runner<'_>) -> Result<(), DataError> {
    let full = archive.canonicalize().map_err(DataError::io(archive, "open it"))?;
    let args = ["--extract", &full.to_string_lossy(), "."];
    let job = Job { program: "dpkg-deb", args: &args, about: "--extract", folder, variables: &[] };
    runner.run(&job, &mut || {}).map(|_| ()).map_err(|error| match error {
        DataError::Client { problem, .. } => damaged(archive, problem),
        other => other,
    })
}

/// Of a gzipped tar.
pub fn unpack_tar(archive: &Path, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(), DataError> {
    let wrong = |error: std::io::Error| damaged(archive, error);
    let file = File::open(archive).map_err(DataError::io(archive, "open it"))?;
    let mut entries = tar::Archive::new(MultiGzDecoder::new(BufReader::new(file)));
    for entry in entries.entries().map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        let path = entry.path().map_err(wrong)?.into_owned();
        if entry.header().entry_type().is_file() {
            write_wanted(&path, entry, archive, folder, wanted)?;
        }
    }
    Ok(())
}

/// Unpacks the wanted files of a zip archive.
pub fn unpack_zip(archive: &Path, folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<(), DataError> {
    let wrong = |error: zip::result::ZipError| damaged(archive, error);
    let file = File::open(archive).map_err(DataError::io(archive, "open it"))?;
    let mut entries = zip::ZipArchive::new(BufReader::new(file)).map_err(wrong)?;
    for number in 0..entries.len() {
        let entry = entries.by_index(number).map_err(wrong)?;
        let path = PathBuf::from(entry.name().map_err(wrong)?.into_owned());
        if entry.is_file() {
            write_wanted(&path, entry, archive, folder, wanted)?;
        }
    }
    Ok(())
}

fn write_wanted(
    path: &Path,
    content: impl Read,
    archive: &Path,
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<(), DataError> {
    let name = file_name(path);
    if name.is_empty() || !wanted(&name) {
        return Ok(());
    }
    let target = folder.join(&name);
    let mut bytes = Vec::new();
    let mut bounded = content.take(UNPACKED_BYTES_MAX);
    bounded.read_to_end(&mut bytes).map_err(|error| damaged(archive, error))?;
    std::fs::write(&target, bytes).map_err(DataError::io(&target, "write it"))
}

fn damaged(archive: &Path, error: impl std::fmt::Display) -> DataError {
    DataError::malformed(&archive.display().to_string(), format!("damaged archive: {error}"))
}

/// The files of a folder, in order of their names.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let listed = std::fs::read_dir(folder).map_err(DataError::io(folder, "list it"))?;
    let mut paths: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The last part of a path.
pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn make_tar(path: &Path, files: &[(&str, &[u8])]) {
        let gz = flate2::write::GzEncoder::new(File::create(path).unwrap(), flate2::Compression::default());
        let mut builder = tar::Builder::new(gz);
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            // Past `set_path`, which refuses what a hostile archive may hold.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(content.len() as u64);
            header.set_entry_type(tar::EntryType::Regular);
            header.set_cksum();
            builder.append(&header, *content).unwrap();
        }
        builder.into_inner().unwrap().finish().unwrap();
    }

    fn make_zip(path: &Path, files: &[(&str, &[u8])]) {
        let mut writer = zip::ZipWriter::new(File::create(path).unwrap());
        for (name, content) in files {
            writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap();
    }

    fn unpacked(archive: &Path, folder: &Path) -> Result<Vec<String>, String> {
        let lock = tempfile::tempfile().unwrap();
        let programs = super::super::programs::Programs::default();
        let runner = Runner { programs: &programs, lock: &lock };
        unpack(archive, folder, &|name| name != "a", &runner).map_err(|error| error.to_string())?;
        Ok(entries(folder).unwrap().iter().map(|path| file_name(path)).collect())
    }

    #[test]
    fn only_what_is_wanted_is_unpacked_and_never_outside() {
        let files: &[(&str, &[u8])] = &[("package/a", b"1"), ("../../b", b"2"), ("/c", b"3"), ("d/..", b"4")];
        for (name, make) in [("x.tgz", make_tar as fn(&Path, &[(&str, &[u8])])), ("x.whl", make_zip)] {
            let desk = tempfile::tempdir().unwrap();
            let (archive, folder) = (desk.path().join(name), desk.path().join("in"));
            std::fs::create_dir(&folder).unwrap();
            make(&archive, files);
            assert_eq!(unpacked(&archive, &folder).unwrap(), ["b", "c"], "{name}");
        }
    }

    #[test]
    fn every_truncated_archive_is_named() {
        for (name, make) in [("x.tgz", make_tar as fn(&Path, &[(&str, &[u8])])), ("x.whl", make_zip)] {
            let desk = tempfile::tempdir().unwrap();
            let archive = desk.path().join(name);
            make(&archive, &[("b", &[7; 5000])]);
            let whole = std::fs::read(&archive).unwrap();
            for end in [0, 1, whole.len() / 2, whole.len() - 20] {
                std::fs::write(&archive, &whole[..end]).unwrap();
                let error = unpacked(&archive, desk.path()).unwrap_err();
                assert!(error.contains(&format!("{name}: damaged archive: ")), "{end}: {error}");
            }
        }
    }
}
