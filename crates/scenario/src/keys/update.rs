//! The keys of `[update]`.

use fedflip_learn::Encoding;

use super::{Key, key, name_of};

pub(super) static KEYS: &[Key] = &[key(
    "update",
    "encoding",
    "\"f32\" as it is; fewer bits, rounded without bias: \"f16\", \"int8\", \"int4\"",
    |s| name_of(&Encoding::ALL, &s.update.encoding),
    |s, v| v.choice(&Encoding::ALL).map(|encoding| s.update.encoding = encoding),
)];
