//! Handshakes in progress, and which of them gives way when there are too many.
//!
//! Any stranger can open connections and send nothing, but cannot have addresses in many networks. So handshakes are
//! counted by address block, the unit that a provider gives to one customer or site, and the oldest handshake of the
//! most crowded block gives way. An honest peer completes its handshake within moments: it is dropped only if its own
//! block is the most crowded one, and after all older handshakes of that block.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::sync::oneshot;

/// Handshakes are numbered in the order in which they start.
type Id = u64;

#[derive(Default)]
pub(super) struct Waiting {
    came_ever: Id,
    peers: BTreeMap<Id, Peer>,
    blocks: BTreeMap<IpAddr, BTreeSet<Id>>,
    /// The size of each block and its oldest handshake; the last entry gives way.
    crowds: BTreeSet<(usize, Reverse<Id>, IpAddr)>,
}

struct Peer {
    block: IpAddr,
    give_way: oneshot::Sender<()>,
}

impl Waiting {
    pub(super) fn len(&self) -> usize {
        self.peers.len()
    }

    /// Adds a handshake. The receiver resolves when it must give way.
    pub(super) fn come(&mut self, address: IpAddr) -> (Id, oneshot::Receiver<()>) {
        self.came_ever += 1;
        let (id, block) = (self.came_ever, block(address));
        let (give_way, told) = oneshot::channel();
        self.peers.insert(id, Peer { block, give_way });
        self.change(block, |ids| ids.insert(id));
        (id, told)
    }

    /// Removes a handshake that has ended. Returns false if it has given way before.
    pub(super) fn go(&mut self, id: Id) -> bool {
        let Some(peer) = self.peers.remove(&id) else { return false };
        self.change(peer.block, |ids| ids.remove(&id));
        true
    }

    /// The oldest handshake of the most crowded block gives way. Returns false without any handshake.
    pub(super) fn make_room(&mut self) -> bool {
        let Some(&(_, Reverse(oldest), block)) = self.crowds.last() else { return false };
        self.change(block, |ids| ids.remove(&oldest));
        if let Some(peer) = self.peers.remove(&oldest) {
            // A handshake that has just ended does not listen any more.
            let _ = peer.give_way.send(());
        }
        true
    }

    fn change(&mut self, block: IpAddr, change: impl FnOnce(&mut BTreeSet<Id>) -> bool) {
        let ids = self.blocks.entry(block).or_default();
        let crowd = |ids: &BTreeSet<Id>| ids.first().map(|oldest| (ids.len(), Reverse(*oldest), block));
        if let Some(before) = crowd(ids) {
            self.crowds.remove(&before);
        }
        change(ids);
        match crowd(ids) {
            Some(now) => {
                self.crowds.insert(now);
            }
            None => {
                self.blocks.remove(&block);
            }
        }
    }
}

/// The address block of one customer or site: of IPv4 a /24, the smallest block that is routed by itself, and of IPv6 a
/// /48, which providers give to every customer who asks.
fn block(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() >> 8 << 8).into(),
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn whoever_crowds_gives_way() {
        let mut waiting = Waiting::default();
        let mut come = |text: &str| waiting.come(address(text));
        // Six addresses of two blocks, and one that came first of all.
        let (_, mut honest) = come("192.0.2.1");
        let mut crowd: Vec<_> = (1..=6).map(|n| come(&format!("198.51.{}.{n}", n % 2)).1).collect();
        for _ in 0..4 {
            assert!(waiting.make_room());
        }
        let gone: Vec<usize> =
            (0..6).filter(|n| crowd[*n].try_recv() != Err(oneshot::error::TryRecvError::Empty)).collect();
        assert_eq!(gone, [0, 1, 2, 3], "in turn, the oldest of the larger block");
        assert_eq!(honest.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert_eq!(waiting.len(), 3);
        // Blocks are even now: the oldest of all.
        assert!(waiting.make_room());
        assert_eq!(honest.try_recv(), Ok(()));
    }

    #[test]
    fn nothing_is_kept_of_those_who_are_gone() {
        let mut waiting = Waiting::default();
        let ids = ["10.0.0.1", "10.0.0.2", "2001:db8::1"].map(|text| waiting.come(address(text)).0);
        assert!(waiting.make_room());
        assert_eq!(ids.map(|id| waiting.go(id)), [false, true, true]);
        assert!(!waiting.make_room());
        assert!(waiting.peers.is_empty() && waiting.blocks.is_empty() && waiting.crowds.is_empty());
    }

    #[test]
    fn a_block_is_what_one_customer_has() {
        let same = |a: &str, b: &str| block(address(a)) == block(address(b));
        assert!(same("192.0.2.1", "192.0.2.255") && !same("192.0.2.1", "192.0.3.1"));
        assert!(same("192.0.2.1", "::ffff:192.0.2.9"));
        assert!(same("2001:db8:1::1", "2001:db8:1:ffff::1") && !same("2001:db8:1::1", "2001:db8:2::1"));
    }
}
