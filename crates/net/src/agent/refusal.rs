//! Translates errors of connections and calls, as libraries and servers word them, into errors of this crate.

use std::error::Error;

use time::OffsetDateTime;
use tonic::Status;

use crate::error::{Doubt, NetError};
use crate::reason::Reason;
use crate::status::reason::Label;
use crate::wire::printable;

/// TLS has one alert for certificates that have expired and that are not valid yet.
const EXPIRED: &str = "has expired";

/// The error of a connection that could not be made.
pub(super) fn of_connecting(server: &str, error: &dyn Error) -> NetError {
    let problem = causes(error);
    // The library's words for an answer that is not TLS.
    if problem.contains("InvalidContentType") {
        return NetError::NoTlsAnswer { server: server.to_owned() };
    }
    of_certificates(&problem)
        .unwrap_or_else(|| NetError::Unreachable { server: server.to_owned(), problem: printable(&problem) })
}

/// The error of the first call of a connection.
pub(super) fn of_first_call(status: Status, is_plain: bool) -> NetError {
    match (is_plain, status.source()) {
        (true, Some(cause)) => NetError::NoPlainAnswer { problem: printable(&causes(cause)) },
        _ => status.into(),
    }
}

impl From<Status> for NetError {
    fn from(status: Status) -> Self {
        let code = status.code();
        if let Some(cause) = status.source() {
            let problem = causes(cause);
            // A server that refuses the device's certificate tells it with the first call.
            return of_certificates(&problem).unwrap_or_else(|| Self::Call {
                code,
                reason: None,
                problem: format!("the connection was lost: {}", printable(&problem)),
            });
        }
        let reason = Reason::ALL.iter().copied().find(|reason| reason.name() == status.message());
        let problem = match reason {
            Some(reason) => words(reason),
            None if status.message().is_empty() => code.description().to_owned(),
            None => printable(status.message()),
        };
        Self::Call { code, reason, problem }
    }
}

fn words(reason: Reason) -> String {
    match reason {
        Reason::FleetFull => "the fleet has no place left for another device".to_owned(),
        Reason::OtherProtocol => "it speaks another version of the protocol".to_owned(),
        Reason::OtherCoin => "it knows a device of this name with another coin".to_owned(),
        Reason::Retired => "this device was retired from the run".to_owned(),
        Reason::NotEnrolled => "this device has not enrolled".to_owned(),
        Reason::Stalled => "a transfer took too long".to_owned(),
        Reason::TooManyCalls => "this device calls too often".to_owned(),
        Reason::OutOfMemory => "it has no memory left for now".to_owned(),
        Reason::BadMessage => "it does not understand a message of this device".to_owned(),
        Reason::OtherData => "this device's data are not those that the scenario shares out".to_owned(),
        Reason::TooManySamples => "this device has more samples than it allows a device to claim".to_owned(),
        Reason::NoWeight => "its file of weights does not name this device".to_owned(),
        Reason::NoSignal => "its fleet file has no signal-to-noise ratio for this device".to_owned(),
        Reason::AlreadyProbing => "an earlier timed transfer of this device is not over yet".to_owned(),
        other => other.name().replace('_', " "),
    }
}

/// The error of a certificate: of the server's, which the device refuses, or of the device's, which the server refuses.
/// The library's errors lose their types on the way through HTTP/2; only their texts remain.
fn of_certificates(problem: &str) -> Option<NetError> {
    // In lower case and without spaces, because the library has two spellings of some.
    const DOUBTS: [(&str, Doubt); 4] = [
        ("notvalidyet", Doubt::NotYet),
        ("expired", Doubt::Expired),
        ("unknownissuer", Doubt::OtherAuthority),
        ("badsignature", Doubt::OtherAuthority),
    ];
    const ALERTS: [(&str, &str); 7] = [
        ("CertificateRevoked", "was revoked"),
        ("CertificateExpired", EXPIRED),
        ("CertificateRequired", "was not shown"),
        ("UnknownCA", "is not of its authority"),
        ("DecryptError", "is not of its authority"),
        ("CertificateUnknown", "is not one of a device"),
        ("BadCertificate", "is not one of a device"),
    ];
    if let Some((_, why)) = problem.split_once("invalid peer certificate") {
        let short = why.to_lowercase().replace(' ', "");
        let known = || DOUBTS.iter().find(|(text, _)| short.contains(text)).map(|(_, doubt)| doubt.clone());
        // Names go first, because a name may hold any of these words.
        let doubt = of_name(why).or_else(known).unwrap_or(Doubt::Unfit);
        return Some(NetError::ServerNotTrusted { doubt });
    }
    let (_, alert) = problem.split_once("fatal alert: ")?;
    let (_, problem) = ALERTS.iter().find(|(text, _)| alert.starts_with(text))?;
    Some(NetError::NotAdmitted { problem })
}

/// The doubt about a name, which the library words as `not valid for name "a"; certificate is only valid for DnsName("b") or
/// IpAddress(::1)`.
fn of_name(why: &str) -> Option<Doubt> {
    let (_, rest) = why.split_once("not valid for name \"")?;
    let (called, rest) = rest.split_once('"')?;
    let names = rest.split_once("only valid for ").map_or("", |(_, names)| names);
    let names = names.split('(').skip(1).filter_map(|name| name.split(')').next());
    let names = names.map(|name| printable(name.trim_matches('"'))).collect();
    Some(Doubt::OtherName { called: printable(called), names })
}

/// Compares the server's verdict on this device's certificate with the device's own clock: where they disagree, one
/// clock is wrong and will be corrected.
pub(super) fn by_own_clock(error: NetError, valid_until_unix_secs: i64, now_unix_secs: i64) -> NetError {
    match error {
        NetError::NotAdmitted { problem: EXPIRED } if now_unix_secs <= valid_until_unix_secs => {
            let until = OffsetDateTime::from_unix_timestamp(valid_until_unix_secs).ok();
            let valid_until = until.map_or_else(|| "later".to_owned(), |until| until.date().to_string());
            NetError::ClocksDisagree { valid_until }
        }
        error => error,
    }
}

/// An error and its causes, in one line.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_spoken_of_in_our_words() {
        for (library, ours, is_final) in [
            ("invalid peer certificate: UnknownIssuer", "is not of this device's authority", true),
            ("invalid peer certificate: BadSignature", "is not of this device's authority", true),
            ("invalid peer certificate: certificate expired: verification time 9", "it has expired", false),
            (
                "invalid peer certificate: certificate not valid yet: verification time 1",
                "not valid yet",
                false,
            ),
            (
                "invalid peer certificate: certificate not valid for name \"a\"; certificate is not valid for any names (says it)",
                "is not for a, by which it was called",
                false,
            ),
            (
                "invalid peer certificate: certificate not valid for name \"a\"; certificate is only valid for \
                 DnsName(\"b.example\"), IpAddress(10.0.0.1) or IpAddress(::1)",
                "is not for a, by which it was called, but for b.example, 10.0.0.1, ::1",
                false,
            ),
            (
                "invalid peer certificate: certificate not valid for name \"expired.lab\"; certificate is only valid for \
                 DnsName(\"unknownissuer.lab\")",
                "is not for expired.lab, by which it was called, but for unknownissuer.lab",
                false,
            ),
            ("http2 error: received fatal alert: CertificateRevoked", "was revoked", true),
            ("received fatal alert: UnknownCA", "is not of its authority", true),
        ] {
            let error = of_connecting("a:1", &std::io::Error::other(library));
            assert!(error.to_string().contains(ours), "{library}: {error}");
            assert!(!error.to_string().contains("alert"), "{error}");
            assert_eq!(error.is_final(), is_final, "{library}");
        }
        let gone = of_connecting("a:1", &std::io::Error::other("Connection refused"));
        assert!(matches!(gone, NetError::Unreachable { .. }) && !gone.is_final());
    }

    #[test]
    fn only_an_agent_whose_own_clock_agrees_ends_with_its_certificate() {
        let of_server =
            || of_connecting("a:1", &std::io::Error::other("received fatal alert: CertificateExpired"));
        let until = 1_800_000_000;
        let early = by_own_clock(of_server(), until, until);
        assert!(!early.is_final() && early.to_string().contains("2027-01-15"), "{early}");
        assert!(early.to_string().contains("clock") && early.hint().contains("clock"), "{early}");
        let late = by_own_clock(of_server(), until, until + 1);
        assert!(late.is_final() && late.to_string().ends_with("has expired"), "{late}");
        let revoked =
            of_connecting("a:1", &std::io::Error::other("received fatal alert: CertificateRevoked"));
        assert!(by_own_clock(revoked, until, 0).is_final());
    }

    #[test]
    fn calls_are_given_up_only_where_trying_again_is_of_no_use() {
        for (reason, is_final) in [
            (Reason::FleetFull, true),
            (Reason::OtherProtocol, true),
            (Reason::OtherCoin, true),
            (Reason::OtherData, true),
            (Reason::TooManySamples, true),
            (Reason::NoWeight, true),
            (Reason::NoSignal, true),
            (Reason::BadMessage, false),
            (Reason::Stalled, false),
            (Reason::TooManyCalls, false),
        ] {
            let error = NetError::from(Status::from(reason));
            assert_eq!(error.is_final(), is_final, "{error}");
            assert!(!error.to_string().contains('_') && !error.hint().is_empty(), "{error}");
        }
        let full = NetError::from(Status::from(Reason::FleetFull));
        assert!(full.to_string().ends_with("no place left for another device"), "{full}");
    }
}
