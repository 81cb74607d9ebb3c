//! Sends a model to a device, and gives up if the device does not read it in time.

use std::time::Duration;

use prost::bytes::Bytes;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use crate::reason::Reason;
use crate::wire::limits::CHUNK_BYTES_MAX;
use crate::wire::v1;

/// Sends a chunk whenever the device has read the one before. The library does not ask for the next chunk while a
/// device reads nothing, so a task watches the clock: after `silence_max` without reading, or once the model is not
/// `wanted` any more, the task frees the model's memory. A device that reads on then gets the reason. `ended` hears whether
/// the connection has taken the last byte, or why there is none.
pub(super) fn download(
    bytes: Bytes,
    silence_max: Duration,
    wanted: impl Fn() -> bool + Send + 'static,
    ended: impl FnOnce(Result<bool, Reason>) + Send + 'static,
) -> ReceiverStream<Result<v1::FetchPart, Status>> {
    let (sender, parts) = mpsc::channel(1);
    tokio::spawn(async move {
        let sent = send(bytes, silence_max, wanted, &sender).await;
        ended(sent);
        if let Err(reason) = sent {
            // A device that is gone is not told.
            let _ = sender.send(Err(reason.into())).await;
        }
    });
    ReceiverStream::new(parts)
}

async fn send(
    bytes: Bytes,
    silence_max: Duration,
    wanted: impl Fn() -> bool,
    sender: &mpsc::Sender<Result<v1::FetchPart, Status>>,
) -> Result<bool, Reason> {
    for chunk in bytes.chunks(CHUNK_BYTES_MAX) {
        if !wanted() {
            return Err(Reason::OtherModel);
        }
        // A copy: a part of the model's own memory would keep all of it.
        let part = v1::FetchPart { data: Bytes::copy_from_slice(chunk) };
        match tokio::time::timeout(silence_max, sender.send(Ok(part))).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ok(false),
            Err(_) => return Err(Reason::Stalled),
        }
    }
    // There is room for another chunk once the connection has taken the last one.
    match tokio::time::timeout(silence_max, sender.reserve()).await {
        Ok(room) => Ok(room.is_ok()),
        Err(_) => Err(Reason::Stalled),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use tokio::sync::oneshot;
    use tokio_stream::StreamExt;

    use super::*;

    const CHUNKS: usize = 5;
    const SOON: Duration = Duration::from_millis(30);

    fn model() -> Bytes {
        (0..CHUNKS * CHUNK_BYTES_MAX - 1).map(|n| n as u8).collect()
    }

    #[tokio::test]
    async fn a_reader_gets_all_of_it_in_order() {
        let model = model();
        let (ended, heard) = oneshot::channel();
        let parts = download(model.clone(), Duration::from_secs(20), || true, |end| ended.send(end).unwrap());
        let parts: Vec<_> = parts.map(|part| part.unwrap().data).collect().await;
        assert_eq!((parts.len(), parts.concat()), (CHUNKS, model.to_vec()));
        assert_eq!(heard.await.unwrap(), Ok(true));
    }

    #[tokio::test]
    async fn a_reader_that_stops_gives_the_memory_back() {
        let model = model();
        let (ended, heard) = oneshot::channel();
        let parts = download(model.clone(), SOON, || true, |end| ended.send(end).unwrap());
        let mut parts = Box::pin(parts);
        parts.next().await.unwrap().unwrap();
        assert!(!model.is_unique());
        assert_eq!(heard.await.unwrap(), Err(Reason::Stalled));
        tokio::task::yield_now().await;
        assert!(model.is_unique(), "the download holds nothing of it");
        let rest: Vec<_> = parts.collect().await;
        let (last, before) = rest.split_last().unwrap();
        assert_eq!(last.as_ref().unwrap_err().message(), "stalled");
        assert!(before.len() < CHUNKS - 1 && before.iter().all(Result::is_ok));
    }

    #[tokio::test]
    async fn a_model_of_yesterday_is_not_sent_to_its_end() {
        let is_wanted = Arc::new(AtomicBool::new(true));
        let asked = Arc::clone(&is_wanted);
        let parts = download(model(), Duration::from_secs(20), move || asked.load(Ordering::Relaxed), |_| {});
        let mut parts = Box::pin(parts);
        parts.next().await.unwrap().unwrap();
        is_wanted.store(false, Ordering::Relaxed);
        let rest: Vec<_> = parts.collect().await;
        assert!(rest.len() < CHUNKS);
        assert_eq!(rest.last().unwrap().as_ref().unwrap_err().message(), "other_model");
    }
}
