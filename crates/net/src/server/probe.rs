//! A timed transfer, which measures a device's link while the device has the whole bandwidth.

use tokio::time::Instant;
use tonic::Streaming;

use super::hub::Hub;
use crate::identity::DeviceName;
use crate::reason::Reason;
use crate::wire::limits::{CHUNK_BYTES_MAX, PROBE_BEGIN_MAX, PROBE_BYTES_MAX, PROBE_TIME_MAX};
use crate::wire::v1;

/// Receives a timed transfer of a device, and notes its load for uploads of `payload_bytes`. The device has the whole
/// bandwidth for itself, but not for ever.
pub(super) async fn measure(
    hub: &Hub,
    name: &DeviceName,
    payload_bytes: usize,
    bandwidth_mbps: f64,
    mut parts: Streaming<v1::ProbePart>,
) -> Result<v1::ProbeReply, Reason> {
    let begin = Instant::now();
    let mut next = async |end| match tokio::time::timeout_at(end, parts.message()).await {
        Ok(Ok(part)) => Ok(part),
        Ok(Err(_)) => Err(Reason::Disconnected),
        // A slower link is measured by the bytes that have arrived by then.
        Err(_) => Ok(None),
    };
    match next(begin + PROBE_BEGIN_MAX).await? {
        Some(part) if part.data.is_empty() => {}
        Some(_) => return Err(Reason::BadMessage),
        None => return Err(Reason::Stalled),
    }
    // The empty part has the same latency as the parts that follow, so the measured time contains no latency.
    let start = Instant::now();
    let mut bytes = 0;
    while let Some(part) = next(begin + PROBE_TIME_MAX).await? {
        // Empty parts could go on for ever.
        if part.data.is_empty() {
            return Err(Reason::BadMessage);
        }
        bytes += part.data.len();
        if part.data.len() > CHUNK_BYTES_MAX || bytes > PROBE_BYTES_MAX {
            return Err(Reason::TooManyBytes);
        }
    }
    if bytes == 0 {
        return Err(Reason::Stalled);
    }
    let secs = start.elapsed().as_secs_f64();
    // An upload takes as long per byte, and is never faster than the whole bandwidth.
    let comm_mbit = secs * bandwidth_mbps * payload_bytes as f64 / bytes as f64;
    let comm_mbit = comm_mbit.max(8e-6 * payload_bytes as f64);
    // A device that has enrolled is measured by its rounds; a device that took too long may be forgotten.
    if let Some(newcomer) = hub.state().newcomers.get_mut(name) {
        newcomer.comm_mbit = Some(comm_mbit);
    }
    Ok(v1::ProbeReply { comm_mbit })
}
