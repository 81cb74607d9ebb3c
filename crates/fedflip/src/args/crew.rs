//! What may be typed about workers in the place of threads.

/// Workers in the place of threads. They are part of the Python package, which has this command line too.
#[derive(Debug, clap::Args)]
pub(crate) struct CrewArgs {
    /// Train with workers elsewhere: ray, mpi or process (`python -m fedflip`); does not change any result
    #[arg(long, value_name = "CREW", value_parser = ["ray", "mpi", "process"])]
    pub crew: Option<String>,
    /// The cluster of --crew ray, such as auto or ray://HOST:10001; without it a cluster on this machine
    #[arg(long, value_name = "ADDRESS", requires = "crew")]
    pub address: Option<String>,
    /// The number of workers of --crew (by default one for each processor that the cluster has)
    #[arg(long, value_name = "N", requires = "crew", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub workers: Option<u32>,
    /// Admit workers of --crew that differ in processor, version or data; results then depend on the workers
    #[arg(long, requires = "crew")]
    pub mixed: bool,
}
