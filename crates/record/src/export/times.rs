//! The times of devices within rounds: who downloads, computes and uploads when.

use fedflip_fleet::Fleet;

use super::table::{Column, Table, named};
use crate::schema::Round;

/// A device in a round.
struct DeviceTimes {
    round: u64,
    start_secs: f64,
    device: usize,
    /// Until all devices have the model.
    download_secs: f64,
    /// Until the devices that were asked have answered.
    asked_secs: f64,
    compute_secs: Option<f64>,
    upload_secs: Option<f64>,
    mbps: f64,
    reported: bool,
}

impl Table {
    /// A row for each device in each of some rounds: the start of the round on the run's clock, and how long the device
    /// downloads, is asked, computes (and waits for bandwidth) and uploads, one after the other. Times that the records leave
    /// out are those of the fleet; they are missing if the fleet does not have the device.
    pub fn times<'a>(rounds: impl IntoIterator<Item = &'a Round>, fleet: Option<&Fleet>) -> Self {
        let all: Vec<DeviceTimes> = rounds.into_iter().flat_map(|round| device_times(round, fleet)).collect();
        let whole =
            |of: fn(&DeviceTimes) -> u64| Column::Whole(all.iter().map(|times| of(times) as i64).collect());
        let number = |of: fn(&DeviceTimes) -> f64| Column::Number(all.iter().map(of).collect());
        let optional = |of: fn(&DeviceTimes) -> Option<f64>| Column::Optional(all.iter().map(of).collect());
        let columns = named([
            ("round", whole(|times| times.round)),
            ("device", whole(|times| times.device as u64)),
            ("start_secs", number(|times| times.start_secs)),
            ("download_secs", number(|times| times.download_secs)),
            ("asked_secs", number(|times| times.asked_secs)),
            ("compute_secs", optional(|times| times.compute_secs)),
            ("upload_secs", optional(|times| times.upload_secs)),
            ("mbps", number(|times| times.mbps)),
            ("reported", whole(|times| u64::from(times.reported))),
        ]);
        Self { name: "times", columns }
    }
}

fn device_times(round: &Round, fleet: Option<&Fleet>) -> impl Iterator<Item = DeviceTimes> {
    let shares = round.cohort.iter().zip(&round.mbps).enumerate();
    shares.map(move |(place, (&device, &mbps))| {
        let fleet = fleet.filter(|fleet| device < fleet.len());
        let recorded = |secs: &[f32]| secs.get(place).copied().map(f64::from);
        // Recorded times count from the start of the round.
        let lead_secs = round.download_secs + round.asked_secs;
        let computed = recorded(&round.compute_secs).map(|secs| (secs - lead_secs).max(0.0));
        let mbps = f64::from(mbps);
        let uploaded = || Some(fleet?.comm_secs()[device] / mbps);
        DeviceTimes {
            round: round.round,
            start_secs: round.start_secs,
            device,
            download_secs: round.download_secs,
            asked_secs: round.asked_secs,
            compute_secs: computed.or_else(|| Some(fleet?.compute_secs()[device])),
            upload_secs: recorded(&round.upload_secs).or_else(uploaded).filter(|secs| secs.is_finite()),
            mbps,
            reported: round.lost.iter().all(|lost| lost.device != device),
        }
    })
}

#[cfg(test)]
mod tests {
    use fedflip_fleet::Columns;

    use super::*;
    use crate::schema::Lost;

    fn column(table: &Table, name: &str) -> Vec<Option<f64>> {
        let found = table.columns.iter().find(|(found, _)| found == name);
        match &found.unwrap().1 {
            Column::Whole(values) => values.iter().map(|&value| Some(value as f64)).collect(),
            Column::Number(values) => values.iter().copied().map(Some).collect(),
            Column::Optional(values) => values.clone(),
            Column::Text(_) => vec![],
        }
    }

    #[test]
    fn times_are_those_of_the_fleet_unless_they_are_recorded() {
        let fleet = Fleet::from_columns(Columns {
            compute_secs: &[2.0, 1.0],
            comm_secs: &[6.0, 8.0],
            samples: &[1.0, 1.0],
            ..Columns::default()
        })
        .unwrap();
        let nominal = Round { round: 1, cohort: vec![0, 1], mbps: vec![3.0, 4.0], ..Round::default() };
        let recorded = Round {
            round: 2,
            start_secs: 4.0,
            download_secs: 0.5,
            asked_secs: 0.25,
            cohort: vec![1, 7],
            mbps: vec![2.0, 0.0],
            compute_secs: vec![1.75, 0.5],
            upload_secs: vec![3.0, 4.0],
            lost: vec![Lost { device: 7, reason: "vanished".to_owned() }],
            ..Round::default()
        };
        let table = Table::times([&nominal, &recorded], Some(&fleet));
        assert_eq!(column(&table, "device"), [0.0, 1.0, 1.0, 7.0].map(Some));
        assert_eq!(column(&table, "compute_secs"), [2.0, 1.0, 1.0, 0.0].map(Some));
        assert_eq!(column(&table, "upload_secs"), [2.0, 2.0, 3.0, 4.0].map(Some));
        assert_eq!(column(&table, "asked_secs"), [0.0, 0.0, 0.25, 0.25].map(Some));
        assert_eq!(column(&table, "reported"), [1.0, 1.0, 1.0, 0.0].map(Some));
        let unknown = Table::times([&nominal], None);
        assert_eq!(column(&unknown, "compute_secs"), [None, None]);
        assert_eq!(column(&unknown, "upload_secs"), [None, None]);
    }
}
