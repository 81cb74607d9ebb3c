//! A page of the fleet's table: sorted, searched, and only as long as a screen.
//!
//! The browser asks for the rows that it shows. So a fleet of a hundred thousand devices costs it no more than
//! one of a hundred.

use std::cmp::Ordering;

use fedflip_fleet::type_of;
use fedflip_net::status::{DeviceStatus, Standing};
use serde::{Deserialize, Serialize};

use crate::live::Roster;
use crate::tally::Tally;

/// The most rows of a page.
pub const ROWS_MAX: usize = 200;

/// The longest text to search for.
const SEARCH_BYTES_MAX: usize = 256;

/// What a table can be sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    #[default]
    Position,
    Device,
    Type,
    DataShare,
    ComputeSecs,
    CommSecs,
    Q,
    Frequency,
    /// Rounds that it took part in.
    Taken,
    /// Rounds from which it did not report.
    Lost,
    /// Share of the time.
    Computing,
    /// Share of the time.
    Uploading,
    /// Share of the time.
    Idle,
    /// Connected devices first, then those that are away, benched, retired and revoked.
    Standing,
    Samples,
    Availability,
    /// The end of the certificate.
    Certificate,
    /// The version of the agent.
    Version,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PageQuery {
    pub sort: Column,
    pub descending: bool,
    /// Part of a name, in any case.
    pub search: String,
    pub offset: usize,
    pub limit: usize,
}

impl Default for PageQuery {
    fn default() -> Self {
        Self { sort: Column::Position, descending: false, search: String::new(), offset: 0, limit: 50 }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Page {
    pub run: u64,
    pub devices: usize,
    pub matching: usize,
    /// The first row's place among them.
    pub offset: usize,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// In the fleet's file, from 0.
    pub position: usize,
    pub device: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub data_share: f64,
    pub compute_secs: f64,
    pub comm_secs: f64,
    pub q: f64,
    pub frequency: f64,
    /// Rounds that it took part in.
    pub taken: u32,
    /// Rounds from which it did not report.
    pub lost: u32,
    pub computing: f64,
    pub uploading: f64,
    pub idle: f64,
    /// What the server knows of a real device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<DeviceStatus>,
}

/// All that the table is made from.
#[derive(Clone, Copy, Debug)]
pub struct FleetTable<'a> {
    pub roster: &'a Roster,
    /// What they did so far, one each.
    pub tallies: &'a [Tally],
    /// What the server knows of real devices, by position; empty in a simulation.
    pub devices: &'a [DeviceStatus],
    pub rounds: u64,
    pub secs: f64,
}

impl FleetTable<'_> {
    /// The rows that are wanted. Only they are put in order: the others are just kept on their side of them.
    pub fn page(&self, query: &PageQuery) -> Page {
        let mut positions = self.matching(&query.search);
        let matching = positions.len();
        let offset = query.offset.min(matching);
        let limit = query.limit.min(ROWS_MAX).min(matching - offset);
        let compare = |a: &u32, b: &u32| {
            let order = self.compare(query.sort, *a as usize, *b as usize);
            (if query.descending { order.reverse() } else { order }).then(a.cmp(b))
        };
        if offset > 0 && offset < matching {
            positions.select_nth_unstable_by(offset, compare);
        }
        let after = positions.get_mut(offset..).unwrap_or_default();
        if limit > 0 && limit < after.len() {
            after.select_nth_unstable_by(limit, compare);
        }
        let shown = after.get_mut(..limit).unwrap_or_default();
        shown.sort_unstable_by(compare);
        let rows = shown.iter().map(|&position| self.row(position as usize)).collect();
        Page { run: self.roster.run, devices: self.roster.fleet.len(), matching, offset, rows }
    }

    /// Positions of the devices with the text in their name.
    fn matching(&self, search: &str) -> Vec<u32> {
        // A fleet has at most twenty million devices.
        let all = 0..self.roster.fleet.len() as u32;
        let wanted = search.trim().to_lowercase();
        if wanted.is_empty() || wanted.len() > SEARCH_BYTES_MAX {
            return if wanted.is_empty() { all.collect() } else { Vec::new() };
        }
        let name = |position: u32| self.roster.fleet.name(position as usize);
        all.filter(|&position| name(position).to_lowercase().contains(&wanted)).collect()
    }

    fn compare(&self, column: Column, a: usize, b: usize) -> Ordering {
        let fleet = &self.roster.fleet;
        match column {
            Column::Position => a.cmp(&b),
            Column::Device => fleet.name(a).cmp(fleet.name(b)),
            Column::Type => self.kind(a).cmp(self.kind(b)),
            Column::Version => {
                let version = |position| self.status(position).map(|status| status.version.as_str());
                version(a).cmp(&version(b))
            }
            _ => self.value(column, a).total_cmp(&self.value(column, b)),
        }
    }

    fn status(&self, position: usize) -> Option<&DeviceStatus> {
        let name = self.roster.fleet.name(position);
        self.devices.get(position).filter(|status| status.name == name)
    }

    fn kind(&self, position: usize) -> &str {
        type_of(self.roster.fleet.name(position))
    }

    fn value(&self, column: Column, position: usize) -> f64 {
        let fleet = &self.roster.fleet;
        let of = |column: &[f64]| column.get(position).copied().unwrap_or(0.0);
        let tally = self.tallies.get(position).copied().unwrap_or_default();
        let share = |secs: f64| if self.secs > 0.0 { secs / self.secs } else { 0.0 };
        match column {
            Column::Position | Column::Device | Column::Type | Column::Version => position as f64,
            Column::DataShare => of(fleet.weights()),
            Column::ComputeSecs => of(fleet.compute_secs()),
            Column::CommSecs => of(fleet.comm_secs()),
            Column::Q => of(&self.roster.q),
            Column::Frequency => f64::from(tally.taken) / self.rounds.max(1) as f64,
            Column::Taken => f64::from(tally.taken),
            Column::Lost => f64::from(tally.lost),
            Column::Computing => share(tally.compute_secs),
            Column::Uploading => share(tally.upload_secs),
            Column::Idle => (1.0 - share(tally.compute_secs + tally.upload_secs)).max(0.0),
            Column::Standing => self.status(position).map_or(0.0, |status| match status.standing {
                Standing::Active => f64::from(u8::from(!status.is_connected)),
                Standing::Benched => 2.0,
                Standing::Retired => 3.0,
                Standing::Revoked => 4.0,
            }),
            Column::Samples => self.status(position).map_or(0.0, |status| status.samples),
            Column::Availability => self.status(position).map_or(0.0, |status| status.availability),
            Column::Certificate => {
                let until = self.status(position).and_then(|status| status.certificate_until_unix_secs);
                until.map_or(f64::INFINITY, |until| until as f64)
            }
        }
    }

    fn row(&self, position: usize) -> Row {
        let tally = self.tallies.get(position).copied().unwrap_or_default();
        Row {
            position,
            device: self.roster.fleet.name(position).to_owned(),
            kind: self.kind(position).to_owned(),
            data_share: self.value(Column::DataShare, position),
            compute_secs: self.value(Column::ComputeSecs, position),
            comm_secs: self.value(Column::CommSecs, position),
            q: self.value(Column::Q, position),
            frequency: self.value(Column::Frequency, position),
            taken: tally.taken,
            lost: tally.lost,
            computing: self.value(Column::Computing, position),
            uploading: self.value(Column::Uploading, position),
            idle: self.value(Column::Idle, position),
            status: self.status(position).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::fleet;

    fn roster(devices: usize) -> Roster {
        let q = (0..devices).map(|n| ((n * 37) % 101) as f64 / 101.0).collect();
        Roster { run: 1, fleet: fleet(devices), q }
    }

    fn positions(page: &Page) -> Vec<usize> {
        page.rows.iter().map(|row| row.position).collect()
    }

    #[test]
    fn a_row_says_how_a_device_spent_its_time() {
        let roster = roster(2);
        let tally = Tally { taken: 5, lost: 1, compute_secs: 2.0, upload_secs: 3.0 };
        let table =
            FleetTable { roster: &roster, tallies: &[tally, tally], devices: &[], rounds: 20, secs: 10.0 };
        let page = table.page(&PageQuery::default());
        let row = &page.rows[1];
        assert_eq!((row.device.as_str(), row.kind.as_str()), ("tablet-000001", "tablet"));
        assert_eq!((row.frequency, row.computing, row.uploading, row.idle), (0.25, 0.2, 0.3, 0.5));
        assert_eq!((row.taken, row.lost), (5, 1));
    }

    #[test]
    fn a_search_finds_parts_of_names_in_any_case() {
        let roster = roster(1000);
        let table = FleetTable { roster: &roster, tallies: &[], devices: &[], rounds: 0, secs: 0.0 };
        let search = |text: &str| table.page(&PageQuery { search: text.to_owned(), ..PageQuery::default() });
        assert_eq!(search(" PHONE ").matching, 500);
        assert_eq!(positions(&search("t-000007")), [7]);
        assert_eq!(search("nobody").rows, []);
        assert_eq!(search(&"a".repeat(10_000)).matching, 0);
    }

    #[test]
    fn types_sort_together() {
        let roster = roster(10);
        let table = FleetTable { roster: &roster, tallies: &[], devices: &[], rounds: 0, secs: 0.0 };
        let page = table.page(&PageQuery { sort: Column::Type, descending: true, ..PageQuery::default() });
        assert_eq!(positions(&page), [1, 3, 5, 7, 9, 0, 2, 4, 6, 8]);
    }

    #[test]
    fn real_devices_have_a_status_and_can_be_sorted_by_it() {
        let roster = roster(3);
        let status = |slot: usize, until| DeviceStatus {
            slot,
            name: roster.fleet.name(slot).to_owned(),
            is_connected: slot == 2,
            standing: if slot == 0 { Standing::Retired } else { Standing::Active },
            version: format!("0.{slot}"),
            samples: 10.0,
            compute_secs: 1.0,
            comm_mbit: 1.0,
            link_mbps: None,
            availability: 1.0,
            certificate_until_unix_secs: until,
            last_seen_unix_secs: None,
        };
        let devices = [status(0, Some(7)), status(1, None), status(2, Some(5))];
        let table = FleetTable { roster: &roster, tallies: &[], devices: &devices, rounds: 0, secs: 0.0 };
        let by = |sort| positions(&table.page(&PageQuery { sort, ..PageQuery::default() }));
        assert_eq!(by(Column::Standing), [2, 1, 0]);
        assert_eq!(by(Column::Certificate), [2, 0, 1], "the unknown come last");
        assert_eq!(by(Column::Version), [0, 1, 2]);
        let row = &table.page(&PageQuery::default()).rows[2];
        assert_eq!(row.status.as_ref(), Some(&devices[2]));
        // A status of another device is none of this one.
        let others = [status(1, None)];
        let table = FleetTable { devices: &others, ..table };
        assert!(table.page(&PageQuery::default()).rows[0].status.is_none());
    }

    proptest! {
        #[test]
        fn a_page_is_a_piece_of_the_sorted_whole(
            devices in 1_usize..400,
            offset in 0_usize..500,
            limit in 0_usize..300,
            descending: bool,
            by_compute: bool,
        ) {
            let roster = roster(devices);
            let table = FleetTable { roster: &roster, tallies: &[], devices: &[], rounds: 0, secs: 0.0 };
            let sort = if by_compute { Column::ComputeSecs } else { Column::Q };
            let page = table.page(&PageQuery { sort, descending, offset, limit, ..PageQuery::default() });
            let mut whole: Vec<usize> = (0..devices).collect();
            whole.sort_by(|&a, &b| {
                let order = table.value(sort, a).total_cmp(&table.value(sort, b));
                if descending { order.reverse() } else { order }
            });
            let from = offset.min(devices);
            let to = (from + limit.min(ROWS_MAX)).min(devices);
            prop_assert_eq!(positions(&page), &whole[from..to]);
        }
    }
}
