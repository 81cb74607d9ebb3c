//! The folder of data sets.

use std::path::{Path, PathBuf};

/// The data sets of a user without a home folder, in the current folder: most tasks need none, and the others name it.
const HOMELESS: &str = "fedflip-data";

/// The folder that was asked for, or $FEDFLIP_DATA, or `fedflip` in the user's cache.
pub fn data_dir(asked: Option<&Path>) -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let known = asked
        .map(Path::to_owned)
        .or_else(|| variable("FEDFLIP_DATA"))
        .or_else(|| Some(cache()?.join("fedflip")));
    known.unwrap_or_else(|| PathBuf::from(HOMELESS))
}
