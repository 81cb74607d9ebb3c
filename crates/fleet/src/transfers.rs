//! Transfers that share a bandwidth, and that begin and end at any time.
//!
//! At every moment each of n transfers has the n-th part of the bandwidth, at most at its link's own limit; what a limit leaves
//! over stays unused, as in [`Division::Equal`](crate::bandwidth::Division::Equal). Whenever a transfer begins or ends, the
//! bandwidth is divided anew. Rates are constant in between, so the ends are exact and no time step is needed.

use crate::link::{Band, Link};

/// The transfers under way on one bandwidth.
#[derive(Clone, Debug)]
pub struct Transfers {
    band: Band,
    /// The time up to which `rest_mbit` of every transfer is known.
    secs: f64,
    under_way: Vec<Transfer>,
    /// The place of the transfer that ends next, and its end; none if the bandwidth has to be divided anew.
    next: Option<(usize, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Transfer {
    id: u64,
    link: Link,
    rest_mbit: f64,
    mbps: f64,
}

impl Transfers {
    /// A bandwidth without transfers.
    pub fn new(band: impl Into<Band>) -> Self {
        Self { band: band.into(), secs: 0.0, under_way: Vec::new(), next: None }
    }

    /// Begins a transfer. `now_secs` is at least the time of every begin and end before.
    pub fn begin(&mut self, now_secs: f64, id: u64, load_mbit: f64, link: Link) {
        self.advance(now_secs);
        self.under_way.push(Transfer { id, link, rest_mbit: load_mbit, mbps: 0.0 });
        self.next = None;
    }

    /// The time at which the next transfer ends, if none begins before; infinite without transfers.
    pub fn next_end_secs(&mut self) -> f64 {
        self.next().map_or(f64::INFINITY, |(_, secs)| secs)
    }

    /// Ends the transfer that is next, and returns its number; none without transfers. Of transfers that end at the same
    /// time, the one with the smallest number is first.
    pub fn end_next(&mut self) -> Option<u64> {
        let (place, secs) = self.next()?;
        self.advance(secs);
        self.next = None;
        Some(self.under_way.swap_remove(place).id)
    }

    /// The numbers of the transfers under way, and their present rates in Mbit/s.
    pub fn rates_mbps(&mut self) -> impl Iterator<Item = (u64, f64)> {
        self.next();
        self.under_way.iter().map(|transfer| (transfer.id, transfer.mbps))
    }

    fn advance(&mut self, to_secs: f64) {
        let passed_secs = to_secs - self.secs;
        if passed_secs > 0.0 {
            // Those that began last have no rate before the bandwidth is divided.
            self.next();
            for transfer in &mut self.under_way {
                transfer.rest_mbit = (transfer.rest_mbit - transfer.mbps * passed_secs).max(0.0);
            }
            self.secs = to_secs;
        }
    }

    /// Divides the bandwidth anew if transfers have begun or ended.
    fn next(&mut self) -> Option<(usize, f64)> {
        if self.next.is_none() {
            let part = self.band.total() / self.under_way.len().max(1) as f64;
            let mut first: Option<(f64, u64, usize)> = None;
            for (place, transfer) in self.under_way.iter_mut().enumerate() {
                transfer.mbps = self.band.rate_mbps(part, transfer.link);
                let rest = transfer.rest_mbit;
                let rest_secs = if rest > 0.0 { rest / transfer.mbps } else { 0.0 };
                if first.is_none_or(|(secs, id, _)| (rest_secs, transfer.id) < (secs, id)) {
                    first = Some((rest_secs, transfer.id, place));
                }
            }
            self.next = first.map(|(rest_secs, _, place)| (place, self.secs + rest_secs));
        }
        self.next
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{Decibel, Mbps, Mhz};

    fn linear(mbps: f64) -> Band {
        Mbps::new(mbps).unwrap().into()
    }

    /// 10 Mbit/s. The first sends alone until 1 s, the second joins, the third joins at 2 s with a limit of 2 Mbit/s.
    #[test]
    fn the_band_is_divided_anew_whenever_a_transfer_begins_or_ends() {
        let mut transfers = Transfers::new(linear(10.0));
        let free = Link::default();
        assert_eq!(transfers.next_end_secs(), f64::INFINITY);
        transfers.begin(0.0, 1, 20.0, free);
        assert_eq!(transfers.next_end_secs(), 2.0);
        transfers.begin(1.0, 2, 10.0, free);
        // Both have 10 Mbit left and 5 Mbit/s each.
        assert_eq!(transfers.next_end_secs(), 3.0);
        transfers.begin(2.0, 3, 4.0, Link { limit_mbps: 2.0, ..free });
        // 5, 5 and 4 Mbit are left, at 10/3, 10/3 and 2 Mbit/s.
        let rates: Vec<(u64, f64)> = transfers.rates_mbps().collect();
        assert_eq!(rates, [(1, 10.0 / 3.0), (2, 10.0 / 3.0), (3, 2.0)]);
        assert!((transfers.next_end_secs() - 3.5).abs() < 1e-12);
        assert_eq!(transfers.end_next(), Some(1), "of two that end together, the smaller number is first");
        assert!((transfers.next_end_secs() - 3.5).abs() < 1e-12);
        assert_eq!(transfers.end_next(), Some(2));
        // 1 Mbit is left, and the limit still holds although the device is alone.
        assert!((transfers.next_end_secs() - 4.0).abs() < 1e-12);
        assert_eq!((transfers.end_next(), transfers.end_next()), (Some(3), None));
    }

    #[test]
    fn nothing_to_send_ends_at_once() {
        let mut transfers = Transfers::new(linear(1.0));
        transfers.begin(5.0, 9, 0.0, Link::default());
        assert_eq!((transfers.next_end_secs(), transfers.end_next()), (5.0, Some(9)));
    }

    proptest! {
        /// Every transfer delivers exactly its load; at no time do rates exceed the bandwidth or a limit.
        #[test]
        fn loads_are_conserved(
            given in prop::collection::vec((0.0..5.0_f64, 0.01..20.0_f64, 0.2..30.0_f64, -5.0..30.0_f64), 1..40),
            total in 0.5..20.0_f64,
            shannon in any::<bool>(),
        ) {
            let band = if shannon { Band::Shannon(Mhz::new(total).unwrap()) } else { linear(total) };
            let mut transfers = Transfers::new(band);
            let links: Vec<Link> = given.iter()
                .map(|&(_, _, limit, db)| Link::new(Some(Mbps::new(limit).unwrap()), Some(Decibel::new(db).unwrap())))
                .collect();
            let mut begins: Vec<f64> = given.iter().map(|given| given.0).collect();
            begins.sort_by(f64::total_cmp);
            let (mut sent, mut now, mut ended) = (vec![0.0; given.len()], 0.0, 0);
            let mut next = 0;
            while ended < given.len() {
                let end_secs = transfers.next_end_secs();
                let begin_secs = begins.get(next).copied().unwrap_or(f64::INFINITY);
                let then = end_secs.min(begin_secs);
                prop_assert!(then >= now, "{then} {now}");
                let rates: Vec<(u64, f64)> = transfers.rates_mbps().collect();
                let mut used = 0.0;
                for &(id, mbps) in &rates {
                    let link = links[id as usize];
                    prop_assert!(mbps <= link.limit_mbps && mbps > 0.0);
                    used += band.part_for(mbps, link);
                    sent[id as usize] += mbps * (then - now);
                }
                prop_assert!(used <= band.total() * (1.0 + 1e-9), "{used}");
                now = then;
                if begin_secs < end_secs {
                    transfers.begin(now, next as u64, given[next].1, links[next]);
                    next += 1;
                } else {
                    let id = transfers.end_next().unwrap() as usize;
                    prop_assert!((sent[id] / given[id].1 - 1.0).abs() < 1e-9, "{} of {}", sent[id], given[id].1);
                    ended += 1;
                }
            }
        }
    }
}
