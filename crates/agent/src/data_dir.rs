//! The folder of data sets.

use std::path::{Path, PathBuf};

/// The folder that was asked for, or $FEDFLIP_DATA, or `fedflip` in the user's cache; none without a home folder.
pub fn data_dir(asked: Option<&Path>) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    asked.map(Path::to_owned).or_else(|| variable("FEDFLIP_DATA")).or_else(|| Some(cache()?.join("fedflip")))
}
