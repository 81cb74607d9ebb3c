//! The bounds of everything that a peer may send, in one place.

use std::time::Duration;

/// Of one message, decoded: the largest holds a chunk of numbers.
pub const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// Of the numbers in one message: small enough that a slow link is still paced evenly.
pub const CHUNK_BYTES_MAX: usize = 64 << 10;
pub const PROBE_BYTES_MAX: usize = 1 << 20;
/// How long a timed transfer may take: a link that is worse than that is measured by what came until then.
pub const PROBE_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a device may take to begin one once the band is free for it: others wait meanwhile.
pub const PROBE_BEGIN_MAX: Duration = Duration::from_secs(3);
/// Messages to a device that it has not read yet: whoever is further behind is disconnected.
pub const NOTICES_WAITING_MAX: usize = 16;
/// Calls of one connection at the same time: attending, fetching, uploading, and one to spare.
pub const CALLS_AT_ONCE_MAX: u32 = 8;
/// Of a task's name; a task's parameters are as many as its row has.
pub const TASK_NAME_BYTES_MAX: usize = 64;
/// How many samples a device may say it has.
pub const SAMPLES_MAX: u64 = 1_000_000_000;
/// How long a device may say it computes.
pub const COMPUTE_SECS_MAX: f64 = 86_400.0;
/// How large a training loss a device may report, above or below 0: records and means are made of them.
pub const TRAIN_LOSS_MAX: f64 = 1e9;
/// Calls that one device may make in a row before it has to wait; see [`CALLS_PER_SEC_MAX`].
pub const CALLS_IN_A_ROW_MAX: f64 = 64.0;
/// Calls of one device, on average.
pub const CALLS_PER_SEC_MAX: f64 = 32.0;
/// Of what a server keeps of updates that are on their way or wait for their turn.
pub const UPLOADS_BYTES_MAX: usize = 2 << 30;
/// Of a device's stream: an upload that says nothing, or a download that is not read, for so long is given up.
pub const SILENCE_MAX: Duration = Duration::from_secs(30);
