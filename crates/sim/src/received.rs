//! The model as devices receive it.

use std::sync::Arc;

use fedflip_fleet::{ModelVector, Purpose, StreamKey};
use fedflip_learn::Encoding;

/// The model of a round as devices receive it, if that is not the model itself. All devices that begin in the round receive
/// the same.
pub(crate) fn received(
    encoding: Encoding,
    (seed, round): (u64, u64),
    model: &Arc<ModelVector>,
) -> Option<Arc<ModelVector>> {
    if encoding == Encoding::default() {
        return None;
    }
    let mut received = ModelVector::clone(model);
    let key = StreamKey { seed, purpose: Purpose::ModelRounding, round };
    encoding.round_trip(received.as_mut_slice(), &mut key.shared());
    Some(Arc::new(received))
}
