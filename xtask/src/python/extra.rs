//! Libraries that the package works with, and that are too large for the environment of the other tests.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::shell::Cmd;
use crate::venv::{Interpreter, Kept};
use crate::wheel;

/// A library, and the tests that need it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Extra {
    pub(super) name: &'static str,
    pub(super) requirements: &'static str,
    /// The folder of the tests.
    pub(super) tests: &'static str,
    /// The modules whose documentation has examples that need the library.
    pub(super) modules: &'static [&'static str],
    pub(super) benchmark: &'static str,
    pub(super) attachment: Option<Attachment>,
}

/// A wheel that tests only read files from: it is downloaded and never installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attachment {
    /// The environment variable that names the wheel to the tests.
    pub(super) variable: &'static str,
    requirement: &'static str,
}

/// The last version of Flower whose wheel holds the files of its quickstarts.
const FLOWER_TEMPLATE: Attachment =
    Attachment { variable: "FEDFLIP_FLOWER_TEMPLATE", requirement: "flwr==1.24.0" };

pub(crate) const FLOWER: Extra = Extra {
    name: "flower",
    requirements: "python/tests/requirements-flower.txt",
    tests: "python/tests/flower",
    modules: &["fedflip.flower"],
    benchmark: "python/benchmarks/flower.py",
    attachment: Some(FLOWER_TEMPLATE),
};

/// The two minor versions of Flower before the one of [`FLOWER`].
pub(super) const EARLIER_FLOWERS: [Extra; 2] = [
    Extra {
        name: "flower-1.40",
        requirements: "python/tests/requirements-flower-1.40.txt",
        tests: FLOWER.tests,
        modules: FLOWER.modules,
        benchmark: FLOWER.benchmark,
        attachment: FLOWER.attachment,
    },
    Extra {
        name: "flower-1.39",
        requirements: "python/tests/requirements-flower-1.39.txt",
        tests: FLOWER.tests,
        modules: FLOWER.modules,
        benchmark: FLOWER.benchmark,
        attachment: FLOWER.attachment,
    },
];

pub(crate) const CLUSTER: Extra = Extra {
    name: "cluster",
    requirements: "python/tests/requirements-cluster.txt",
    tests: "python/tests/cluster",
    modules: &["fedflip._ray_crew", "fedflip._mpi_crew", "fedflip._executor_crew"],
    benchmark: "python/benchmarks/cluster.py",
    attachment: None,
};

impl Extra {
    /// The environment with the library, installed once.
    pub(super) fn installed(&self, repo: &Repo, interpreter: &Interpreter) -> Result<Kept, TaskError> {
        let name = format!("{}-3.{}", self.name, interpreter.minor);
        Kept::ensure(repo, &interpreter.program, &name, self.requirements)
    }
}

impl Attachment {
    /// The path of the wheel. Only the first call uses the network.
    pub(super) fn downloaded(&self, repo: &Repo, pip: &Kept) -> Result<String, TaskError> {
        let folder = repo.tools().join("attachments").join(self.requirement);
        if let Ok(wheel) = wheel::only_wheel(&folder) {
            return Ok(wheel.display().to_string());
        }
        wheel::empty(&folder)?;
        let quiet = ["-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"];
        Cmd::new(pip.python())
            .args(quiet)
            .args(["--only-binary", ":all:", "--dest", &folder.display().to_string(), self.requirement])
            .run(repo)?;
        wheel::only_wheel(&folder).map(|wheel| wheel.display().to_string())
    }
}
