//! A timed transfer, which measures a device's link while the device has the whole bandwidth.

use tokio::time::Instant;
use tonic::Streaming;

use super::hub::Hub;
use crate::identity::DeviceName;
use crate::measure::is_slow;
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
        // Empty parts could continue for ever.
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
    let comm_mbit = load_mbit(secs, bytes as f64, payload_bytes as f64, bandwidth_mbps);
    // A device that has enrolled is measured by its rounds; a device that took too long may be forgotten.
    if let Some(newcomer) = hub.state().newcomers.get_mut(name) {
        newcomer.comm_mbit = Some(comm_mbit);
    }
    Ok(v1::ProbeReply { comm_mbit })
}

/// The load of an upload that takes as long per byte as a timed transfer. It is never faster than the whole bandwidth, and
/// no slower if the transfer was late by so little that packets in bursts may be the cause.
fn load_mbit(secs: f64, bytes: f64, payload_bytes: f64, bandwidth_mbps: f64) -> f64 {
    let payload_mbit = 8e-6 * payload_bytes;
    if is_slow(secs, 8e-6 * bytes / bandwidth_mbps) {
        payload_mbit.max(secs * bandwidth_mbps * payload_bytes / bytes)
    } else {
        payload_mbit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_a_short_transfer_are_not_scaled_to_a_large_update() {
        // 0.1 Mbit at 100 Mbit/s, and an update of 100 Mbit.
        assert_eq!(load_mbit(0.09, 12_500.0, 12.5e6, 100.0), 100.0);
        assert_eq!(load_mbit(0.0, 12_500.0, 12.5e6, 100.0), 100.0);
        assert!((load_mbit(0.2, 12_500.0, 12.5e6, 100.0) - 20_000.0).abs() < 1e-6);
        // A long transfer, and a small update.
        assert!((load_mbit(2.0, 12.5e6, 12_500.0, 100.0) - 0.2).abs() < 1e-9);
    }
}
