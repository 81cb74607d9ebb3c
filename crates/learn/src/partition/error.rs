//! Why samples cannot be split over devices.

/// Why samples cannot be split as asked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PartitionError {
    /// Nobody to give them to.
    #[error("there are no devices to split the samples over")]
    NoDevices,
    /// The minimum cannot be had.
    #[error("{samples} samples cannot give {devices} devices at least {min} each")]
    TooFewSamples {
        /// The number of training samples.
        samples: usize,
        /// The number of devices.
        devices: usize,
        /// The fewest samples that a device should get.
        min: usize,
    },
    /// Not every device would get a role.
    #[error("{roles} roles with at least {min} samples cannot be dealt to {devices} devices")]
    TooFewRoles {
        /// The number of roles with enough samples.
        roles: usize,
        /// The number of devices.
        devices: usize,
        /// The fewest samples of a role that is dealt out.
        min: usize,
    },
    /// Not a concentration.
    #[error("the concentration {0} is out of range")]
    Concentration(f64),
}

impl PartitionError {
    /// What to change.
    pub fn hint(&self) -> String {
        match self {
            Self::NoDevices => "name at least one device".to_owned(),
            Self::TooFewSamples { samples, min, .. } => {
                format!(
                    "lower the minimum (data.min_samples), or take at most {} devices",
                    samples / min.max(&1)
                )
            }
            Self::TooFewRoles { roles, .. } => {
                format!("take at most {roles} devices, or split by Dirichlet")
            }
            Self::Concentration(_) => "it must be a number from 1e-3 to 1e6; small is skewed".to_owned(),
        }
    }
}
