//! Getting, checking and reading data sets.
//!
//! # Layout
//!
//! - `made_up`: small sets of the same kinds, as values; `server`: a web server and programs that stand in
//!   for the authors' address and the package clients.
//! - `sources`: where a set comes from, in which order, broken downloads, locks.
//! - `damage`: files that are damaged, swapped or not what they claim.
//! - `pixels`: what becomes of a byte, against PyTorch.
//! - `real`: the real files, where `FEDFLIP_DATA` names a folder that holds them.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod damage;
mod made_up;
mod pixels;
mod real;
mod server;
mod sources;

use std::fs;
use std::path::Path;

/// All that is in the data folder but for locks.
fn left(data_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(data_dir).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !name.starts_with(".lock-")).collect()
}
