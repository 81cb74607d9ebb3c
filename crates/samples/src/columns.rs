//! Tables of columns: `label`, optionally `device`, and features, which are all the others.

use crate::array::Values;
use crate::devices::{Devices, Distinct};
use crate::error::Problem;
use crate::table::{self, CLASSES_MAX, Features, Labels, Table};

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
        return Err(Problem::Missing { wanted: "column of features".to_owned(), found: found() });
    }
    Ok(roles)
}

/// Rows, as they are read.
#[derive(Debug)]
pub(crate) struct Rows {
    pub(crate) features: usize,
    /// Row by row.
    pub(crate) x: Vec<f32>,
    labels: Vec<f32>,
    /// Whether all labels so far are whole numbers, and the first of them that is no class.
    are_whole: bool,
    no_class: Option<(usize, f64)>,
    pub(crate) devices: Option<Distinct<String>>,
}

impl Rows {
    pub(crate) fn new(roles: &[Role]) -> Self {
        let features = roles.iter().filter(|role| matches!(role, Role::Feature(_))).count();
        let devices = roles.contains(&Role::Device).then(Distinct::new);
        Self { features, x: Vec::new(), labels: Vec::new(), are_whole: true, no_class: None, devices }
    }

    /// The number of labels so far.
    pub(crate) fn labelled(&self) -> usize {
        self.labels.len()
    }

    pub(crate) fn push_label(&mut self, label: f64) {
        // Whole numbers up to 2^53 are exact in f64.
        self.are_whole &= label.fract() == 0.0 && label.abs() < 9e15;
        if self.no_class.is_none() && !(0.0..CLASSES_MAX as f64).contains(&label) {
            self.no_class = Some((self.labels.len(), label));
        }
        self.labels.push(label as f32);
    }

    /// Labels are classes if all of them are whole numbers.
    pub(crate) fn table(self) -> Result<Table, Problem> {
        if self.labels.is_empty() {
            return Err(Problem::Empty);
        }
        let labels = match self.no_class {
            _ if !self.are_whole => table::numbers(self.labels)?,
            Some((sample, label)) => return Err(table::no_class(sample, label)),
            None => Labels::Classes(self.labels.into_iter().map(|label| label as u32).collect()),
        };
        let devices = self.devices.map(|devices| Devices::of(Values::Texts(devices))).transpose()?;
        Ok(Table { shape: vec![self.features], features: Features::Floats(self.x), labels, devices })
    }
}
