//! Where data sets are kept.

use std::path::{Path, PathBuf};

/// The folder asked for, or $FEDFLIP_DATA, or that of the user's cache; none where there is no home.
pub fn data_dir(asked: Option<&Path>) -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    asked.map(Path::to_owned).or_else(|| variable("FEDFLIP_DATA")).or_else(|| Some(cache()?.join("fedflip")))
}
