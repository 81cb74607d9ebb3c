//! The rule by which devices get their aggregation weights.

use std::sync::Arc;

use crate::csv_table::{Column, Format};
use crate::error::FleetError;
use crate::fleet::Fleet;
use crate::named::NamedNumbers;
use crate::nearest::nearest;
use crate::units::{OutOfRange, Samples};

static FORMAT: Format = Format {
    what: "weights",
    header: "device,weight",
    columns: &[Column::required("device", ""), Column::required("weight", "write a number above 0")],
};

/// What the aggregation weight a_n of a device is proportional to.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Weights {
    /// The number of its samples, as in the paper.
    #[default]
    Samples,
    /// Nothing: all devices weigh the same.
    Equal,
    /// The number that a person gave the device.
    Given(GivenWeights),
}

/// Weights of devices by their names, as a file has them. Copies share the rows, of which there may be millions.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenWeights {
    /// The name of the file in a scenario.
    pub name: String,
    /// The content of the file, for a copy.
    pub text: Arc<[u8]>,
    rows: Arc<NamedNumbers>,
}

impl GivenWeights {
    /// Reads the content of the file that a scenario calls `name`; errors name it as `file`.
    pub fn read(text: Vec<u8>, name: &str, file: &str) -> Result<Self, FleetError> {
        let rows = Arc::new(NamedNumbers::read(&text[..], file, &FORMAT, weight)?);
        Ok(Self { name: name.to_owned(), text: text.into(), rows })
    }
}

/// Weights are kept where a fleet has sample counts, and have their range.
fn weight(number: f64) -> Result<f64, OutOfRange> {
    let wanted = "a weight above 0 (from 1e-6 to 1e12)";
    Samples::new(number).map(Samples::get).map_err(|error| OutOfRange { wanted, ..error })
}

impl Weights {
    /// The file of weights, if there is one.
    pub fn given(&self) -> Option<&GivenWeights> {
        if let Self::Given(given) = self { Some(given) } else { None }
    }

    /// The number that the weight of a device is proportional to; none for a device that the file does not name.
    pub fn of(&self, device: &str, samples: f64) -> Option<f64> {
        match self {
            Self::Samples => Some(samples),
            Self::Equal => Some(1.0),
            Self::Given(given) => given.rows.number(device),
        }
    }

    /// The fleet with these weights, in the place of its sample counts.
    pub fn weigh(&self, fleet: Fleet) -> Result<Fleet, FleetError> {
        if *self == Self::Samples {
            return Ok(fleet);
        }
        let weight = |device: usize| {
            let name = fleet.name(device);
            let number = self.of(name, fleet.samples()[device]).ok_or_else(|| self.without(name))?;
            Samples::new(number).map_err(|_| self.without(name))
        };
        let weights = (0..fleet.len()).map(weight).collect::<Result<Vec<Samples>, FleetError>>()?;
        fleet.with_samples(&weights)
    }

    /// The error of a device that the file does not name.
    pub fn without(&self, device: &str) -> FleetError {
        let rows = self.given().map(|given| &given.rows);
        let names = rows.map(|rows| (0..rows.devices.len()).map(|row| rows.devices.get(row)));
        let hint = match names.and_then(|names| nearest(device, names)) {
            Some(meant) => format!("add a line for each device; the file has {meant:?}"),
            None => "add a line for each device".to_owned(),
        };
        let file = rows.map_or("", |rows| &rows.file);
        FleetError::file(file, None, format!("there is no weight for the device {device:?}"), &hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv_file;

    fn fleet() -> Fleet {
        let text = "device,compute_secs,comm_secs,samples\nphone-1,1,1,30\nphone-2,1,1,10\n";
        csv_file::read(text.as_bytes(), "fleet.csv").unwrap()
    }

    fn given(text: &str) -> Result<Weights, FleetError> {
        GivenWeights::read(text.into(), "w.csv", "folder/w.csv").map(Weights::Given)
    }

    #[test]
    fn weights_follow_the_rule_and_not_the_order_of_lines() {
        let file = given("weight,device\n9,phone-2\n5,tablet\n1,phone-1\n").unwrap();
        for (weights, wanted) in
            [(Weights::Samples, [0.75, 0.25]), (Weights::Equal, [0.5, 0.5]), (file, [0.1, 0.9])]
        {
            assert_eq!(weights.weigh(fleet()).unwrap().weights(), wanted, "{weights:?}");
        }
    }

    #[test]
    fn every_refusal_names_file_line_device_and_remedy() {
        for (rows, wanted) in [
            ("phone-1,0\n", "line 2, column weight: \"0\" is out of range; it must be a weight above 0"),
            ("phone-1,-1\n", "column weight: \"-1\" is out of range"),
            ("phone-1,inf\n", "column weight: \"inf\" is out of range"),
            ("phone-1,NaN\n", "column weight: \"NaN\" is out of range"),
            ("phone-1,\n", "\"\" is empty; write a number above 0"),
            ("phone-1,1\nphone-1,2\n", "line 3, column device: \"phone-1\" already names the device"),
            ("phone-1,1\nphone-3,1\n", "no weight for the device \"phone-2\"; add a line for each device"),
        ] {
            let error = given(&format!("device,weight\n{rows}")).and_then(|weights| weights.weigh(fleet()));
            let error = error.unwrap_err();
            let text = format!("{error}; {}", error.hint());
            assert!(text.starts_with("folder/w.csv") && text.contains(wanted), "{rows:?}: {text}");
        }
    }
}
