//! Panics of a library that reads damaged files: they are answered, and not printed.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// The result of `work`; none if it panics. The message of the panic is not printed. Panics of other threads, and of this
/// thread at other times, go to the hook that was there before.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                before(info);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(was_quiet);
    result.ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_panics_of_the_work_are_not_printed() {
        static PRINTED: AtomicUsize = AtomicUsize::new(0);
        panic::set_hook(Box::new(|_| {
            PRINTED.fetch_add(1, Ordering::Relaxed);
        }));
        assert_eq!(caught(|| 7), Some(7));
        assert_eq!(caught(|| -> usize { panic!("a damaged page") }), None);
        assert_eq!(PRINTED.load(Ordering::Relaxed), 0);
        assert!(panic::catch_unwind(|| panic!("another panic")).is_err());
        assert_eq!(PRINTED.load(Ordering::Relaxed), 1);
    }
}
