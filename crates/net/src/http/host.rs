//! The host names that requests to a server on this machine may have.

use std::net::IpAddr;

/// Whether a request may name the server so. A foreign page can point a name of its own at this machine and then read the
/// answers as its own, so only addresses and `localhost` are allowed. The port does not matter: a tunnel may have
/// changed it.
pub fn may_be_asked_as(host: &str, bound: IpAddr) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or("", |(name, _)| name),
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    if name.eq_ignore_ascii_case("localhost") {
        return true;
    }
    let Ok(ip) = name.parse::<IpAddr>() else { return false };
    let (ip, bound) = (ip.to_canonical(), bound.to_canonical());
    ip == bound || ip.is_loopback() || !bound.is_loopback()
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    #[test]
    fn only_addresses_and_localhost_may_be_asked_for() {
        let here = IpAddr::V4(Ipv4Addr::LOCALHOST);
        for host in ["127.0.0.1:8080", "127.0.0.1", "localhost", "LOCALHOST:1", "[::1]:8080"] {
            assert!(may_be_asked_as(host, here), "{host}");
        }
        for host in ["evil.example:8080", "", "192.168.1.7:8080", "[::1", "localhost.evil.example", "0x7f.1"]
        {
            assert!(!may_be_asked_as(host, here), "{host}");
        }
        let anywhere = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
        assert!(may_be_asked_as("192.168.1.7:8080", anywhere));
        assert!(!may_be_asked_as("evil.example", anywhere));
    }
}
