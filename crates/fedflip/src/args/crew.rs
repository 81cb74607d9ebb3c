//! The arguments for workers that train instead of threads.

/// Workers that train instead of threads. They are part of the Python package, which has this command line too.
#[derive(Debug, clap::Args)]
pub(crate) struct CrewArgs {
    /// Train with workers of the Python package (`python -m fedflip`) instead of threads; does not change any result
    #[arg(long, value_name = "CREW", value_parser = ["ray", "mpi", "process"])]
    pub crew: Option<String>,
    /// Address of the cluster of --crew ray, such as auto or ray://HOST:10001 [default: a cluster on this machine]
    #[arg(long, value_name = "ADDRESS", requires = "crew")]
    pub address: Option<String>,
    /// Number of workers of --crew [default: one for each processor of the cluster]
    #[arg(long, value_name = "N", requires = "crew", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub workers: Option<u32>,
    /// Admit workers of --crew that differ in processor, version or data. Results then depend on the workers
    #[arg(long, requires = "crew")]
    pub mixed: bool,
}
