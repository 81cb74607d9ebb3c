//! Ctrl-C, and the clock on the wall.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::progress::be_quiet;

/// Set by Ctrl-C and SIGTERM: the run stops after its round and can be resumed.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on Ctrl-C asks the run to stop; a second one ends the process at once, which loses only the rounds since
/// the last checkpoint.
pub(crate) fn catch(quiet: bool) {
    if quiet {
        be_quiet();
    }
    let caught = ctrlc::set_handler(|| {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            end(130);
        }
    });
    // Without a handler Ctrl-C ends the process, as ever.
    drop(caught);
}

/// Ends the process without its exit handlers: those of Ray crash while its threads work.
#[cfg(unix)]
fn end(code: i32) -> ! {
    signal_hook::low_level::exit(code)
}

#[cfg(not(unix))]
fn end(code: i32) -> ! {
    std::process::exit(code)
}

pub(crate) fn interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// Waits until Ctrl-C was pressed.
#[expect(clippy::disallowed_methods, reason = "there is nothing else to do")]
pub(crate) fn wait() {
    while !interrupted() {
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[expect(clippy::disallowed_methods, reason = "progress, checkpoints and caps on real time go by the wall")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
