//! The images of `deploy/Containerfile`, made by buildah, which needs neither a daemon nor a network for this.

use super::{AGENT, ARM_AGENT, Program, SERVER};
use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::tools;

/// The stages of the file, and the program in each.
const IMAGES: [(&str, &Program); 3] = [("server", &SERVER), ("agent", &AGENT), ("agent", &ARM_AGENT)];

/// Builds all images, and starts the programs in those of this processor.
pub(super) fn check(repo: &Repo) -> Result<(), TaskError> {
    tools::ensure_by_apt(repo, "buildah", &["buildah"])?;
    let programs = repo.target().join("dist").display().to_string();
    // In a folder of its own, and without the kernel's overlays, which a container may not mount.
    let storage = ["--storage-driver", "vfs", "--root", &format!("{programs}/images")].map(str::to_owned);
    let buildah = |task: &str| {
        let run_root = format!("{programs}/images-run");
        Cmd::new("buildah").args(storage.clone()).args(["--runroot", &run_root, task])
    };
    for (stage, Program { name, target, .. }) in IMAGES {
        let image = format!("{name}-{}", target.arch);
        buildah("build-using-dockerfile")
            .args(["--quiet", "--isolation", "chroot", "--file", "deploy/Containerfile", "--target", stage])
            .args(["--build-arg", &format!("ARCH={}", target.arch), "--tag", &image, &programs])
            .run(repo)?;
        if target.arch == std::env::consts::ARCH {
            let container = buildah("from").arg(&image).output(repo)?;
            let program = format!("/{name}");
            let version = buildah("run")
                .args(["--isolation", "chroot", container.trim(), "--", &program, "--version"])
                .output(repo)?;
            println!("   in its image: {}", version.trim());
        }
    }
    buildah("rm").arg("--all").output(repo)?;
    buildah("rmi").args(["--all", "--force"]).output(repo).map(drop)
}
