//! Messages of the protocol, and the vectors that they carry.

use fedflip_net::wire::numbers::{self, Collector};
use fedflip_net::wire::{task, v1};
use prost::Message;

use crate::memory;

/// Numbers of the vector that a peer sends.
const VECTOR_LEN: usize = 16;
/// What it takes to build the largest network that a task may have, untrained: its layers, not their numbers.
const NETWORK_BYTES_MAX: usize = 1 << 20;
/// Memory for a byte of a task's parameters: an empty one is two bytes long and 48 in a vector, which grows by
/// doubling.
const PARAM_BYTES_MAX: usize = 80;

/// A message is refused, or is no longer than its bytes and reads back the same. Every kind gets the same bytes:
/// nothing in them says what they are.
pub fn check(bytes: &[u8]) {
    message::<v1::HelloRequest>(bytes);
    message_within::<v1::HelloReply>(bytes, PARAM_BYTES_MAX);
    message::<v1::ProbePart>(bytes);
    message::<v1::ProbeReply>(bytes);
    message::<v1::EnrolRequest>(bytes);
    message::<v1::EnrolReply>(bytes);
    message::<v1::FromDevice>(bytes);
    message::<v1::ToDevice>(bytes);
    message::<v1::FetchRequest>(bytes);
    message::<v1::FetchPart>(bytes);
    message::<v1::UploadPart>(bytes);
    message::<v1::UploadReply>(bytes);
    if let Some(message) = message_within::<v1::Task>(bytes, PARAM_BYTES_MAX) {
        learnt(&message);
    }
    vector(bytes);
}

fn message<M: Message + Default + std::fmt::Debug>(bytes: &[u8]) -> Option<M> {
    message_within(bytes, 8)
}

/// The same for a message that takes more memory for a byte that is sent.
fn message_within<M: Message + Default + std::fmt::Debug>(bytes: &[u8], memory_per_byte: usize) -> Option<M> {
    let message = memory::within((1 << 12) + memory_per_byte * bytes.len(), || M::decode(bytes)).ok()?;
    let written = message.encode_to_vec();
    assert!(written.len() <= bytes.len(), "{message:?}");
    let again = M::decode(&written[..]).expect("what is written reads back");
    // As bytes: a number may be none and equal nothing.
    assert_eq!(again.encode_to_vec(), written);
    Some(message)
}

/// What a server asks a device to learn is a task that there is, or is refused at no cost.
fn learnt(message: &v1::Task) {
    if message.external.is_some() {
        if let Ok(offered) = task::offered(message) {
            let again = task::offer(&offered).and_then(|message| task::offered(&message).ok());
            assert_eq!(again, Some(offered));
        }
        return;
    }
    let settings = match task::stated(message) {
        Ok(settings) => settings,
        Err(mismatch) => return assert!(!mismatch.to_string().is_empty()),
    };
    // With the digest that belongs to it, the device takes what the message says.
    let again = task::message(&settings).and_then(|message| task::settings(&message).ok());
    // As text, for the same reason.
    assert_eq!(format!("{again:?}"), format!("{:?}", Some(&settings)));
    if let Err(error) = memory::within(NETWORK_BYTES_MAX, || settings.task.network()) {
        assert!(!error.hint().is_empty());
    }
}

/// A vector comes in chunks of any size: the first byte of each says how long it is.
fn vector(bytes: &[u8]) {
    let (mut collector, mut sent, mut rest) = (Collector::new(VECTOR_LEN), Vec::new(), bytes);
    while let Some((&len, following)) = rest.split_first() {
        let (chunk, following) = following.split_at(following.len().min(len.into()));
        rest = following;
        if collector.push(chunk).is_err() {
            assert!(sent.len() + chunk.len() > 4 * VECTOR_LEN);
            return;
        }
        sent.extend_from_slice(chunk);
        assert_eq!(collector.bytes(), sent.len());
    }
    let wanted: Vec<f32> = sent.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect();
    let collected = collector.finish(&numbers::digest(&wanted));
    assert_eq!(collected.is_ok(), sent.len() == 4 * VECTOR_LEN);
    assert!(
        collected.is_ok_and(|numbers| numbers::to_bytes(&numbers) == sent) || sent.len() != 4 * VECTOR_LEN
    );
}
