//! What each device did so far, and who did what in the latest round.

use fedflip_fleet::Fleet;
use fedflip_record::Round;
use serde::Serialize;

/// The most devices of a round that are shown one by one.
pub const BARS_MAX: usize = 64;

/// What one device did so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Rounds that it took part in.
    pub taken: u32,
    /// Those of them from which it did not report.
    pub lost: u32,
    pub compute_secs: f64,
    pub upload_secs: f64,
}

/// How long a device of a round computed and sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Took {
    #[serde(skip)]
    pub device: usize,
    /// The time from the start of the round until the upload began.
    pub compute_secs: f64,
    /// t/f, or what it really was.
    pub upload_secs: f64,
    pub mbps: f64,
}

/// The device at a place of a round's cohort: as recorded, or else as the fleet says. None beyond the cohort,
/// and for a device that the fleet does not have.
pub fn took(fleet: &Fleet, round: &Round, place: usize) -> Option<Took> {
    let device = *round.cohort.get(place)?;
    let mbps = f64::from(round.mbps.get(place).copied().unwrap_or(0.0));
    let nominal_compute = *fleet.compute_secs().get(device)?;
    let load_mbit = *fleet.comm_secs().get(device)?;
    let nominal_upload = if load_mbit > 0.0 && mbps > 0.0 { load_mbit / mbps } else { 0.0 };
    let recorded = |secs: &[f32]| secs.get(place).map(|&secs| f64::from(secs));
    Some(Took {
        device,
        compute_secs: recorded(&round.compute_secs).unwrap_or(lead_secs(round) + nominal_compute),
        upload_secs: recorded(&round.upload_secs).unwrap_or(nominal_upload),
        mbps,
    })
}

/// The time before the cohort computed: downloads, and answers of devices that were asked.
fn lead_secs(round: &Round) -> f64 {
    round.download_secs + round.asked_secs
}

/// Adds a round to what its devices did.
pub fn add(tallies: &mut [Tally], fleet: &Fleet, round: &Round) {
    for took in (0..round.cohort.len()).filter_map(|place| took(fleet, round, place)) {
        if let Some(tally) = tallies.get_mut(took.device) {
            tally.taken = tally.taken.saturating_add(1);
            tally.compute_secs += (took.compute_secs - lead_secs(round)).max(0.0);
            tally.upload_secs += took.upload_secs;
        }
    }
    for lost in &round.lost {
        if let Some(tally) = tallies.get_mut(lost.device) {
            tally.lost = tally.lost.saturating_add(1);
        }
    }
}

/// The latest round that somebody took part in, as bars over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// Counted from 1; 0 before the first.
    pub round: u64,
    pub round_secs: f64,
    pub participants: usize,
    /// Whether there are no rounds: then this is a step of the server, and each bar begins at its device's own start.
    pub own_starts: bool,
    /// Some of them, if there are many.
    pub bars: Vec<Bar>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bar {
    pub device: String,
    /// First it computed, then it sent.
    #[serde(flatten)]
    pub took: Took,
    /// Why it did not report, if so.
    pub lost: Option<String>,
}

impl Timeline {
    /// Takes note of a round. Of many devices some are shown, evenly spread over the cohort: fleets are listed
    /// by type, so the first few would all be alike.
    pub fn note(&mut self, fleet: &Fleet, round: &Round) {
        let participants = round.cohort.len();
        if participants == 0 {
            return;
        }
        let shown = participants.min(BARS_MAX);
        let bars = (0..shown).filter_map(|n| {
            let took = took(fleet, round, n * participants / shown)?;
            let lost = round.lost.iter().find(|lost| lost.device == took.device);
            let device = fleet.name(took.device).to_owned();
            Some(Bar { device, took, lost: lost.map(|lost| lost.reason.clone()) })
        });
        let bars = bars.collect();
        let own_starts = !round.lags.is_empty();
        *self = Self { round: round.round, round_secs: round.round_secs, participants, own_starts, bars };
    }
}

#[cfg(test)]
mod tests {
    use fedflip_record::Lost;

    use super::*;
    use crate::testing::fleet;

    #[test]
    fn a_recorded_time_goes_before_that_of_the_fleet() {
        let fleet = fleet(3);
        let mut round = Round { cohort: vec![0, 2], mbps: vec![4.0, 6.0], ..Round::default() };
        let nominal = took(&fleet, &round, 1).unwrap();
        assert_eq!((nominal.device, nominal.mbps), (2, 6.0));
        assert_eq!(nominal.compute_secs, fleet.compute_secs()[2]);
        assert_eq!(nominal.upload_secs, fleet.comm_secs()[2] / 6.0);
        (round.compute_secs, round.upload_secs) = (vec![7.0, 8.0], vec![0.5, 0.25]);
        let recorded = took(&fleet, &round, 1).unwrap();
        assert_eq!((recorded.compute_secs, recorded.upload_secs), (8.0, 0.25));
        assert_eq!(took(&fleet, &round, 2), None);
    }

    #[test]
    fn tallies_add_up_and_strangers_are_left_out() {
        let fleet = fleet(3);
        let mut tallies = vec![Tally::default(); 3];
        let lost = vec![Lost { device: 1, reason: "vanished".to_owned() }];
        let round = Round { cohort: vec![1, 2, 9], mbps: vec![1.0; 3], lost, ..Round::default() };
        (0..2).for_each(|_| add(&mut tallies, &fleet, &round));
        assert_eq!((tallies[0].taken, tallies[1].taken, tallies[2].taken), (0, 2, 2));
        assert_eq!((tallies[1].lost, tallies[2].lost), (2, 0));
        assert_eq!(tallies[2].compute_secs, 2.0 * fleet.compute_secs()[2]);
    }

    #[test]
    fn a_crowd_is_shown_by_a_few_from_all_over_it() {
        let fleet = fleet(1000);
        let round =
            Round { round: 5, cohort: (0..1000).collect(), mbps: vec![0.1; 1000], ..Round::default() };
        let mut timeline = Timeline::default();
        timeline.note(&fleet, &round);
        timeline.note(&fleet, &Round { round: 6, ..Round::default() });
        assert_eq!((timeline.round, timeline.participants, timeline.bars.len()), (5, 1000, BARS_MAX));
        assert_eq!(timeline.bars[BARS_MAX - 1].device, fleet.name(1000 * (BARS_MAX - 1) / BARS_MAX));
    }
}
