//! Messages as bytes, in buffers that grow with their content.
//!
//! A call that stays open holds two buffers, and most messages have some dozens of bytes. The default of 8 KiB each would
//! be a third of the memory that a server needs for a device that attends and waits (`cargo xtask load`).

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstDecoder, ProstEncoder};

/// The size of a new buffer: an answer with its proof fits.
const BUFFER_BYTES: usize = 256;
/// A buffer is sent when it has this many bytes: about a chunk of numbers.
const YIELD_BYTES: usize = 32 << 10;

#[derive(Clone, Copy, Debug)]
pub struct SmallCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for SmallCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

fn buffers() -> BufferSettings {
    BufferSettings::new(BUFFER_BYTES, YIELD_BYTES)
}

impl<T, U> Codec for SmallCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::new(buffers())
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstDecoder::new(buffers())
    }
}
