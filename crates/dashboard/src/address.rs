//! Where a dashboard may be served.

use std::net::{Ipv4Addr, SocketAddr};

use crate::error::DashboardError;

/// An address to listen on, of this machine alone unless that was waived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(SocketAddr);

impl Address {
    /// From `HOST:PORT`, `:PORT` or `PORT`; no host, and `localhost`, are 127.0.0.1. No name is looked up: what
    /// it means could change.
    pub fn parse(text: &str, public: bool) -> Result<Self, DashboardError> {
        let wrong = || DashboardError::Address { text: text.to_owned() };
        let trimmed = text.trim();
        let here = trimmed.strip_prefix("localhost:").or(trimmed.strip_prefix(':')).unwrap_or(trimmed);
        // `parse` takes a plus sign, which nobody means.
        let port = here.bytes().all(|byte| byte.is_ascii_digit()).then(|| here.parse::<u16>());
        let address = match port {
            Some(port) => SocketAddr::from((Ipv4Addr::LOCALHOST, port.map_err(|_| wrong())?)),
            None => trimmed.parse().map_err(|_| wrong())?,
        };
        if address.ip().to_canonical().is_loopback() || public {
            Ok(Self(address))
        } else {
            Err(DashboardError::Public { address })
        }
    }

    pub fn get(self) -> SocketAddr {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, public: bool) -> Result<String, String> {
        let address = Address::parse(text, public).map(|address| address.get().to_string());
        address.map_err(|error| format!("{error}; {}", error.hint()))
    }

    #[test]
    fn short_forms_mean_this_machine() {
        for text in ["127.0.0.1:8080", ":8080", "8080", "localhost:8080", " 8080 "] {
            assert_eq!(parsed(text, false), Ok("127.0.0.1:8080".to_owned()), "{text}");
        }
        assert_eq!(parsed("[::1]:0", false), Ok("[::1]:0".to_owned()));
        assert_eq!(parsed("127.8.9.1:1", false), Ok("127.8.9.1:1".to_owned()));
        assert_eq!(parsed("[::ffff:127.0.0.1]:1", false), Ok("[::ffff:127.0.0.1]:1".to_owned()));
    }

    #[test]
    fn other_machines_are_kept_out_until_they_are_let_in() {
        for text in ["0.0.0.0:8080", "192.168.1.7:8080", "[::]:8080"] {
            let refusal = parsed(text, false).unwrap_err();
            assert!(refusal.contains("other machines") && refusal.contains("allow everybody"), "{refusal}");
            assert!(parsed(text, true).is_ok());
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in
            ["", ":", "x", "70000", "+80", "-1", "127.0.0.1", "127.0.0.1:", "example.org:80", "::1:80x"]
        {
            let refusal = parsed(text, true).unwrap_err();
            assert!(
                refusal.contains("is not an address") && refusal.contains("127.0.0.1:8080"),
                "{text}: {refusal}"
            );
        }
    }
}
