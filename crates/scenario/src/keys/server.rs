//! The keys of `[server]`.

use super::{Key, key, name_of, share};
use crate::server::{Kind, Server};
use crate::value::Value;

const KINDS: [(&str, Kind); 4] =
    [("none", Kind::None), ("momentum", Kind::Momentum), ("adam", Kind::Adam), ("yogi", Kind::Yogi)];

pub(super) static KEYS: &[Key] = &[
    key(
        "server",
        "optimiser",
        "\"none\" adds the sum to the model; or \"momentum\", \"adam\", \"yogi\"",
        |s| name_of(&KINDS, &s.server.kind),
        |s, v| {
            let Server { averaging, update_norm_max, .. } = s.server;
            v.choice(&KINDS).map(|kind| s.server = Server { averaging, update_norm_max, ..kind.server() })
        },
    ),
    key(
        "server",
        "step",
        "step size of momentum, adam and yogi",
        |s| Some(Value::Number(s.server.step)),
        |s, v| {
            let step = v.number(1e-9..=1e6, "a number above 0 (from 1e-9 to 1e6)")?;
            set(&mut s.server, |kind| kind != Kind::None, |server| server.step = step);
            Ok(())
        },
    ),
    key(
        "server",
        "momentum",
        "momentum coefficient μ of momentum, adam and yogi",
        |s| Some(Value::Number(s.server.momentum)),
        |s, v| {
            let momentum = share(v)?;
            set(&mut s.server, |kind| kind != Kind::None, |server| server.momentum = momentum);
            Ok(())
        },
    ),
    key(
        "server",
        "second_moment",
        "decay of the second moment of adam and yogi",
        |s| Some(Value::Number(s.server.second_moment)),
        |s, v| {
            let second_moment = share(v)?;
            set(&mut s.server, Kind::is_adaptive, |server| server.second_moment = second_moment);
            Ok(())
        },
    ),
    key(
        "server",
        "epsilon",
        "added to the root of the second moment by adam and yogi",
        |s| Some(Value::Number(s.server.epsilon)),
        |s, v| {
            let epsilon = v.number(1e-12..=1e6, "a number above 0 (from 1e-12 to 1e6)")?;
            set(&mut s.server, Kind::is_adaptive, |server| server.epsilon = epsilon);
            Ok(())
        },
    ),
    key(
        "server",
        "averaging",
        "γ: the model shown averages some 1/(1 − γ) rounds; 0 is no average",
        |s| Some(Value::Number(s.server.averaging)),
        |s, v| share(v).map(|averaging| s.server.averaging = averaging),
    ),
    key(
        "server",
        "update_norm_max",
        "real devices: largest norm of an update; \"none\": a trial decides",
        |s| Some(s.server.update_norm_max.map_or(Value::text("none"), Value::Number)),
        |s, v| {
            let wanted = "a number above 0 (from 1e-9 to 1e15)";
            s.server.update_norm_max = v.unless_none(|v| v.number(1e-9..=1e15, wanted))?;
            Ok(())
        },
    ),
];

/// A value that the kind does not use is checked, and stays the default.
fn set(server: &mut Server, matters: fn(Kind) -> bool, change: impl FnOnce(&mut Server)) {
    if matters(server.kind) {
        change(server);
    }
}
