//! A round in progress: the devices that were asked, the cohort, its grants and its updates.

use std::collections::BTreeMap;
use std::time::Duration;

use fedflip_fleet::bandwidth::Share;
use tokio::time::Instant;

use super::grant::Granted;
use super::transfer::Transfer;
use crate::coin::{CoinPublic, Flip, Toss};
use crate::reason::Reason;
use crate::wire::numbers::VectorDigest;
use crate::wire::v1;
use crate::wire::v1::to_device::What;

#[derive(Debug)]
pub(crate) struct Current {
    pub toss: Toss,
    pub digest: VectorDigest,
    pub seed: u64,
    /// The state of each device in this round, by slot.
    seats: Vec<Seat>,
    opened: Instant,
    /// Whether answers are still accepted.
    is_open: bool,
    awaited_count: usize,
    /// The devices that joined the round, in the order of the fleet.
    joined: BTreeMap<usize, Joined>,
}

/// A device's place in a round, whether it takes part or not.
#[derive(Clone, Copy, Debug)]
struct Seat {
    /// The device takes part if its coin is below this; 0 while it is benched.
    q: f64,
    /// The device was asked and has not answered.
    is_awaited: bool,
    /// The window was kept open for the device at some time.
    was_awaited: bool,
    has_answered: bool,
    /// The download of the round's model.
    transfer: Transfer,
}

/// A device's answer to an open round: its coin if the device takes part, or none if it sits out.
pub(crate) type CoinAnswer = Result<Option<Flip>, Reason>;

/// Checks a proof, which takes a fraction of a millisecond: do not call it while others wait for the lock. A device
/// that sits out sends an empty proof.
pub(crate) fn check_coin(coin: &CoinPublic, toss: Toss, proof: &[u8]) -> CoinAnswer {
    match proof {
        [] => Ok(None),
        proof => coin.check(toss, proof).map(Some).ok_or(Reason::FalseCoin),
    }
}

#[derive(Debug)]
pub(crate) struct Joined {
    /// The time from the opening of the round to the answer.
    pub answer_secs: f64,
    pub grant: Option<Granted>,
    pub taken: Option<Taken>,
}

/// The outcome of a device's part in the round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The server has its update, which has this digest.
    Update(VectorDigest),
    /// The device has lost its turn.
    Refused(Reason),
}

impl Current {
    pub(crate) fn open(toss: Toss, digest: VectorDigest, seed: u64, coin_q: Vec<f64>, now: Instant) -> Self {
        let seat = |q| Seat {
            q,
            is_awaited: false,
            was_awaited: false,
            has_answered: false,
            transfer: Transfer::default(),
        };
        Self {
            toss,
            digest,
            seed,
            seats: coin_q.into_iter().map(seat).collect(),
            opened: now,
            is_open: true,
            awaited_count: 0,
            joined: BTreeMap::new(),
        }
    }

    pub(crate) fn is(&self, toss: Toss) -> bool {
        self.toss == toss
    }

    pub(crate) fn round(&self) -> u64 {
        self.toss.round
    }

    /// The message that asks a device to flip its coin; if it `is_awaited`, the window stays open for its answer. None for
    /// a device that cannot take part, such as a benched one.
    pub(crate) fn ask(&mut self, slot: usize, is_awaited: bool) -> Option<What> {
        let seat = self.seats.get_mut(slot)?;
        if !self.is_open || seat.has_answered || seat.q <= 0.0 {
            return None;
        }
        if is_awaited && !seat.is_awaited {
            (seat.is_awaited, seat.was_awaited) = (true, true);
            self.awaited_count += 1;
        }
        Some(What::Opened(v1::Opened {
            round: self.toss.round,
            digest: self.digest.to_vec().into(),
            q: seat.q,
            run: self.toss.run.to_vec().into(),
            seed: self.seed,
        }))
    }

    /// The download of a device; none for a slot that the round does not have.
    pub(crate) fn transfer(&mut self, slot: usize) -> Option<&mut Transfer> {
        self.seats.get_mut(slot).map(|seat| &mut seat.transfer)
    }

    /// The time from the opening of the round until now.
    pub(crate) fn elapsed_secs(&self) -> f64 {
        self.opened.elapsed().as_secs_f64()
    }

    /// Whether the window was kept open for a device, for some time at least.
    pub(crate) fn was_awaited(&self, slot: usize) -> bool {
        self.seats.get(slot).is_some_and(|seat| seat.was_awaited)
    }

    /// Whether a device takes part in rounds at the moment: a benched one does not.
    pub(crate) fn has_coin(&self, slot: usize) -> bool {
        self.seats.get(slot).is_some_and(|seat| seat.q > 0.0)
    }

    /// Notes that a device has left: nobody waits for its answer.
    pub(crate) fn gone(&mut self, slot: usize) {
        if let Some(seat) = self.seats.get_mut(slot)
            && std::mem::take(&mut seat.is_awaited)
        {
            self.awaited_count -= 1;
        }
    }

    /// Whether an answer of this device would be accepted now.
    pub(crate) fn hears(&self, slot: usize) -> bool {
        self.is_open && !self.answered(slot)
    }

    /// Takes a device's answer, which was checked before.
    pub(crate) fn answer(&mut self, slot: usize, said: CoinAnswer, now: Instant) -> Result<(), Reason> {
        let q = self.seats.get(slot).ok_or(Reason::NotEnrolled)?.q;
        if !self.hears(slot) {
            // Late or repeated: the first answer counts, and a device that takes part still does.
            return if self.joined.contains_key(&slot) { Ok(()) } else { Err(Reason::StaleRound) };
        }
        self.gone(slot);
        self.seats[slot].has_answered = true;
        match said? {
            None => return Ok(()),
            Some(flip) if !flip.joins(q) => return Err(Reason::CoinSaysNo),
            Some(_) => {}
        }
        let answer_secs = now.saturating_duration_since(self.opened).as_secs_f64();
        self.joined.insert(slot, Joined { answer_secs, grant: None, taken: None });
        Ok(())
    }

    /// Whether every awaited device has answered or left.
    pub(crate) fn all_answered(&self) -> bool {
        self.awaited_count == 0
    }

    pub(crate) fn answered(&self, slot: usize) -> bool {
        self.seats.get(slot).is_some_and(|seat| seat.has_answered)
    }

    pub(crate) fn joined(&self) -> &BTreeMap<usize, Joined> {
        &self.joined
    }

    /// Closes the window: from now on answers do not count.
    pub(crate) fn close(&mut self) {
        self.is_open = false;
    }

    /// Grants a device its share. Returns the message for the device.
    pub(crate) fn grant(
        &mut self,
        share: &Share,
        is_crowded_out: bool,
        now: Instant,
        deadline: Instant,
    ) -> Option<What> {
        let joined = self.joined.get_mut(&share.device)?;
        let Share { mbps, upload_from_secs, .. } = *share;
        joined.grant = Some(Granted { mbps, upload_from_secs, is_crowded_out, at: now, deadline });
        self.grant_message(share.device, now)
    }

    fn grant_message(&self, slot: usize, now: Instant) -> Option<What> {
        let Joined { grant: Some(grant), taken: None, .. } = self.joined.get(&slot)? else { return None };
        let left = grant.deadline.saturating_duration_since(now);
        let upload_from = Duration::try_from_secs_f64(grant.upload_from_secs).unwrap_or(left);
        let wait = (grant.at + upload_from).saturating_duration_since(now);
        Some(What::Grant(v1::Grant {
            round: self.toss.round,
            digest: self.digest.to_vec().into(),
            mbps: grant.mbps,
            deadline_millis: left.as_millis().try_into().unwrap_or(u32::MAX),
            upload_after_millis: wait.as_millis().try_into().unwrap_or(u32::MAX),
            seed: self.seed,
            run: self.toss.run.to_vec().into(),
        }))
    }

    /// The messages for a device that attends in the middle of the round.
    pub(crate) fn for_newcomer(&mut self, slot: usize, is_awaited: bool, now: Instant) -> Vec<What> {
        self.ask(slot, is_awaited).into_iter().chain(self.grant_message(slot, now)).collect()
    }

    /// The grant of a device whose update may come now.
    pub(crate) fn granted(&self, slot: usize) -> Result<Granted, Reason> {
        self.joined.get(&slot).and_then(|joined| joined.grant).ok_or(Reason::NotGranted)
    }

    pub(crate) fn taken(&self, slot: usize) -> Option<Taken> {
        self.joined.get(&slot)?.taken
    }

    /// Notes the outcome of a device's part. Returns false if the device takes no part or has an outcome already.
    pub(crate) fn take(&mut self, slot: usize, taken: Taken) -> bool {
        match self.joined.get_mut(&slot) {
            Some(joined) if joined.taken.is_none() => {
                joined.taken = Some(taken);
                true
            }
            _ => false,
        }
    }

    /// Ends the round. Returns the devices that have not reported.
    pub(crate) fn close_for_good(&mut self) -> Vec<usize> {
        let mut late = Vec::new();
        for (&slot, joined) in &mut self.joined {
            if joined.taken.is_none() {
                joined.taken = Some(Taken::Refused(Reason::Deadline));
                late.push(slot);
            }
        }
        late
    }

    pub(crate) fn into_taken(self) -> BTreeMap<usize, Taken> {
        self.joined.into_iter().filter_map(|(slot, joined)| Some((slot, joined.taken?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::CoinKey;

    fn opened(q: f64) -> (Current, CoinKey, Instant) {
        let now = Instant::now();
        let toss = Toss { run: [3; 16], round: 5 };
        (Current::open(toss, [1; 32], 7, vec![q; 3], now), CoinKey::generate(), now)
    }

    fn answer(
        current: &mut Current,
        slot: usize,
        key: &CoinKey,
        proof: &[u8],
        now: Instant,
    ) -> Result<(), Reason> {
        let said = check_coin(&key.public(), current.toss, proof);
        current.answer(slot, said, now)
    }

    #[test]
    fn a_coin_that_says_no_does_not_join_and_a_false_one_neither() {
        let (mut current, key, now) = opened(1e-12);
        current.ask(0, true).unwrap();
        assert!(!current.all_answered());
        let (_, proof) = key.flip(current.toss);
        assert_eq!(answer(&mut current, 0, &key, &proof, now), Err(Reason::CoinSaysNo));
        let (mut current, key, now) = opened(1.0);
        let (_, other_round) = key.flip(Toss { round: 6, ..current.toss });
        assert_eq!(answer(&mut current, 0, &key, &other_round, now), Err(Reason::FalseCoin));
        let (_, of_another) = CoinKey::generate().flip(current.toss);
        assert_eq!(answer(&mut current, 1, &key, &of_another, now), Err(Reason::FalseCoin));
        assert!(current.joined().is_empty());
        // Whoever has shown a false coin has had its turn.
        let (_, proof) = key.flip(current.toss);
        assert_eq!(answer(&mut current, 0, &key, &proof, now), Err(Reason::StaleRound));
        assert_eq!(answer(&mut current, 9, &key, &proof, now), Err(Reason::NotEnrolled));
    }

    #[test]
    fn a_grant_is_told_again_until_the_update_is_in() {
        let (mut current, key, now) = opened(1.0);
        for slot in 0..3 {
            current.ask(slot, true).unwrap();
        }
        let (_, proof) = key.flip(current.toss);
        answer(&mut current, 1, &key, &proof, now).unwrap();
        answer(&mut current, 2, &key, &[], now).unwrap();
        assert!(!current.all_answered());
        current.gone(0);
        assert!(current.all_answered());
        current.close();
        assert_eq!(current.for_newcomer(0, true, now).len(), 0, "the window is closed");
        assert!(current.granted(1).is_err());
        let share =
            Share { device: 1, mbps: 4.0, compute_secs: 1.0, upload_from_secs: 0.0, upload_secs: 1.0 };
        current.grant(&share, false, now, now + Duration::from_secs(9)).unwrap();
        assert_eq!(current.for_newcomer(1, true, now).len(), 1);
        assert!(current.take(1, Taken::Update([9; 32])));
        assert!(!current.take(1, Taken::Refused(Reason::NotFinite)), "the first counts");
        assert_eq!(current.for_newcomer(1, true, now).len(), 0);
        assert!(!current.take(0, Taken::Update([9; 32])), "somebody who does not take part");
        assert_eq!(current.into_taken().into_iter().collect::<Vec<_>>(), [(1, Taken::Update([9; 32]))]);
    }
}
