//! Libraries that the package works with, and that are too large for the environment of the other tests.

use crate::error::TaskError;
use crate::repo::Repo;
use crate::venv::{Interpreter, Kept};

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
}

pub(crate) const FLOWER: Extra = Extra {
    name: "flower",
    requirements: "python/tests/requirements-flower.txt",
    tests: "python/tests/flower",
    modules: &["fedflip.flower"],
    benchmark: "python/benchmarks/flower.py",
};

/// The two minor versions of Flower before the one of [`FLOWER`].
pub(super) const EARLIER_FLOWERS: [Extra; 2] = [
    Extra {
        name: "flower-1.40",
        requirements: "python/tests/requirements-flower-1.40.txt",
        tests: FLOWER.tests,
        modules: FLOWER.modules,
        benchmark: FLOWER.benchmark,
    },
    Extra {
        name: "flower-1.39",
        requirements: "python/tests/requirements-flower-1.39.txt",
        tests: FLOWER.tests,
        modules: FLOWER.modules,
        benchmark: FLOWER.benchmark,
    },
];

pub(crate) const CLUSTER: Extra = Extra {
    name: "cluster",
    requirements: "python/tests/requirements-cluster.txt",
    tests: "python/tests/cluster",
    modules: &["fedflip._ray_crew", "fedflip._mpi_crew", "fedflip._executor_crew"],
    benchmark: "python/benchmarks/cluster.py",
};

impl Extra {
    /// The environment with the library, installed once.
    pub(super) fn installed(&self, repo: &Repo, interpreter: &Interpreter) -> Result<Kept, TaskError> {
        let name = format!("{}-3.{}", self.name, interpreter.minor);
        Kept::ensure(repo, &interpreter.program, &name, self.requirements)
    }
}
