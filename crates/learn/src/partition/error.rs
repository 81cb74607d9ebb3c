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
    /// Fewer names of devices in the data than devices in the fleet.
    #[error("the samples name {holders} devices, and the fleet has {devices}")]
    TooFewHolders {
        /// The number of names in the data.
        holders: usize,
        /// The number of devices.
        devices: usize,
    },
    /// The data name a device that the fleet does not have.
    #[error("the samples name the device {holder:?}, which the fleet does not have")]
    UnknownHolder {
        /// The name in the data.
        holder: String,
        /// The device of the fleet that is called almost the same.
        near: Option<String>,
    },
    /// The fleet has a device that the data do not name.
    #[error("no sample names the device {device:?} of the fleet")]
    NotAmongHolders {
        /// The name in the fleet.
        device: String,
        /// The name in the data that is almost the same.
        near: Option<String>,
    },
    /// The samples do not say whose they are.
    #[error("the samples do not say which device holds them")]
    NoHolders,
    /// The samples have no classes, by which they could be shared.
    #[error("the samples have numbers for labels, and dirichlet shares them by class")]
    NoClasses,
    /// A device that would have no samples.
    #[error("device {device} would have no samples")]
    EmptyDevice {
        /// Position in the fleet.
        device: usize,
    },
    /// The fleet asks for more samples than there are.
    #[error("the devices of the fleet hold {wanted} samples, and there are {samples}")]
    CountsTooLarge {
        /// The number of training samples.
        samples: usize,
        /// The sum of the fleet's counts.
        wanted: u64,
    },
    /// A share of every device's samples, rounded down, is no sample at all.
    #[error("the share {share} of every device's samples is less than one sample")]
    NothingHeldOut {
        /// The share for validation.
        share: f64,
    },
    /// The concentration is out of range.
    #[error("the concentration {0} is out of range")]
    Concentration(f64),
}

impl PartitionError {
    /// The advice that goes with the error.
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
            Self::TooFewHolders { holders, .. } => {
                format!("take at most {holders} devices (fleet.devices)")
            }
            Self::UnknownHolder { near, .. } | Self::NotAmongHolders { near, .. } => {
                let meant = near.as_ref().map_or(String::new(), |near| format!("did you mean {near}? "));
                format!(
                    "{meant}With data.sharing = \"by-device\", the fleet file and the data name the same devices"
                )
            }
            Self::NoHolders => {
                "add an array or a column device, or share by dirichlet or iid (data.sharing)".to_owned()
            }
            Self::NoClasses => "share by iid, by-device or fleet (data.sharing)".to_owned(),
            Self::EmptyDevice { .. } => "give every device at least one sample".to_owned(),
            Self::CountsTooLarge { samples, .. } => {
                format!("lower the counts in the fleet file to at most {samples} in all, or share by iid")
            }
            Self::NothingHeldOut { .. } => "raise data.validation, or take fewer devices".to_owned(),
            Self::Concentration(_) => "it must be a number from 1e-3 to 1e6; small is skewed".to_owned(),
        }
    }
}
