//! The names of schemes: how they are written and read.

use std::fmt;
use std::str::FromStr;

use fedflip_fleet::did_you_mean;

use super::{CUSTOM_PREFIX, FILE_PREFIX, Scheme};
use crate::custom::CustomScheme;
use crate::error::PlanError;

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.describe().name;
        match (self, self.parameter()) {
            (Self::File(given), _) => write!(f, "{name}{}", given.name()),
            (Self::Custom(own), _) => write!(f, "{name}{}", own.name()),
            (_, Some(parameter)) => write!(f, "{}={parameter}", name.trim_end_matches('=')),
            _ => f.pad(name),
        }
    }
}

impl FromStr for Scheme {
    type Err = PlanError;

    /// The scheme of a name. A scheme with a file is refused: see [`Scheme::file_name`].
    fn from_str(text: &str) -> Result<Self, PlanError> {
        let unknown = |hint: String| PlanError::UnknownScheme { text: text.to_owned(), hint };
        match text.strip_prefix(FILE_PREFIX) {
            Some("") => {
                let hint = "after file= comes the name of a CSV file with the columns device,q";
                return Err(unknown(hint.to_owned()));
            }
            Some(_) => return Err(PlanError::FileNotRead { text: text.to_owned() }),
            None => {}
        }
        if let Some(name) = text.strip_prefix(CUSTOM_PREFIX) {
            let hint = "after custom= comes a name of letters, digits, hyphens, underscores and full stops";
            let own = CustomScheme::named(name).ok_or_else(|| unknown(hint.to_owned()))?;
            return Ok(Self::Custom(own));
        }
        // By its whole name first: `fixed=best` is a row of its own.
        if let Some(named) = Self::ALL.into_iter().find(|scheme| scheme.to_string() == text) {
            return Ok(named);
        }
        match Self::with_parameter(text) {
            Some(Ok(scheme)) => Ok(scheme),
            Some(Err((name, wanted))) => {
                Err(unknown(format!("after {}= comes {wanted}", name.trim_end_matches('='))))
            }
            None => Err(unknown(hint(text))),
        }
    }
}

fn hint(text: &str) -> String {
    let examples = Scheme::table().map(|(example, _)| example);
    did_you_mean(text, examples, || format!("the schemes are {}", Scheme::examples()))
}
