//! The number of connections that the system allows this process.

/// The open files of a server beside its connections, such as the database.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises this process's limit on open files as far as it may. Returns the number of connections that fit then; none
/// where the system has no limit or does not tell.
#[cfg(unix)]
pub(super) fn raise() -> Option<usize> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let before = getrlimit(Resource::Nofile);
    // Some systems refuse their own maximum: then the limit stays as it is.
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
