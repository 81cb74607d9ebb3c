//! The keys of `[server]`.

use super::{Key, Shown, key, name_of};
use crate::error::Refusal;
use crate::server::{Kind, Server};
use crate::value::{Given, Value};

const KINDS: [(&str, Kind); 4] =
    [("none", Kind::None), ("momentum", Kind::Momentum), ("adam", Kind::Adam), ("yogi", Kind::Yogi)];

const SHARE: &str = "a number from 0 to below 1 (to 0.999999)";

pub(super) static KEYS: &[Key] = &[
    key(
        "server",
        "optimiser",
        "what is made of the sum of the updates: \"none\" adds it to the model",
        |s| name_of(&KINDS, &s.server.kind),
        |s, v| {
            let Server { averaging, update_norm_max, .. } = s.server;
            v.choice(&KINDS).map(|kind| s.server = Server { averaging, update_norm_max, ..kind.server() })
        },
    )
    .shown(Shown::Follows)
    .left_out_at("\"none\""),
    key(
        "server",
        "step",
        "of an optimiser: 1 with momentum, 0.01 with adam and yogi",
        |s| number(s.server.kind != Kind::None, s.server.step),
        |s, v| {
            let step = v.number(1e-9..=1e6, "a number above 0 (from 1e-9 to 1e6)")?;
            set(&mut s.server, |kind| kind != Kind::None, |server| server.step = step);
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("1")),
    key(
        "server",
        "momentum",
        "what stays of the sums before: 0.5 with momentum, 0.9 with adam and yogi",
        |s| number(s.server.kind != Kind::None, s.server.momentum),
        |s, v| {
            let momentum = share(v)?;
            set(&mut s.server, |kind| kind != Kind::None, |server| server.momentum = momentum);
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("0.5")),
    key(
        "server",
        "second_moment",
        "of adam and yogi, what stays of the squares before: 0.99",
        |s| number(s.server.kind.is_adaptive(), s.server.second_moment),
        |s, v| {
            let second_moment = share(v)?;
            set(&mut s.server, Kind::is_adaptive, |server| server.second_moment = second_moment);
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("0.99")),
    key(
        "server",
        "epsilon",
        "of adam and yogi, added to the root of the squares: 0.001",
        |s| number(s.server.kind.is_adaptive(), s.server.epsilon),
        |s, v| {
            let epsilon = v.number(1e-12..=1e6, "a number above 0 (from 1e-12 to 1e6)")?;
            set(&mut s.server, Kind::is_adaptive, |server| server.epsilon = epsilon);
            Ok(())
        },
    )
    .shown(Shown::FollowsOr("0.001")),
    key(
        "server",
        "averaging",
        "γ: the model shown averages some 1/(1 − γ) rounds; 0 is no average",
        |s| Some(Value::Number(s.server.averaging)),
        |s, v| share(v).map(|averaging| s.server.averaging = averaging),
    )
    .shown(Shown::Follows)
    .left_out_at("0"),
    key(
        "server",
        "update_norm_max",
        "on devices: larger updates are refused; without it, a trial says",
        |s| s.server.update_norm_max.map(Value::Number),
        |s, v| {
            let wanted = "a number above 0 (from 1e-9 to 1e15)";
            s.server.update_norm_max = v.unless_none(|v| v.number(1e-9..=1e15, wanted))?;
            Ok(())
        },
    )
    .shown(Shown::Example("100")),
];

fn share(v: &Given<'_>) -> Result<f64, Refusal> {
    v.number(0.0..=0.999_999, SHARE)
}

/// What does not matter is not shown.
fn number(matters: bool, number: f64) -> Option<Value> {
    matters.then_some(Value::Number(number))
}

/// What does not matter stays the default: it is checked, and leaves no trace.
fn set(server: &mut Server, matters: fn(Kind) -> bool, change: impl FnOnce(&mut Server)) {
    if matters(server.kind) {
        change(server);
    }
}
