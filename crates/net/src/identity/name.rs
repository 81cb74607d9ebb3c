//! Names that are valid in files, certificates and logs.

use std::fmt;
use std::str::FromStr;

use crate::error::NetError;

/// The longest name, as long as a label of a host name.
const BYTES_MAX: usize = 63;

/// A device's name: letters, digits, `.`, `-` and `_`, beginning with a letter or digit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceName(String);

impl DeviceName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DeviceName {
    type Err = NetError;

    fn from_str(text: &str) -> Result<Self, NetError> {
        let fits = text.len() <= BYTES_MAX
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c));
        if fits {
            Ok(Self(text.to_owned()))
        } else {
            Err(NetError::BadName { name: text.chars().take(80).collect() })
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_folder() {
        for good in ["phone-01", "a", "Honor.70_x", &"x".repeat(63)] {
            assert_eq!(good.parse::<DeviceName>().unwrap().as_str(), good);
        }
        for bad in ["", ".", "..", "../x", "a/b", "-a", "a b", "ä", "a\n", "a\0", &"x".repeat(64)] {
            assert!(bad.parse::<DeviceName>().is_err(), "{bad:?}");
        }
    }
}
