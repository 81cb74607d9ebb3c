//! Completions and manual pages, which the static program of this machine writes.

use std::path::Path;

use super::{PROGRAMS, Program, write};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;

/// The shells, and the file of a program's completions below the folder of an archive. `{}` is the program's name.
pub(super) const SHELLS: [(&str, &str); 5] = [
    ("bash", "share/bash-completion/completions/{}"),
    ("zsh", "share/zsh/site-functions/_{}"),
    ("fish", "share/fish/vendor_completions.d/{}.fish"),
    ("elvish", "share/elvish/lib/{}.elv"),
    ("powershell", "share/powershell/{}.ps1"),
];

/// The folder of the manual pages.
pub(super) const MANUAL: &str = "share/man/man1";

/// The programs that have completions.
pub(super) const NAMES: [&str; 2] = ["fedflip", "fedflip-join"];

/// Writes everything below the folder of an archive.
pub(super) fn make(repo: &Repo, folder: &Path) -> Result<(), TaskError> {
    let fedflip = here(repo)?;
    for (shell, place) in SHELLS {
        for name in NAMES {
            let script = Cmd::new(&fedflip).args(["completions", shell, "--program", name]).output(repo)?;
            write(&folder.join(place.replace("{}", name)), &script)?;
        }
    }
    let pages = folder.join(MANUAL).display().to_string();
    Cmd::new(&fedflip).args(["man", "--out", &pages]).output(repo).map(drop)
}

/// `fedflip` for this machine.
fn here(repo: &Repo) -> Result<String, TaskError> {
    let own = PROGRAMS.iter().find(|program| program.name == "fedflip" && program.runs_here());
    let path = own.map(|program: &&Program| program.path(repo)).filter(|path| path.is_file());
    path.map(|path| path.display().to_string()).ok_or_else(|| TaskError::Missing {
        what: format!("the static program for {}", std::env::consts::ARCH),
        hint: "it writes completions and manual pages: build it first, with `cargo xtask dist --programs`"
            .to_owned(),
    })
}
