//! A fleet from one slice per quantity.

use crate::error::FleetError;
use crate::fleet::{Device, Fleet};
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
    /// The largest rate of each link in Mbit/s; without it no link has a limit of its own.
    pub link_mbps: Option<&'a [f64]>,
    /// The signal-to-noise ratio of each link over the whole band in dB, which a band of spectrum asks for.
    pub snr_db: Option<&'a [f64]>,
}

impl Fleet {
    /// Checks the columns and builds a fleet from them. An error names the column, the row and the value.
    pub fn from_columns(columns: Columns<'_>) -> Result<Self, FleetError> {
        let Columns { names, compute_secs, comm_secs, samples, availability, link_mbps, snr_db } = columns;
        let devices = samples.len();
        for (column, len) in [
            ("names", names.map_or(devices, <[_]>::len)),
            ("compute_secs", compute_secs.len()),
            ("comm_secs", comm_secs.len()),
            ("availability", availability.map_or(devices, <[_]>::len)),
            ("link_mbps", link_mbps.map_or(devices, <[_]>::len)),
            ("snr_db", snr_db.map_or(devices, <[_]>::len)),
        ] {
            if len != devices {
                return Err(FleetError::ColumnLength { column, len, samples: devices });
            }
        }
        let mut builder = Self::builder();
        for row in 0..devices {
            let numbered;
            let name = match names {
                Some(names) => names[row],
                None => {
                    numbered = format!("device-{row}");
                    &numbered
                }
            };
            let availability = optional("availability", row, availability, Probability::new)?;
            builder.push(Device {
                name,
                compute_secs: checked("compute_secs", row, compute_secs[row], Secs::new)?,
                comm_secs: checked("comm_secs", row, comm_secs[row], Secs::new)?,
                samples: checked("samples", row, samples[row], Samples::new)?,
                availability: availability.unwrap_or(Probability::ONE),
                link_mbps: optional("link_mbps", row, link_mbps, Mbps::new)?,
                snr_db: optional("snr_db", row, snr_db, Decibel::new)?,
            })?;
        }
        builder.build()
    }
}

fn optional<Q>(
    column: &'static str,
    row: usize,
    values: Option<&[f64]>,
    check: fn(f64) -> Result<Q, OutOfRange>,
) -> Result<Option<Q>, FleetError> {
    values.map(|values| checked(column, row, values[row], check)).transpose()
}

fn checked<Q>(
    column: &'static str,
    row: usize,
    value: f64,
    check: fn(f64) -> Result<Q, OutOfRange>,
) -> Result<Q, FleetError> {
    check(value).map_err(|error| FleetError::Column { column, row, value, wanted: error.wanted })
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
        let repeated = refused(Columns { names: Some(&["a", "a"]), ..COLUMNS });
        assert!(matches!(repeated, FleetError::RepeatedName { .. }), "{repeated}");
    }
}
