//! A fleet from one column per quantity: slices that are copied, or vectors that the fleet keeps.

use crate::error::FleetError;
use crate::fleet::{DEVICES_MAX, Fleet, FleetBuilder, Links, is_name};
use crate::names::Names;
use crate::units::{Decibel, Mbps, OutOfRange, Probability, Samples, Secs};

/// The quantities of all devices, one slice each. All slices have one entry per device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Columns<'a> {
    /// The names of the devices; without them they are `device-0`, `device-1` and so on.
    pub names: Option<&'a [&'a str]>,
    /// τ_n: the seconds of local computation in one round.
    pub compute_secs: &'a [f64],
    /// t_n: the seconds of communication in one round at 1 Mbit/s, which is the payload in Mbit.
    pub comm_secs: &'a [f64],
    /// |D_n|: the number of training samples.
    pub samples: &'a [f64],
    /// The share of rounds in which the device can be reached; without it every device is always available.
    pub availability: Option<&'a [f64]>,
    /// The largest rate of each link in Mbit/s, infinite for a link without a limit; without the column no link has a
    /// limit of its own.
    pub link_mbps: Option<&'a [f64]>,
    /// The signal-to-noise ratio of each link over the whole band in dB, which a band of spectrum asks for.
    pub snr_db: Option<&'a [f64]>,
}

/// The same quantities in vectors, which become the columns of the fleet without a copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnedColumns {
    /// The names of the devices, as in [`Columns`].
    pub names: Option<Names>,
    /// The compute time τ_n of each device, in seconds.
    pub compute_secs: Vec<f64>,
    /// The time t_n that each upload takes at 1 Mbit/s, in seconds.
    pub comm_secs: Vec<f64>,
    /// |D_n|.
    pub samples: Vec<f64>,
    /// The availability of each device, as in [`Columns`].
    pub availability: Option<Vec<f64>>,
    /// The limit of each link in Mbit/s, as in [`Columns`].
    pub link_mbps: Option<Vec<f64>>,
    /// The signal-to-noise ratio of each link in dB, as in [`Columns`].
    pub snr_db: Option<Vec<f64>>,
}

impl Fleet {
    /// Checks the columns and builds a fleet from them. An error names the column, the row and the value.
    pub fn from_columns(columns: Columns<'_>) -> Result<Self, FleetError> {
        let Columns { names, compute_secs, comm_secs, samples, availability, link_mbps, snr_db } = columns;
        Self::from_owned_columns(OwnedColumns {
            names: names.map(|names| names.iter().copied().collect()),
            compute_secs: compute_secs.to_vec(),
            comm_secs: comm_secs.to_vec(),
            samples: samples.to_vec(),
            availability: availability.map(<[_]>::to_vec),
            link_mbps: link_mbps.map(<[_]>::to_vec),
            snr_db: snr_db.map(<[_]>::to_vec),
        })
    }

    /// The same for columns that the fleet keeps.
    pub fn from_owned_columns(columns: OwnedColumns) -> Result<Self, FleetError> {
        columns.check_lengths()?;
        let devices = columns.samples.len();
        let are_named = columns.names.is_some();
        let builder = FleetBuilder {
            names: columns.names.map_or_else(|| Ok(numbered(devices)), checked_names)?,
            compute_secs: checked("compute_secs", columns.compute_secs, Secs::new, Secs::get)?,
            comm_secs: checked("comm_secs", columns.comm_secs, Secs::new, Secs::get)?,
            samples: checked("samples", columns.samples, Samples::new, Samples::get)?,
            availability: match columns.availability {
                Some(column) => checked("availability", column, Probability::new, Probability::get)?,
                None => vec![1.0; devices],
            },
            links: links(columns.link_mbps, columns.snr_db)?,
        };
        // Numbered names differ, which makes the search for repeated ones superfluous.
        if are_named || devices == 0 { builder.build() } else { Ok(builder.into_fleet()) }
    }
}

impl OwnedColumns {
    fn check_lengths(&self) -> Result<(), FleetError> {
        let devices = self.samples.len();
        let of = |column: &Option<Vec<f64>>| column.as_ref().map_or(devices, Vec::len);
        for (column, len) in [
            ("names", self.names.as_ref().map_or(devices, Names::len)),
            ("compute_secs", self.compute_secs.len()),
            ("comm_secs", self.comm_secs.len()),
            ("availability", of(&self.availability)),
            ("link_mbps", of(&self.link_mbps)),
            ("snr_db", of(&self.snr_db)),
        ] {
            if len != devices {
                return Err(FleetError::ColumnLength { column, len, samples: devices });
            }
        }
        if devices > DEVICES_MAX { Err(FleetError::TooManyDevices) } else { Ok(()) }
    }
}

fn numbered(devices: usize) -> Names {
    (0..devices).map(|row| format!("device-{row}")).collect()
}

fn checked_names(names: Names) -> Result<Names, FleetError> {
    match (0..names.len()).find(|&position| !is_name(names.get(position))) {
        Some(position) => Err(FleetError::BadName { name: names.get(position).to_owned(), position }),
        None => Ok(names),
    }
}

/// The columns that most fleets lack.
fn links(link_mbps: Option<Vec<f64>>, snr_db: Option<Vec<f64>>) -> Result<Links, FleetError> {
    let mut limit_mbps = link_mbps.unwrap_or_default();
    let limit = |value: &mut f64| match *value {
        f64::INFINITY => Ok(()),
        limit => Mbps::new(limit).map(|limit| *value = limit.get()),
    };
    check("link_mbps", &mut limit_mbps, limit)?;
    if limit_mbps.iter().all(|limit| limit.is_infinite()) {
        limit_mbps.clear();
    }
    let (mut snr_db, mut snr) = (snr_db.unwrap_or_default(), Vec::new());
    let ratio = |value: &mut f64| {
        let ratio = Decibel::new(*value)?;
        snr.push(ratio.factor());
        *value = ratio.get();
        Ok(())
    };
    check("snr_db", &mut snr_db, ratio)?;
    Ok(Links { limit_mbps, snr_db, snr })
}

/// The column of a quantity, every value as its type has it.
fn checked<Q>(
    column: &'static str,
    mut values: Vec<f64>,
    new: fn(f64) -> Result<Q, OutOfRange>,
    get: fn(Q) -> f64,
) -> Result<Vec<f64>, FleetError> {
    check(column, &mut values, |value| new(*value).map(|quantity| *value = get(quantity)))?;
    Ok(values)
}

fn check(
    column: &'static str,
    values: &mut [f64],
    mut accept: impl FnMut(&mut f64) -> Result<(), OutOfRange>,
) -> Result<(), FleetError> {
    for (row, value) in values.iter_mut().enumerate() {
        accept(value).map_err(|error| FleetError::Column {
            column,
            row,
            value: error.value,
            wanted: error.wanted,
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: Columns<'_> = Columns {
        names: Some(&["phone", "laptop"]),
        compute_secs: &[2.0, 0.4],
        comm_secs: &[7.0, 0.0],
        samples: &[300.0, 100.0],
        availability: Some(&[0.5, 1.0]),
        link_mbps: None,
        snr_db: None,
    };

    #[test]
    fn every_column_arrives() {
        let fleet = Fleet::from_columns(COLUMNS).unwrap();
        assert_eq!((fleet.name(0), fleet.name(1)), ("phone", "laptop"));
        assert_eq!((fleet.compute_secs(), fleet.comm_secs()), (&[2.0, 0.4][..], &[7.0, 0.0][..]));
        assert_eq!((fleet.weights(), fleet.availability()), (&[0.75, 0.25][..], &[0.5, 1.0][..]));
        let fleet = Fleet::from_columns(Columns { names: None, availability: None, ..COLUMNS }).unwrap();
        assert_eq!((fleet.name(1), fleet.availability()), ("device-1", &[1.0, 1.0][..]));
        let signals = Columns { snr_db: Some(&[10.0, 0.0]), ..COLUMNS };
        let fleet = Fleet::from_columns(signals).unwrap();
        assert_eq!((fleet.snr_db(), fleet.link(0).snr), (Some(&[10.0, 0.0][..]), 10.0));
    }

    #[test]
    fn an_infinite_limit_is_no_limit() {
        let limited = |limits| Fleet::from_columns(Columns { link_mbps: Some(limits), ..COLUMNS }).unwrap();
        let fleet = limited(&[f64::INFINITY, 5.0]);
        assert_eq!(fleet.link_mbps(), Some(&[f64::INFINITY, 5.0][..]));
        assert_eq!(limited(&[f64::INFINITY; 2]), Fleet::from_columns(COLUMNS).unwrap());
    }

    #[test]
    fn owned_columns_stay_where_they_are() {
        let samples = vec![300.0, 100.0];
        let place = samples.as_ptr();
        let columns = OwnedColumns {
            compute_secs: vec![2.0, -0.0],
            comm_secs: vec![7.0, 1.0],
            samples,
            ..OwnedColumns::default()
        };
        let fleet = Fleet::from_owned_columns(columns).unwrap();
        assert_eq!((fleet.samples().as_ptr(), fleet.samples()), (place, &[300.0, 100.0][..]));
        assert!(fleet.compute_secs()[1].is_sign_positive(), "equal quantities have equal bytes");
    }

    #[test]
    fn what_is_wrong_is_named_with_its_column_row_and_value() {
        let refused = |columns: Columns<'_>| Fleet::from_columns(columns).unwrap_err();
        let error = refused(Columns { compute_secs: &[2.0, -1.0], ..COLUMNS });
        assert!(
            matches!(error, FleetError::Column { column: "compute_secs", row: 1, value: -1.0, .. }),
            "{error}"
        );
        assert!(error.to_string().contains("compute_secs") && error.to_string().contains("-1"), "{error}");
        for (columns, column) in [
            (Columns { samples: &[0.0, 1.0], ..COLUMNS }, "samples"),
            (Columns { comm_secs: &[f64::NAN, 1.0], ..COLUMNS }, "comm_secs"),
            (Columns { availability: Some(&[1.5, 1.0]), ..COLUMNS }, "availability"),
        ] {
            let error = refused(columns);
            assert!(
                matches!(&error, FleetError::Column { column: c, row: 0, .. } if *c == column),
                "{error}"
            );
        }
        let error = refused(Columns { comm_secs: &[1.0; 3], ..COLUMNS });
        assert_eq!(error, FleetError::ColumnLength { column: "comm_secs", len: 3, samples: 2 });
        assert_eq!(
            refused(Columns { names: Some(&[]), ..COLUMNS }).hint(),
            "give every column one entry per device"
        );
        assert_eq!(refused(Columns::default()), FleetError::NoDevices);
        let limits = refused(Columns { link_mbps: Some(&[1.0, f64::NEG_INFINITY]), ..COLUMNS });
        assert!(matches!(limits, FleetError::Column { column: "link_mbps", row: 1, .. }), "{limits}");
        let unnamed = refused(Columns { names: Some(&["a", ""]), ..COLUMNS });
        assert!(matches!(unnamed, FleetError::BadName { position: 1, .. }), "{unnamed}");
        let repeated = refused(Columns { names: Some(&["a", "a"]), ..COLUMNS });
        assert!(matches!(repeated, FleetError::RepeatedName { .. }), "{repeated}");
    }
}
