//! `fedflip`: federated learning in which every device flips its own coin.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(fedflip::run(std::env::args_os().collect()))
}
