//! How many connections the system lets this process hold.

/// Files, the database and what else a server has open beside its connections.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises this process's limit on open files as far as it may by itself; how many connections fit then. None
/// where the system sets no limit, or does not tell.
#[cfg(unix)]
pub(super) fn raise() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    // Some systems refuse what they call the maximum: then it stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
    let fit = getrlimit(Resource::Nofile).current?.saturating_sub(OTHERS);
    Some(usize::try_from(fit).unwrap_or(usize::MAX).max(1))
}

#[cfg(not(unix))]
pub(super) fn raise() -> Option<usize> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_as_high_as_it_may_be() {
        let fit = raise();
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(fit.map(|fit| fit as u64), limit.current.map(|limit| limit.saturating_sub(OTHERS).max(1)));
    }
}
