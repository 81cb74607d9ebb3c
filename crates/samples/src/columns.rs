//! Tables of columns: `label`, optionally `device`, and features, which are all the others.

use crate::array::{Array, Values};
use crate::error::Problem;
use crate::table::{Arrays, Table};

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
    pub(crate) labels: Vec<f64>,
    pub(crate) devices: Option<Vec<String>>,
}

impl Rows {
    pub(crate) fn new(roles: &[Role]) -> Self {
        let features = roles.iter().filter(|role| matches!(role, Role::Feature(_))).count();
        let devices = roles.contains(&Role::Device).then(Vec::new);
        Self { features, x: Vec::new(), labels: Vec::new(), devices }
    }

    /// Labels are classes if all of them are whole numbers.
    pub(crate) fn table(self) -> Result<Table, Problem> {
        let samples = self.labels.len();
        if samples == 0 {
            return Err(Problem::Empty);
        }
        // Whole numbers up to 2^53 are exact in f64.
        let are_whole = self.labels.iter().all(|label| label.fract() == 0.0 && label.abs() < 9e15);
        let labels = if are_whole {
            Values::Integers(self.labels.into_iter().map(|label| label as i64).collect())
        } else {
            Values::Floats(self.labels.into_iter().map(|label| label as f32).collect())
        };
        let per_sample = |values| Array { shape: vec![samples], values };
        Table::from_arrays(Arrays {
            x: Some(Array { shape: vec![samples, self.features], values: Values::Floats(self.x) }),
            y: Some(per_sample(labels)),
            device: self.devices.map(|devices| per_sample(Values::Texts(devices))),
            names: Vec::new(),
        })
    }
}
