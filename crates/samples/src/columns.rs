//! Tables of columns: `label`, optionally `device`, and features, which are all the others.

use crate::array::Values;
use crate::devices::{Devices, Distinct};
use crate::error::Problem;
use crate::labels::{self, Labels};
use crate::table::{Features, Table};

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Label,
    Device,
    /// The position among the features.
    Feature(usize),
}

/// The roles of columns by their names.
pub(crate) fn roles(names: &[String]) -> Result<Vec<Role>, Problem> {
    if let Some(at) = names.iter().position(String::is_empty) {
        return Err(Problem::Unnamed { column: at + 1 });
    }
    ["label", "device"].into_iter().try_for_each(|meant| Problem::of_capitals(names, meant))?;
    let mut features = 0;
    let roles: Vec<Role> = names
        .iter()
        .map(|name| match name.as_str() {
            "label" => Role::Label,
            "device" => Role::Device,
            _ => {
                features += 1;
                Role::Feature(features - 1)
            }
        })
        .collect();
    let found = || names.to_vec();
    for (role, name) in [(Role::Label, "label"), (Role::Device, "device")] {
        if roles.iter().filter(|known| **known == role).count() > 1 {
            return Err(Problem::malformed("table", format!("two columns are called {name}")));
        }
    }
    if !roles.contains(&Role::Label) {
        return Err(Problem::Missing { wanted: "column label".to_owned(), found: found() });
    }
    if features == 0 {
        return Err(Problem::Missing { wanted: "a column of features".to_owned(), found: found() });
    }
    Ok(roles)
}

/// Rows, as they are read.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) features: usize,
    columns: Vec<String>,
    /// The values, one sample after another.
    pub(crate) x: Vec<f32>,
    labels: Vec<f32>,
    /// Whether all labels so far can be classes.
    are_classes: bool,
    pub(crate) devices: Option<Distinct<String>>,
}

impl Rows {
    pub(crate) fn new(roles: &[Role], names: &[String]) -> Self {
        let is_feature = |role: &Role| matches!(role, Role::Feature(_));
        let of_features = roles.iter().zip(names).filter(|(role, _)| is_feature(role));
        let columns: Vec<String> = of_features.map(|(_, name)| name.clone()).collect();
        let devices = roles.contains(&Role::Device).then(Distinct::new);
        Self {
            features: columns.len(),
            columns,
            x: Vec::new(),
            labels: Vec::new(),
            are_classes: true,
            devices,
        }
    }

    /// The number of labels so far.
    pub(crate) fn labelled(&self) -> usize {
        self.labels.len()
    }

    /// A label of a column whose type is not known, or is whole numbers.
    pub(crate) fn push_label(&mut self, label: f64) {
        self.are_classes &= labels::is_class(label);
        self.labels.push(label as f32);
    }

    /// A label of a column of floats, which is a regression.
    pub(crate) fn push_number(&mut self, label: f64) {
        self.are_classes = false;
        self.labels.push(label as f32);
    }

    pub(crate) fn push_device(&mut self, name: &str) {
        self.devices.iter_mut().for_each(|devices| devices.push(name));
    }

    /// Labels are classes if each of them can be one.
    pub(crate) fn table(self) -> Result<Table, Problem> {
        if self.labels.is_empty() {
            return Err(Problem::Empty);
        }
        let labels = match self.are_classes {
            true => Labels::Classes(self.labels.into_iter().map(|label| label as u32).collect()),
            false => labels::numbers(self.labels)?,
        };
        let devices = self.devices.map(|devices| Devices::of(Values::Texts(devices))).transpose()?;
        let (shape, features) = (vec![self.features], Features::Floats(self.x));
        Ok(Table { shape, columns: self.columns, features, labels, devices })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_probably_not_meant_are_refused() {
        let refused = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            roles(&names).err().map(|problem| problem.in_file("t.csv".as_ref()))
        };
        let said = |names: &[&str]| refused(names).map(|error| format!("{error}; {}", error.hint())).unwrap();
        assert!(said(&["", "age", "label"]).contains("column 1 has no name"));
        assert!(said(&["", "age", "label"]).contains("index=False"));
        assert!(said(&["age", "label", "Device"]).contains("did you mean device?"));
        assert!(said(&["age", "Label"]).contains("did you mean label?"));
        assert!(refused(&["Device", "age", "label", "device"]).is_none());
    }
}
