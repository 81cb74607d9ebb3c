//! A timed transfer: what a device's link makes of the whole band.

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
        // A link that is worse than that is measured by what came until then.
        Err(_) => Ok(None),
    };
    match next(begin + PROBE_BEGIN_MAX).await? {
        Some(part) if part.data.is_empty() => {}
        Some(_) => return Err(Reason::BadMessage),
        None => return Err(Reason::Stalled),
    }
    // The empty part has travelled as those that follow: what its way took is in neither end of the time.
    let start = Instant::now();
    let mut bytes = 0;
    while let Some(part) = next(begin + PROBE_TIME_MAX).await? {
        // Parts without bytes would never add up to an end.
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
    // A round's upload is the same over its own bytes; faster than the whole bandwidth it cannot be.
    let comm_mbit = secs * bandwidth_mbps * payload_bytes as f64 / bytes as f64;
    let comm_mbit = comm_mbit.max(8e-6 * payload_bytes as f64);
    // One that has enrolled is measured by its rounds; one that took too long may have been forgotten.
    if let Some(newcomer) = hub.state().newcomers.get_mut(name) {
        newcomer.comm_mbit = Some(comm_mbit);
    }
    Ok(v1::ProbeReply { comm_mbit })
}
