//! The keys of what a round costs: in `[fleet]`, `[plan]`, `[round]` and `[downlink]`.

use fedflip_fleet::{Mbit, Mbps, Mhz, Secs};
use fedflip_learn::Encoding;
use fedflip_record::costs::DownlinkMode;

use super::{Key, Shown, key, name_of};
use crate::costs::Radio;
use crate::value::Value;

const RADIOS: [(&str, Radio); 2] = [("linear", Radio::Linear), ("shannon", Radio::Shannon)];

/// Fewer bits than eight would spoil the model that everybody starts from.
const ENCODINGS: [(&str, Encoding); 3] =
    [("f32", Encoding::F32), ("f16", Encoding::F16), ("int8", Encoding::Int8)];

pub(super) static KEYS: &[Key] = &[
    key(
        "fleet",
        "radio",
        "\"linear\": devices share a bandwidth; \"shannon\": spectrum",
        |s| name_of(&RADIOS, &s.costs.radio),
        |s, v| v.choice(&RADIOS).map(|radio| s.costs.radio = radio),
    ),
    key(
        "fleet",
        "spectrum_mhz",
        "spectrum in MHz of the radio shannon, instead of bandwidth_mbps",
        |s| s.costs.spectrum.map(|spectrum| Value::Number(spectrum.get())),
        |s, v| v.quantity(Mhz::new, Mhz::WANTED).map(|spectrum| s.costs.spectrum = Some(spectrum)),
    )
    .shown(Shown::Example("20")),
    key(
        "plan",
        "overhead_secs",
        "overhead that plans count on; \"round\": round.overhead_secs",
        |s| Some(s.costs.planned_overhead.map_or(Value::text("round"), |secs| Value::Number(secs.get()))),
        |s, v| {
            s.costs.planned_overhead = v.unless("round", |v| v.quantity(Secs::new, Secs::WANTED))?;
            Ok(())
        },
    ),
    key(
        "round",
        "overhead_secs",
        "added to every round, empty ones included",
        |s| Some(Value::Number(s.costs.overhead.get())),
        |s, v| v.quantity(Secs::new, Secs::WANTED).map(|secs| s.costs.overhead = secs),
    ),
    key(
        "round",
        "downlink",
        "how devices get the model: \"none\", \"broadcast\" or \"unicast\"",
        |s| name_of(&DownlinkMode::NAMES, &s.costs.downlink),
        |s, v| v.choice(&DownlinkMode::NAMES).map(|downlink| s.costs.downlink = downlink),
    ),
    key(
        "downlink",
        "bandwidth_mbps",
        "bandwidth of downloads; by default fleet.bandwidth_mbps",
        |s| Some(Value::Number(s.costs.download_bandwidth.get())),
        |s, v| v.quantity(Mbps::new, Mbps::WANTED).map(|mbps| s.costs.download_bandwidth = mbps),
    )
    .shown(Shown::Follows),
    key(
        "downlink",
        "encoding",
        "encoding of the model: \"f32\", or with fewer bits \"f16\" or \"int8\"",
        |s| name_of(&ENCODINGS, &s.costs.download_encoding),
        |s, v| v.choice(&ENCODINGS).map(|encoding| s.costs.download_encoding = encoding),
    ),
    key(
        "downlink",
        "payload_mbit",
        "size of a download; by default the model in its encoding",
        |s| Some(Value::Number(s.costs.download.get())),
        |s, v| v.quantity(Mbit::new, Mbit::WANTED).map(|mbit| s.costs.download = mbit),
    )
    .shown(Shown::Follows),
];
