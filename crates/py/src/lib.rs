//! The extension module `fedflip._fedflip`: the crates of fedflip as the Python package calls them.
//!
//! Arguments arrive checked by type; the façade in `python/fedflip` has the names, defaults and documentation that people
//! use. Everything that takes long runs with the interpreter released.
//!
//! # Layout
//!
//! - `error`: errors of the crates as exceptions with place, value and remedy.
//! - `cli`: the command line.
//! - `fleet`, `plan`: fleets and plans; `tasks`: what is built in.
//! - `scenario`: scenarios; `simulate`, `study`: simulated runs, comparisons, sweeps and pilots; `shard`: parts of these;
//!   `call`: what these have in common; `learner`, `hosted`: what trains in them, `crew`, `workers`: with whose
//!   help, `native`: and how a worker does it; `scheme`: what draws their cohorts; `observer`: what watches them; `signals`: Ctrl-C and exceptions.
//! - `rounds`: the clock, the records and the server of rounds that a program runs itself.
//! - `runs`, `tables`: what a run leaves behind.
//! - `serve`, `certs`: real devices.

#![allow(clippy::needless_pass_by_value, reason = "arguments arrive from Python by value")]

mod call;
mod certs;
mod cli;
mod crew;
mod error;
mod fleet;
mod hosted;
mod learner;
mod native;
mod observer;
mod plan;
mod rounds;
mod runs;
mod scenario;
mod scheme;
mod serve;
mod shard;
mod signals;
mod simulate;
mod study;
mod tables;
mod tasks;
mod workers;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _fedflip(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let parts = [
        cli::register,
        fleet::register,
        plan::register,
        tasks::register,
        scenario::register,
        call::register,
        simulate::register,
        study::register,
        learner::register,
        native::register,
        hosted::register,
        scheme::register,
        rounds::register,
        runs::register,
        tables::register,
        serve::register,
        certs::register,
    ];
    parts.into_iter().try_for_each(|register| register(module))?;
    // The stub says what is there; the façade says what is public.
    module.delattr("__all__")
}
