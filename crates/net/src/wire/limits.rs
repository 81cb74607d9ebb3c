//! The bounds of everything that a peer may send.

use std::time::Duration;

/// The size of a decoded message: the largest one holds a chunk of numbers.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// The numbers in one message: few enough to pace a slow link evenly.
pub const CHUNK_BYTES_MAX: usize = 64 << 10;
pub const PROBE_BYTES_MAX: usize = 1 << 20;
/// The duration of a timed transfer: a slower link is measured by the bytes that have arrived by then.
pub const PROBE_TIME_MAX: Duration = Duration::from_secs(10);
/// The time in which a device must begin its timed transfer: other devices wait meanwhile.
pub const PROBE_BEGIN_MAX: Duration = Duration::from_secs(3);
/// Messages to a device that it has not read yet: a device that is further behind is disconnected.
pub const NOTICES_WAITING_MAX: usize = 16;
/// Calls of one connection at the same time: an agent attends, fetches and uploads.
pub const CALLS_AT_ONCE_MAX: u32 = 8;
/// The length of a task's name.
pub const TASK_NAME_BYTES_MAX: usize = 64;
/// The most samples that a server may allow a device to claim.
pub const SAMPLES_MAX: u64 = 1_000_000_000;
/// The compute time that a device may claim.
pub const COMPUTE_SECS_MAX: f64 = 86_400.0;
/// The magnitude of a training loss that a device may report: records and means contain these losses.
pub const TRAIN_LOSS_MAX: f64 = 1e9;
/// The number of sums in a device's evaluation: three for each of a thousand classes, and some more.
pub const SUMS_MAX: usize = 3_100;
/// The length of a sum's name.
pub const SUM_NAME_BYTES_MAX: usize = 64;
/// Calls that one device may make in a row before it has to wait; see [`CALLS_PER_SEC_MAX`].
pub const CALLS_IN_A_ROW_MAX: f64 = 64.0;
/// Calls of one device, on average.
pub const CALLS_PER_SEC_MAX: f64 = 32.0;
/// The memory for updates that arrive or wait for the round loop.
pub const UPLOADS_BYTES_MAX: usize = 2 << 30;
/// An upload without data, or a download that is not read, is given up after this time.
pub const SILENCE_MAX: Duration = Duration::from_secs(30);
/// A peer that vanishes without closing its connection is noticed after twice this time.
pub const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// The bytes that a peer may send before they are read.
pub const WINDOW_BYTES: u32 = 1 << 20;
/// The longest version that an agent can have.
pub const VERSION_BYTES_MAX: usize = 64;
