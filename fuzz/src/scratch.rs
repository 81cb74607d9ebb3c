//! Files for decoders that open their own.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{env, fs, process};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = env::temp_dir().join(format!("fedflip-fuzz-{}", process::id()));
    fs::create_dir_all(&folder).expect("a folder for temporary files (TMPDIR names another)");
    folder
});

/// A folder of this process; whoever starts it clears up.
pub fn folder() -> &'static Path {
    &FOLDER
}

/// A file in it with these bytes.
pub fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, bytes).expect("the folder for temporary files takes a file");
    path
}

/// The number of lines that people would count.
pub fn lines(bytes: &[u8]) -> u64 {
    1 + bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}
